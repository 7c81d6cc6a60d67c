import assert from 'node:assert/strict';
import { type OpenApi, type OpenApiOperation, resolveResponse } from '../../src/contract/openapi-document.ts';
import type { JsonSchema } from '../../src/contract/json-schema.ts';
import { createValidator } from './schemas.ts';

// Error codes that belong to no single endpoint.
const ANYWHERE = new Set(['not_found', 'method_not_allowed', 'forbidden', 'internal_error', 'unknown_operation']);

/**
 * Fails unless the document describes this response: its path, status and every field of its body. A response of an
 * undocumented path or status must be an error envelope with one of the codes that belong to no single endpoint.
 */
export function assertConforms(api: OpenApi, method: string, path: string, status: number, body: unknown): void {
  const call = `${method} ${path} -> ${status}`;
  const operation = operationAt(api, method, path);
  const content = resolveResponse(api, operation?.responses[status])?.content?.['application/json'];
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

/** The operation of a concrete path. A literal path in the document precedes a path with parameters. */
export function operationAt({ paths }: OpenApi, method: string, path: string): OpenApiOperation | undefined {
  const bare = path.replace(/^https?:\/\/[^/]+/, '').replace(/\?.*$/, '');
  const key = method.toLowerCase() as 'get' | 'post';
  const parts = bare.split('/');
  const template = Object.keys(paths).find((candidate) => {
    const names = candidate.split('/');
    return names.length === parts.length && names.every((name, at) => name === parts[at] || name.startsWith('{'));
  });
  return paths[bare]?.[key] ?? (template === undefined ? undefined : paths[template]?.[key]);
}

function anyFailure(path: string): JsonSchema {
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

function check(api: OpenApi, schema: JsonSchema, body: unknown, call: string): void {
  const fault = mismatchOf(api, schema, body);
  assert(fault === undefined, `${call}: ${fault} in ${JSON.stringify(body)}`);
}

type Ajv = ReturnType<typeof createValidator>;
const validators = new WeakMap<OpenApi, { ajv: Ajv; compiled: Map<string, ReturnType<Ajv['compile']>> }>();

/** The difference between a value and its schema in the document; undefined if it matches. No property may be undocumented. */
export function mismatchOf(api: OpenApi, schema: JsonSchema, value: unknown): string | undefined {
  const { ajv, compiled } = validators.get(api) ?? createValidators(api);
  const key = JSON.stringify(closed(schema)).replaceAll('"#/', '"api#/');
  const validate = compiled.get(key) ?? ajv.compile(JSON.parse(key) as object);
  compiled.set(key, validate);
  return validate(value) ? undefined : ajv.errorsText(validate.errors);
}

/** A validator that compiles each shared schema of the document once. */
function createValidators(api: OpenApi) {
  const parts = Object.entries(api.components.schemas).map(([name, part]) => [name, closed(part, 'part')]);
  const ajv = createValidator().addSchema({ $id: 'api', components: { schemas: Object.fromEntries(parts) } });
  const created = { ajv, compiled: new Map<string, ReturnType<Ajv['compile']>>() };
  validators.set(api, created);
  return created;
}

/** Forbids undocumented properties, which the document permits for later versions. For a `part`, the referring schema does so. */
function closed(schema: JsonSchema, role: 'whole' | 'part' = 'whole'): JsonSchema & { unevaluatedProperties?: false } {
  const { $ref, properties, additionalProperties, items, anyOf, allOf } = schema;
  const isOpen = $ref !== undefined || allOf || (properties && additionalProperties === undefined);
  return {
    ...schema,
    ...(properties && {
      properties: Object.fromEntries(Object.entries(properties).map(([name, part]) => [name, closed(part)])),
    }),
    ...(items && { items: closed(items) }),
    ...(anyOf && { anyOf: anyOf.map((part) => closed(part)) }),
    ...(allOf && { allOf: allOf.map((part) => closed(part, 'part')) }),
    ...(role === 'whole' && isOpen && { unevaluatedProperties: false }),
  };
}
