import { type JsonSchema, jsonSchemaOf } from '../contract/json-schema.ts';
import { actionError } from '../contract/resources.ts';
import type { Operation } from '../operations/operation.ts';

/** Schemas that are shortened: routes_list describes a route, and an issue and a failure are readable without a schema. */
const ELSEWHERE: Readonly<Record<string, JsonSchema>> = {
  route: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] },
  failure: { type: ['object', 'null'] },
  issues: { type: 'array', items: { type: 'object' } },
};

/** What a tool answers: the envelope of an action, in success and in failure alike. */
export function envelopeSchema({ name, output }: Operation): JsonSchema {
  return {
    type: 'object',
    properties: {
      ok: { type: 'boolean' },
      action: { const: name },
      result: outline(jsonSchemaOf(output, 'output')),
      error: outline(jsonSchemaOf(actionError, 'output')),
    },
    required: ['ok', 'action'],
  };
}

/**
 * The same schema without words, examples and what only refuses. Seven whole ones would be a large part of what a model
 * can attend to; they stand at `gateway://schema/{operation}`.
 */
function outline(schema: JsonSchema): JsonSchema {
  const { type, properties, required, items, enum: values, const: value, additionalProperties: others } = schema;
  return {
    ...(type !== undefined && { type }),
    ...(value !== undefined && { const: value }),
    ...(values && { enum: values }),
    ...(properties && { properties: outlines(properties) }),
    ...(required && { required }),
    ...(items && { items: outline(items) }),
    ...(typeof others === 'object' && { additionalProperties: outline(others) }),
  };
}

function outlines(properties: Record<string, JsonSchema>): Record<string, JsonSchema> {
  return Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [name, ELSEWHERE[name] ?? outline(schema)]),
  );
}
