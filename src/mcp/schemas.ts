import { type JsonSchema, jsonSchemaOf } from '../contract/json-schema.ts';
import type { Operation } from '../operations/operation.ts';

/** What a tool answers: the envelope of an action, in success and in failure alike. */
export function envelopeSchema({ name, output }: Operation): JsonSchema {
  return {
    type: 'object',
    properties: {
      ok: { type: 'boolean' },
      action: { const: name },
      result: outline(jsonSchemaOf(output, 'output')),
      error: { type: 'object' },
    },
    required: ['ok', 'action'],
  };
}

/**
 * The required fields of a result and its statuses, without descriptions and types. Twelve complete schemas would fill much
 * of a model's context; `gateway://schema/{operation}` has them.
 */
function outline({ properties, required = [] }: JsonSchema): JsonSchema {
  const statuses = properties?.['status']?.enum;
  return { type: 'object', ...(statuses && { properties: { status: { enum: statuses } } }), required };
}
