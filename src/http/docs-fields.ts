import type { ApiSchema } from '../contract/openapi-schemas.ts';
import type { OpenApi, OpenApiParameter } from '../contract/openapi.ts';
import { type Html, html } from '../html/html.ts';

interface Field {
  name: string;
  schema: ApiSchema;
  required: boolean;
  depth: number;
}

const MAX_DEPTH = 3;
const PREFIX = '#/components/schemas/';

/** The fields of an object and of what is in it, one row each. */
export function fieldTable(api: OpenApi, schema: ApiSchema, caption: string): Html {
  const fields = fieldsOf(api, schema, 0);
  if (fields.length === 0) return html``;
  const marked = caption !== 'Answer';
  return table(
    caption,
    fields.map(({ name, schema: field, required, depth }) =>
      row({ name, depth, required: marked && required, schema: field, description: field.description ?? '' }),
    ),
  );
}

export function parameterTable(parameters: readonly OpenApiParameter[], caption: string): Html {
  return table(
    caption,
    parameters.map(({ name, required, schema, description }) => row({ name, depth: 0, required, schema, description })),
  );
}

/** The schema that a reference stands for. */
export function resolve(api: OpenApi, schema: ApiSchema): ApiSchema {
  if (schema.$ref === undefined) return schema;
  return { ...api.components.schemas[schema.$ref.slice(PREFIX.length)], ...schema };
}

function fieldsOf(api: OpenApi, schema: ApiSchema, depth: number): Field[] {
  const { properties, required = [] } = resolve(api, schema);
  if (!properties || depth > MAX_DEPTH) return [];
  return Object.entries(properties).flatMap(([name, part]) => {
    const field = resolve(api, part);
    const inner = field.items ?? field;
    return [{ name, schema: field, required: required.includes(name), depth }, ...fieldsOf(api, inner, depth + 1)];
  });
}

function table(caption: string, rows: Html[]): Html {
  return html`<div class="fields">
    <h4>${caption}</h4>
    <dl>${rows}</dl>
  </div>`;
}

function row(field: { name: string; depth: number; required: boolean; schema: ApiSchema; description: string }): Html {
  const { name, depth, required, schema, description } = field;
  const limits = limitsOf(schema);
  return html`<div class="field depth-${Math.min(depth, MAX_DEPTH)}">
    <dt><code>${name}</code> <span class="type">${typeOf(schema)}</span>${required && html` <em>required</em>`}</dt>
    <dd>
      ${description}${limits.length > 0 && html` <span class="limits">${limits.map((limit) => html`<span>${limit}</span> `)}</span>`}
    </dd>
  </div>`;
}

function typeOf(schema: ApiSchema): string {
  const types = [schema.type ?? (schema.const === undefined ? 'any' : typeof schema.const)].flat();
  const named = types.map((type) => (type === 'array' ? 'array of objects' : type)).join(' or ');
  return schema.format === undefined ? named : `${named}, ${schema.format}`;
}

/** What the description, which gives lengths and bounds in words, does not say. */
function limitsOf({ enum: values, const: only, default: preset }: ApiSchema): string[] {
  const limits: string[] = [];
  if (values) limits.push(...values.map((value) => JSON.stringify(value)));
  if (only !== undefined) limits.push(JSON.stringify(only));
  if (preset !== undefined) limits.push(`default ${JSON.stringify(preset)}`);
  return limits;
}
