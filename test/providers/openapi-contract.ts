import type { IncomingHttpHeaders } from 'node:http';
import { type ValidateFunction, Ajv2019 } from 'ajv/dist/2019.js';

// Checks requests with JSON bodies against the OpenAPI 3 description of a provider's API.

type Schema = Record<string, unknown>;

interface Parameter {
  in: string;
  name: string;
  required?: boolean;
  schema: Schema;
}
interface RequestBody {
  required?: boolean;
  content: Record<string, { schema: Schema }>;
}
interface Operation {
  parameters?: (Parameter | { $ref: string })[];
  requestBody?: RequestBody | { $ref: string };
}
export interface OpenApiDescription {
  paths: Record<string, Record<string, Operation> & { parameters?: Operation['parameters'] }>;
  components?: Record<string, unknown>;
}

/** HTTP request to the provider, as its scripted server received it. */
export interface JsonRequest {
  method: string;
  /** Path and query string. */
  url: string;
  headers: IncomingHttpHeaders;
  body: string;
}

export interface Contract {
  /** Violations of the description in a request, one line each. */
  problemsOf(request: JsonRequest): string[];
}

export interface ContractOptions {
  /** Part of the URL's path before the paths of the description, such as `/v71`. */
  prefix?: string;
  /** Paths of the descriptions to use, with their method: `POST /paymentLinks`. Default: all. */
  operations?: readonly string[];
  /** Changes of request bodies by operation, such as fields that only the documentation requires. */
  tighten?: Readonly<Record<string, (schema: Schema) => Schema>>;
}

const JSON_TYPE = 'application/json';

/** Compiles the contract of one or several descriptions. */
export function createContract(
  descriptions: readonly OpenApiDescription[],
  { prefix = '', operations, tighten = {} }: ContractOptions = {},
): Contract {
  const known = descriptions.flatMap((description, index) => operationsOf(description, `api${index}`));
  const used = known.filter(({ name }) => operations?.includes(name) ?? true);

  function operationsOf(description: OpenApiDescription, base: string) {
    const ajv = new Ajv2019({
      strict: false,
      allErrors: true,
      validateFormats: false,
      unicodeRegExp: false,
      logger: false,
    });
    ajv.addSchema(rebased({ components: description.components ?? {} }, base) as Schema, base);
    const compile = (schema: Schema): ValidateFunction => ajv.compile(closed(rebased(schema, base)));
    return Object.entries(description.paths).flatMap(([path, { parameters: shared = [], ...methods }]) =>
      Object.entries(methods).flatMap(([method, operation]) => {
        if (typeof operation !== 'object' || operation === null || !/^(?:get|post|patch|delete)$/.test(method))
          return [];
        const name = `${method.toUpperCase()} ${path}`;
        if (operations && !operations.includes(name)) return [];
        const content = operation.requestBody && resolved(description, operation.requestBody);
        const body = content?.content[JSON_TYPE]?.schema;
        const parameters = [...shared, ...(operation.parameters ?? [])].map((each) => resolved(description, each));
        return [
          {
            name,
            method: method.toUpperCase(),
            pattern: new RegExp(`^${prefix}${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
            parameters,
            validate: body && compile(tighten[name]?.(body) ?? body),
            needsBody: content?.required === true,
          },
        ];
      }),
    );
  }

  return {
    problemsOf({ method, url, headers, body }) {
      const [path = '', query = ''] = url.split('?');
      const operation = used.find((one) => one.method === method && one.pattern.test(path));
      if (!operation) return [`no such request: ${method} ${path}`];
      const problems: string[] = [];
      const given = new URLSearchParams(query);
      for (const { in: place, name, required } of operation.parameters) {
        const isGiven = place === 'query' ? given.has(name) : headers[name.toLowerCase()] !== undefined;
        if (required && (place === 'query' || place === 'header') && !isGiven) problems.push(`${name} is missing`);
      }
      const allowed = new Set(operation.parameters.flatMap((one) => (one.in === 'query' ? [one.name] : [])));
      problems.push(...[...given.keys()].filter((name) => !allowed.has(name)).map((name) => `${name} is not allowed`));
      return [...problems, ...bodyProblems(operation, headers, body)];
    },
  };
}

function bodyProblems(
  { validate, needsBody }: { validate: ValidateFunction | undefined; needsBody: boolean },
  headers: IncomingHttpHeaders,
  body: string,
): string[] {
  if (body === '') return needsBody ? ['the body is missing'] : [];
  if (!validate) return ['the request must not have a body'];
  if (headers['content-type'] !== JSON_TYPE) return [`content-type is not ${JSON_TYPE}`];
  let json: unknown;
  try {
    json = JSON.parse(body);
  } catch {
    return ['the body is not JSON'];
  }
  if (validate(json)) return [];
  return validate.errors!.map(({ instancePath, message, params }) =>
    `${instancePath || '/'} ${message} ${Object.values(params).join(' ')}`.trim(),
  );
}

/**
 * Copy of a schema whose references lead to the components of `base`. Values of properties and items of lists allow only known
 * properties. Parts of a combination (`allOf`) stay open, because each part knows only some of the properties.
 */
export function rebased(schema: unknown, base: string): unknown {
  if (Array.isArray(schema)) return schema.map((each) => rebased(each, base));
  if (typeof schema !== 'object' || schema === null) return schema;
  const entries = Object.entries(schema).map(([key, value]): [string, unknown] => {
    if (key === '$ref' && typeof value === 'string') return [key, value.replace(/^#/, `${base}#`)];
    if (key === 'items') return [key, closed(rebased(value, base))];
    const isProperties = key === 'properties' && typeof value === 'object' && value !== null;
    if (!isProperties) return [key, rebased(value, base)];
    const inner = Object.entries(value).map(([name, each]) => [name, closed(rebased(each, base))]);
    return [key, Object.fromEntries(inner)];
  });
  return Object.fromEntries(entries);
}

/** The schema, which allows only the properties that it knows. */
export function closed(schema: unknown): Schema {
  return { allOf: [schema], unevaluatedProperties: false };
}

/** The object itself, or the object that its reference names. */
function resolved<Found extends object>(description: OpenApiDescription, found: Found | { $ref: string }): Found {
  if (!('$ref' in found)) return found;
  const keys = found.$ref.replace(/^#\//, '').split('/');
  return keys.reduce<unknown>((object, key) => (object as Record<string, unknown>)[key], description) as Found;
}
