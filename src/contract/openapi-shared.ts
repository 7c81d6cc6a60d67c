import type {
  OpenApi,
  OpenApiOperation,
  OpenApiParameter,
  OpenApiReference,
  OpenApiResponse,
} from './openapi-document.ts';
import { pascalCase } from './openapi-schemas.ts';

/** A part of an operation that others may share. */
interface Use<Part> {
  part: Part;
  name: string;
  /** Distinguishes another part of the same name. */
  suffix: string;
  replace(reference: OpenApiReference): void;
}

/** Replaces parameters and error responses that several operations share with references to components. */
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

/** Name from the envelope, for agent endpoints, and the error codes: `ActionRateLimited`. */
function nameOf({ content }: OpenApiResponse): string {
  const { schema, examples = {} } = content?.['application/json'] ?? {};
  const [, envelope = ''] = /(\w*)ErrorResponse$/.exec(schema?.$ref ?? '') ?? [];
  return envelope + Object.keys(examples).map(pascalCase).join('Or');
}

/** The parts that occur more than once, by name. */
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
