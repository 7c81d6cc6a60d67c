import assert from 'node:assert/strict';
import { type OpenApi, type OpenApiOperation, resolveResponse } from '../../src/contract/openapi-document.ts';
import type { JsonSchema } from '../../src/contract/json-schema.ts';
import { createValidator } from './schemas.ts';

// Error codes that belong to no single endpoint.
const ANYWHERE = new Set(['not_found', 'method_not_allowed', 'forbidden', 'internal_error', 'unknown_operation']);

const ajv = createValidator();
const compiled = new WeakMap<object, ReturnType<typeof ajv.compile>>();

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

/** The operation that answers a concrete path: a literal one before one with parameters. */
export function operationAt({ paths }: OpenApi, method: string, path: string): OpenApiOperation | undefined {
  const bare = path.replace(/^https?:\/\/[^/]+/, '').replace(/\?.*$/, '');
  const key = method.toLowerCase() as 'get' | 'post';
  const template = Object.keys(paths).find((candidate) =>
    new RegExp(`^${candidate.replaceAll('.', String.raw`\.`).replace(/\{\w+\}/g, '[^/]+')}$`).test(bare),
  );
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
  const validate = compiled.get(schema) ?? ajv.compile(strictSchema(api, schema));
  compiled.set(schema, validate);
  assert(validate(body), `${call}: ${ajv.errorsText(validate.errors)} in ${JSON.stringify(body)}`);
}

const strictComponents = new WeakMap<OpenApi, Record<string, JsonSchema>>();

/** The schema with its components, closed so that no object may have an undocumented property. */
export function strictSchema(api: OpenApi, schema: JsonSchema): object {
  const schemas =
    strictComponents.get(api) ??
    Object.fromEntries(Object.entries(api.components.schemas).map(([name, part]) => [name, closed(part, 'part')]));
  strictComponents.set(api, schemas);
  return { ...closed(schema), components: { schemas } };
}

/** Closes a schema, which the document leaves open for later versions. The schema that refers to a `part` closes that part. */
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
