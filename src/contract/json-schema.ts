import { z } from 'zod';

/** The keywords of JSON Schema draft 2020-12 that this service uses. */
export interface JsonSchema {
  $schema?: string;
  $ref?: string;
  allOf?: JsonSchema[];
  type?: string | string[];
  description?: string;
  properties?: Record<string, JsonSchema>;
  minProperties?: number;
  required?: string[];
  additionalProperties?: boolean | JsonSchema;
  propertyNames?: JsonSchema;
  items?: JsonSchema;
  enum?: unknown[];
  const?: unknown;
  anyOf?: JsonSchema[];
  format?: string;
  pattern?: string;
  minLength?: number;
  maxLength?: number;
  exclusiveMinimum?: number;
  minimum?: number;
  maximum?: number;
  maxProperties?: number;
  default?: unknown;
  examples?: unknown[];
}

/** JSON Schema of a request (`input`: fields with a default are optional) or of a response (`output`), without `$ref`. */
export function jsonSchemaOf(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
  return z.toJSONSchema(schema, {
    io,
    // Zod cannot represent custom checks as JSON Schema; `meta` contains their keywords.
    unrepresentable: 'any',
    override: ({ jsonSchema }) => simplify(jsonSchema as JsonSchema),
  }) as JsonSchema;
}

/** JSON Schemas of a registry by name. A registered schema inside another schema becomes a `$ref` to `#/components/schemas/`. */
export function namedJsonSchemas(
  registry: z.core.$ZodRegistry<{ id: string }>,
  io: 'input' | 'output',
): Record<string, JsonSchema> {
  const { schemas } = z.toJSONSchema(registry, {
    io,
    unrepresentable: 'any',
    uri: (name) => `#/components/schemas/${name}`,
    override: ({ jsonSchema }) => {
      const schema = jsonSchema as JsonSchema;
      simplify(schema);
      describeDefault(schema);
      // The document needs no examples of fields, because each operation has an example of its whole request.
      delete schema.examples;
      if (io === 'output') abridge(schema);
    },
  });
  return Object.fromEntries(
    Object.entries(schemas).map(([name, { $schema: _dialect, $id: _reference, ...schema }]) => [
      name,
      schema as JsonSchema,
    ]),
  );
}

/** Moves the default to the description, because code generators make properties with the keyword `default` required. */
function describeDefault(schema: JsonSchema): void {
  if (schema.default === undefined) return;
  const { description = '' } = schema;
  if (!/default/i.test(description)) {
    schema.description = `${description} Default: ${JSON.stringify(schema.default)}.`.trim();
  }
  delete schema.default;
}

/** End of a description that repeats the introduction of the OpenAPI document. */
const STATED_IN_INTRODUCTION = / (?:ISO 8601, UTC|Starts with [a-z]+_)\.$/;

/** Removes details that clients do not need. Allows additional properties, because later versions add fields. */
function abridge(schema: JsonSchema): void {
  if (schema.additionalProperties === false) delete schema.additionalProperties;
  if (schema.const !== undefined) delete schema.description;
  if (schema.description !== undefined) schema.description = schema.description.replace(STATED_IN_INTRODUCTION, '');
}

function simplify(schema: JsonSchema): void {
  if (schema.format !== undefined) delete schema.pattern;
  // Without a length limit, `propertyNames` only states that keys are strings, which is always true.
  if (schema.propertyNames?.maxLength === undefined) delete schema.propertyNames;
  nullableAsType(schema);
}

/** Sample value built from the examples in the schema, with all properties or only the required properties. */
export function sampleOf(schema: JsonSchema, properties: 'all' | 'required' = 'all'): unknown {
  if (schema.examples) return schema.examples[0];
  if (schema.const !== undefined) return schema.const;
  if (schema.properties) {
    const names = properties === 'all' ? Object.keys(schema.properties) : (schema.required ?? []);
    return Object.fromEntries(names.map((name) => [name, sampleOf(schema.properties![name]!, properties)]));
  }
  if (schema.items) return [sampleOf(schema.items, properties)];
  if (schema.default !== undefined) return schema.default;
  if (schema.enum) return schema.enum[0];
  return schema.type === 'boolean' ? false : undefined;
}

// Writes a nullable type as `type: [string, null]` instead of `anyOf` with a null schema: more clients support it.
function nullableAsType(schema: JsonSchema): void {
  const [value, none, ...more] = schema.anyOf ?? [];
  if (!value || none?.type !== 'null' || more.length > 0 || typeof value.type !== 'string') return;
  delete schema.anyOf;
  Object.assign(schema, { ...value, ...schema, type: [value.type, 'null'] });
  if (schema.enum) schema.enum = [...schema.enum, null];
}
