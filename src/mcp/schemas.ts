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
 * The fields that a result always has, and its statuses, without words and types. Twelve whole schemas would be a large part
 * of what a model can attend to; they stand at `gateway://schema/{operation}`.
 */
function outline({ properties, required = [] }: JsonSchema): JsonSchema {
  const statuses = properties?.['status']?.enum;
  return { type: 'object', ...(statuses && { properties: { status: { enum: statuses } } }), required };
}
