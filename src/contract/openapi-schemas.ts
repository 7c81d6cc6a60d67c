import { z } from 'zod';
import type { Endpoint } from './endpoint.ts';
import { ERROR_EXAMPLES } from './error-contract.ts';
import { type JsonSchema, jsonSchemaOf, namedJsonSchemas } from './json-schema.ts';
import { schemaNames } from './resource.ts';

// A schema with fewer properties is never used as a base: it can be a subset of another schema by chance.
const MIN_BASE_PROPERTIES = 5;

/** Named schemas of the document, and the function that refers to them. */
export type Components = ReturnType<typeof componentsOf>;

/** Collects named schemas: the body and the response of every endpoint, and each resource in them. */
export function componentsOf(endpoints: readonly Endpoint[]) {
  const names = new Map<z.core.$ZodType, string>();
  const registries = { input: z.registry<{ id: string }>(), output: z.registry<{ id: string }>() };
  const taken = new Set<string>();
  const add = (schema: z.core.$ZodType, name: string, ...directions: ('input' | 'output')[]) => {
    if (names.has(schema)) return;
    names.set(schema, name);
    // Skips a name that is taken: each list endpoint builds its own envelope, but all envelopes of a resource are equal.
    if (taken.has(name)) return;
    taken.add(name);
    for (const direction of directions) registries[direction].add(schema, { id: name });
  };
  for (const [schema, { name, io }] of schemaNames) {
    if (io === 'both') add(schema, name, 'input', 'output');
    else add(schema, name, io);
  }
  for (const { operationId, body, bodyType, response, responseType } of endpoints) {
    if (body && bodyType === undefined) add(body, `${pascalCase(operationId)}Request`, 'input');
    const item = itemOf(response);
    const list = item && names.get(item);
    if (responseType !== undefined) continue;
    add(response, list === undefined ? `${pascalCase(operationId)}Response` : `${list}List`, 'output');
  }
  const schemas = {
    ...extended(namedJsonSchemas(registries.output, 'output')),
    ...namedJsonSchemas(registries.input, 'input'),
    ...envelopes(),
  };
  schemas['ActionError']!.properties!['code']!.enum = Object.keys(ERROR_EXAMPLES);
  return {
    schemas: Object.fromEntries(Object.entries(schemas).toSorted(([a], [b]) => (a < b ? -1 : 1))),
    /** Returns a reference to a named schema, or the schema itself if it has no name, such as the schema of CSV text. */
    refTo(this: void, schema: z.ZodType): JsonSchema {
      const name = names.get(schema);
      if (name !== undefined) return { $ref: refOf(name) };
      const { $schema: _dialect, ...inline } = jsonSchemaOf(schema, 'output');
      return inline;
    },
  };
}

/** Reference to a named schema. */
export function refOf(name: string): string {
  return `#/components/schemas/${name}`;
}

/** Name of the schema of the error responses of an endpoint. */
export function errorSchemaOf(envelope: Endpoint['envelope']): string {
  return `${pascalCase(envelope ?? '')}ErrorResponse`;
}

function envelopes(): Record<string, JsonSchema> {
  return Object.fromEntries(
    [undefined, 'action' as const, 'operation' as const].map((envelope) => [
      errorSchemaOf(envelope),
      {
        type: 'object',
        properties: {
          ok: { type: 'boolean', const: false, description: 'Always false.' },
          ...(envelope && { [envelope]: { type: 'string', description: `The ${envelope} named in the path.` } }),
          error: { $ref: refOf('ActionError') },
        },
        required: ['ok', ...(envelope ? [envelope] : []), 'error'],
      },
    ]),
  );
}

/** Shortens schemas: a schema with all properties of another schema refers to that schema and lists only its other properties. */
function extended(schemas: Record<string, JsonSchema>): Record<string, JsonSchema> {
  const plain = Object.entries(schemas);
  return Object.fromEntries(
    plain.map(([name, schema]) => {
      const [base] = plain
        .filter(([other, { properties }]) => other !== name && isBase(properties) && hasAll(schema, properties))
        .toSorted(([, a], [, b]) => Object.keys(b.properties!).length - Object.keys(a.properties!).length);
      return [name, base ? without(schema, base) : schema];
    }),
  );
}

function isBase(properties: JsonSchema['properties']): properties is Record<string, JsonSchema> {
  return properties !== undefined && Object.keys(properties).length >= MIN_BASE_PROPERTIES;
}

function hasAll({ properties = {} }: JsonSchema, parts: Record<string, JsonSchema>): boolean {
  return Object.entries(parts).every(([name, part]) => JSON.stringify(properties[name]) === JSON.stringify(part));
}

function without(
  { properties = {}, required = [], ...rest }: JsonSchema,
  [name, base]: [string, JsonSchema],
): JsonSchema {
  const isOwn = (field: string) => !Object.hasOwn(base.properties!, field);
  const own = Object.fromEntries(Object.entries(properties).filter(([field]) => isOwn(field)));
  return { allOf: [{ $ref: refOf(name) }, { ...rest, properties: own, required: required.filter(isOwn) }] };
}

/** The schema of the records of a list; undefined if `schema` is not a list. */
function itemOf(schema: z.ZodType): z.core.$ZodType | undefined {
  const data: unknown = schema instanceof z.ZodObject ? schema.shape['data'] : undefined;
  return data instanceof z.ZodArray ? data.element : undefined;
}

export function pascalCase(name: string): string {
  return name.replace(/(?:^|[._])([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
