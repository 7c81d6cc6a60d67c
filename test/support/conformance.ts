import assert from 'node:assert/strict';
import type { OpenApi, OpenApiOperation } from '../../src/contract/openapi.ts';
import { createValidator } from './schemas.ts';

// Refusals that are not of one endpoint.
const ANYWHERE = new Set(['not_found', 'method_not_allowed', 'forbidden', 'internal_error', 'unknown_operation']);

const ajv = createValidator();
const compiled = new WeakMap<object, ReturnType<typeof ajv.compile>>();

/**
 * Fails unless the document describes this answer: its path, its status, and its body to the last field. What stands
 * at no documented path, or has no documented status there, must be an error envelope with a code that can come
 * anywhere.
 */
export function assertConforms(api: OpenApi, method: string, path: string, status: number, body: unknown): void {
  const call = `${method} ${path} -> ${status}`;
  const operation = operationAt(api, method, path);
  const content = operation?.responses[status]?.content?.['application/json'];
  if (!content) {
    assert.notEqual(status, 200, `${call} is not in the document`);
    check(api, anyFailure(path), body, call);
    const { code } = (body as { error: { code: string } }).error;
    assert(ANYWHERE.has(code), `${call}: ${code} is not documented`);
    return;
  }
  check(api, content.schema, body, call);
  if (status === 200) return;
  const { code } = (body as { error: { code: string } }).error;
  assert(code in content.examples!, `${call}: ${code} is not among ${Object.keys(content.examples!).join(', ')}`);
}

/** The operation that answers a concrete path: a literal one before one with parameters. */
export function operationAt({ paths }: OpenApi, method: string, path: string): OpenApiOperation | undefined {
  const bare = path.replace(/^https?:\/\/[^/]+/, '').replace(/\?.*$/, '');
  const key = method.toLowerCase() as 'get' | 'post';
  const template = Object.keys(paths).find((candidate) =>
    new RegExp(`^${candidate.replaceAll('.', String.raw`\.`).replace(/\{\w+\}/g, '[^/]+')}$`).test(bare),
  );
  return paths[bare]?.[key] ?? (template === undefined ? undefined : paths[template]?.[key]);
}

function anyFailure(path: string): object {
  const named = /\/api\/agent\/(action|schema)/.exec(path)?.[1];
  const name = named === 'schema' ? 'operation' : named;
  return {
    type: 'object',
    properties: {
      ok: { const: false },
      ...(name !== undefined && { [name]: { type: 'string' } }),
      error: { $ref: '#/components/schemas/ActionError' },
    },
    required: ['ok', 'error'],
    additionalProperties: false,
  };
}

function check({ components }: OpenApi, schema: object, body: unknown, call: string): void {
  const validate = compiled.get(schema) ?? ajv.compile({ ...schema, components });
  compiled.set(schema, validate);
  assert(validate(body), `${call}: ${ajv.errorsText(validate.errors)} in ${JSON.stringify(body)}`);
}
