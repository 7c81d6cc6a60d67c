import { z } from 'zod';

/** A JSON Schema, draft 2020-12, as far as this service uses it. */
export interface JsonSchema {
  $schema?: string;
  type?: string | string[];
  description?: string;
  properties?: Record<string, JsonSchema>;
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

/** What a caller sends (`input`: defaulted fields are optional) or receives (`output`). No `$ref`, every part inline. */
export function jsonSchemaOf(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
  return z.toJSONSchema(schema, {
    io,
    // Metadata is checked by hand and described by hand.
    unrepresentable: 'any',
    override: ({ jsonSchema }) => {
      if (jsonSchema.format !== undefined) delete jsonSchema.pattern;
      // That a key is a string goes without saying.
      if ((jsonSchema.propertyNames as JsonSchema | undefined)?.maxLength === undefined)
        delete jsonSchema.propertyNames;
      nullableAsType(jsonSchema as JsonSchema);
    },
  }) as JsonSchema;
}

/** A value of this schema, made of the examples in it: with every property, or with the required ones only. */
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

// Clients understand `type: [string, null]` more often than `anyOf`.
function nullableAsType(schema: JsonSchema): void {
  const [value, none, ...more] = schema.anyOf ?? [];
  if (!value || none?.type !== 'null' || more.length > 0 || typeof value.type !== 'string') return;
  delete schema.anyOf;
  Object.assign(schema, { ...value, ...schema, type: [value.type, 'null'] });
  if (schema.enum) schema.enum = [...schema.enum, null];
}
