import type { Endpoint } from './endpoint.ts';
import type { JsonSchema } from './json-schema.ts';
import { pascalCase } from './openapi-schemas.ts';

/** The part of OpenAPI 3.1 that this service uses. https://spec.openapis.org/oas/v3.1.1 */
export interface OpenApi {
  openapi: string;
  info: { title: string; version: string; summary: string; description: string; license: Record<string, string> };
  jsonSchemaDialect: string;
  servers: { url: string; description: string }[];
  tags: { name: string; description: string }[];
  paths: Record<string, Partial<Record<Lowercase<Endpoint['method']>, OpenApiOperation>>>;
  webhooks: Record<string, { post: OpenApiOperation }>;
  components: {
    schemas: Record<string, JsonSchema>;
    parameters: Record<string, OpenApiParameter>;
    responses: Record<string, OpenApiResponse>;
    headers: Record<string, { description: string; schema: JsonSchema }>;
    securitySchemes: Record<string, SecurityScheme>;
  };
  /** Security requirement of the operations without a `security` of their own. */
  security: Security;
}

/** Authentication of a request. https://spec.openapis.org/oas/v3.1.1#security-scheme-object */
export interface SecurityScheme {
  type: 'http';
  scheme: 'bearer';
  bearerFormat: string;
  description: string;
}

/** Alternative requirements; a request must meet one of them. */
export type Security = Record<string, readonly string[]>[];

export interface OpenApiOperation {
  operationId: string;
  tags: string[];
  summary: string;
  description: string;
  parameters?: (OpenApiParameter | OpenApiReference)[];
  requestBody?: { required: boolean; content: OpenApiContents };
  responses: Record<string, OpenApiResponse | OpenApiReference>;
  security?: Security;
}

export interface OpenApiParameter {
  name: string;
  in: 'path' | 'query' | 'header';
  required?: true;
  description: string;
  schema: JsonSchema;
  example?: string | number;
}

export interface OpenApiReference {
  $ref: string;
}

type OpenApiContents = Partial<Record<'application/json' | 'text/csv', OpenApiContent>>;

interface OpenApiContent {
  schema: JsonSchema;
  example?: unknown;
  examples?: Record<string, { value: unknown }>;
}

export interface OpenApiResponse {
  description: string;
  headers?: Record<string, OpenApiReference>;
  content?: OpenApiContents;
}

/** Returns the response; for a reference, the shared response that it refers to. */
export function resolveResponse(
  { components }: OpenApi,
  response: OpenApiResponse | OpenApiReference | undefined,
): OpenApiResponse | undefined {
  return response && '$ref' in response ? components.responses[nameIn(response)] : response;
}

/** Returns the parameters of an operation; for a reference, the shared parameter that it refers to. */
export function parametersOf({ components }: OpenApi, { parameters = [] }: OpenApiOperation): OpenApiParameter[] {
  return parameters.map((parameter) => ('$ref' in parameter ? components.parameters[nameIn(parameter)]! : parameter));
}

function nameIn({ $ref }: OpenApiReference): string {
  return $ref.slice($ref.lastIndexOf('/') + 1);
}

/** A parameter or response of one operation, which becomes a reference if other operations have the same one. */
interface Use<Part> {
  part: Part;
  name: string;
  /** Suffix for the name if a different part already has the name. */
  suffix: string;
  replace(reference: OpenApiReference): void;
}

/** Moves parameters and error responses that several operations share to components, and replaces them with references. */
export function shareParts(
  operations: readonly OpenApiOperation[],
): Pick<OpenApi['components'], 'parameters' | 'responses'> {
  const parameters = operations.flatMap(({ operationId: suffix, parameters: own = [] }) =>
    own.map((parameter, index): Use<OpenApiParameter> => {
      const part = parameter as OpenApiParameter;
      return { part, name: part.name, suffix, replace: (reference) => (own[index] = reference) };
    }),
  );
  const responses = operations.flatMap(({ operationId, responses: own }) =>
    Object.entries(own)
      .filter(([status]) => status >= '400')
      .map(([status, response]): Use<OpenApiResponse> => {
        const part = response as OpenApiResponse;
        const replace = (reference: OpenApiReference) => (own[status] = reference);
        return { part, name: nameOf(part), suffix: operationId + status, replace };
      }),
  );
  return { parameters: share('parameters', parameters), responses: share('responses', responses) };
}

/** Name of an error response: the envelope of agent endpoints and the error codes, such as `ActionRateLimited`. */
function nameOf({ content }: OpenApiResponse): string {
  const { schema, examples = {} } = content?.['application/json'] ?? {};
  const [, envelope = ''] = /(\w*)ErrorResponse$/.exec(schema?.$ref ?? '') ?? [];
  return envelope + Object.keys(examples).map(pascalCase).join('Or');
}

/** Replaces the parts that occur more than once with references, and returns these parts by name. */
function share<Part>(kind: string, uses: readonly Use<Part>[]): Record<string, Part> {
  const names = new Set<string>();
  const shared: Record<string, Part> = {};
  for (const same of Map.groupBy(uses, ({ part }) => JSON.stringify(part)).values()) {
    const { part, name, suffix } = same[0]!;
    const unique = names.has(name) ? `${name}Of${pascalCase(suffix)}` : name;
    names.add(unique);
    if (same.length === 1) continue;
    shared[unique] = part;
    for (const { replace } of same) replace({ $ref: `#/components/${kind}/${unique}` });
  }
  return shared;
}
