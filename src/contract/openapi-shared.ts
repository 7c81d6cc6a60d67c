import type {
  OpenApi,
  OpenApiOperation,
  OpenApiParameter,
  OpenApiReference,
  OpenApiResponse,
} from './openapi-document.ts';
import { pascalCase } from './openapi-schemas.ts';

type Shared = Pick<OpenApi['components'], 'parameters' | 'responses'>;

/** Replaces parameters and error responses that several operations share with references to components. */
export function shareParts(operations: readonly OpenApiOperation[]): Shared {
  const parameters = createCollection<OpenApiParameter>('parameters');
  const responses = createCollection<OpenApiResponse>('responses');
  for (const { operationId, parameters: own = [], responses: answers } of operations) {
    for (const parameter of own) if ('name' in parameter) parameters.add(parameter, parameter.name, operationId);
    for (const [status, response] of errorsOf(answers)) responses.add(response, nameOf(response), operationId + status);
  }
  for (const operation of operations) {
    if (operation.parameters) {
      operation.parameters = operation.parameters.map((part) => ('name' in part ? parameters.shared(part) : part));
    }
    for (const [status, response] of errorsOf(operation.responses)) {
      operation.responses[status] = responses.shared(response);
    }
  }
  return { parameters: parameters.components(), responses: responses.components() };
}

function errorsOf(responses: OpenApiOperation['responses']): [status: string, response: OpenApiResponse][] {
  return Object.entries(responses).flatMap(([status, response]) =>
    status >= '400' && !('$ref' in response) ? [[status, response]] : [],
  );
}

/** Name from the envelope, for agent endpoints, and the error codes: `ActionRateLimited`. */
function nameOf({ content }: OpenApiResponse): string {
  const { schema, examples = {} } = content?.['application/json'] ?? {};
  const [, envelope = ''] = /(\w*)ErrorResponse$/.exec(schema?.$ref ?? '') ?? [];
  return envelope + Object.keys(examples).map(pascalCase).join('Or');
}

/** Collection that counts equal parts and names those that occur more than once. */
function createCollection<Part extends object>(kind: keyof Shared) {
  const known = new Map<string, { name: string; part: Part; count: number }>();
  const names = new Set<string>();
  return {
    add(part: Part, name: string, operation: string): void {
      const key = JSON.stringify(part);
      const entry = known.get(key) ?? {
        name: names.has(name) ? `${name}Of${pascalCase(operation)}` : name,
        part,
        count: 0,
      };
      names.add(entry.name);
      entry.count++;
      known.set(key, entry);
    },
    shared(part: Part): Part | OpenApiReference {
      const entry = known.get(JSON.stringify(part));
      return entry && entry.count > 1 ? { $ref: `#/components/${kind}/${entry.name}` } : part;
    },
    components(): Record<string, Part> {
      const shared = [...known.values()].filter(({ count }) => count > 1);
      return Object.fromEntries(shared.map(({ name, part }) => [name, part]));
    },
  };
}
