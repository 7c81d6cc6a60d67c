import type { JsonSchema } from '../contract/json-schema.ts';
import type { OpenApi, OpenApiParameter } from '../contract/openapi-document.ts';
import { type Html, html } from '../html/html.ts';

interface Field {
  name: string;
  schema: JsonSchema;
  required: boolean;
  depth: number;
}

const MAX_DEPTH = 3;
const PREFIX = '#/components/schemas/';

/** Table of the fields of an object and of its nested objects, one row per field; false if the object has no fields. */
export function fieldTable(api: OpenApi, schema: JsonSchema, caption: 'Body' | 'Payload' | 'Answer'): Html | false {
  const fields = fieldsOf(api, schema, 0);
  return table(caption, caption === 'Answer' ? fields.map((field) => ({ ...field, required: false })) : fields);
}

export function parameterTable(parameters: readonly OpenApiParameter[], caption: string): Html | false {
  return table(
    caption,
    parameters.map(({ name, required = false, schema, description }) => {
      return { name, required, schema: { ...schema, description }, depth: 0 };
    }),
  );
}

/** Replaces a reference and `allOf` with the schema that they stand for. */
function resolve(api: OpenApi, schema: JsonSchema): JsonSchema {
  const { $ref, allOf, ...own } = schema;
  if ($ref !== undefined) return { ...resolve(api, api.components.schemas[$ref.slice(PREFIX.length)] ?? {}), ...own };
  if (!allOf) return schema;
  const parts = allOf.map((part) => resolve(api, part));
  return {
    ...own,
    type: 'object',
    properties: Object.assign({}, ...parts.map(({ properties }) => properties)) as Record<string, JsonSchema>,
    required: parts.flatMap(({ required = [] }) => required),
  };
}

function fieldsOf(api: OpenApi, schema: JsonSchema, depth: number): Field[] {
  const { properties, required = [] } = resolve(api, schema);
  if (!properties || depth > MAX_DEPTH) return [];
  return Object.entries(properties).flatMap(([name, part]) => {
    const resolved = resolve(api, part);
    const items = resolved.items && resolve(api, resolved.items);
    const field = items ? { ...resolved, items } : resolved;
    const inner = items ?? field.anyOf?.[0] ?? field;
    return [{ name, schema: field, required: required.includes(name), depth }, ...fieldsOf(api, inner, depth + 1)];
  });
}

function table(caption: string, fields: readonly Field[]): Html | false {
  if (fields.length === 0) return false;
  return html`<div class="fields">
    <h4>${caption}</h4>
    <dl>${fields.map(row)}</dl>
  </div>`;
}

function row({ name, depth, required, schema }: Field): Html {
  const limits = limitsOf(schema);
  return html`<div class="field depth-${Math.min(depth, MAX_DEPTH)}">
    <dt><code>${name}</code> <span class="type">${typeOf(schema)}</span>${required && html` <em>required</em>`}</dt>
    <dd>
      ${schema.description}${limits.length > 0 && html` <span class="limits">${limits.map((limit) => html`<span>${limit}</span> `)}</span>`}
    </dd>
  </div>`;
}

function typeOf(schema: JsonSchema): string {
  const types = [schema.type ?? (schema.const === undefined ? 'any' : typeof schema.const)].flat();
  const itemType = [schema.items?.type ?? 'value'].flat().join(' or ');
  const named = types.map((type) => (type === 'array' ? `array of ${itemType}s` : type)).join(' or ');
  return schema.format === undefined ? named : `${named}, ${schema.format}`;
}

/** Allowed values and default of a field, which the description of the field does not repeat. */
function limitsOf({ enum: own, items, const: only, default: preset }: JsonSchema): string[] {
  const values = own ?? items?.enum ?? (only === undefined ? [] : [only]);
  const shown = values.map((value) => JSON.stringify(value));
  return preset === undefined ? shown : [...shown, `default ${JSON.stringify(preset)}`];
}
