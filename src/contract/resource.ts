import { z } from 'zod';
import { objectBuilder } from '../domain/object-builder.ts';

type ToWire = (stored: unknown) => unknown;
/** Conversions from the stored value of a field to its value in JSON, by schema. */
export const conversions = z.registry<{ toWire: ToWire }>();

/** Names of schemas in the OpenAPI document, and whether requests, responses or both contain them. */
export const schemaNames = new Map<z.core.$ZodType, { name: string; io: 'input' | 'output' | 'both' }>();

/** Names a schema in the OpenAPI document. */
export function named<Schema extends z.ZodType>(
  name: string,
  schema: Schema,
  io: 'input' | 'output' | 'both' = 'output',
): Schema {
  schemaNames.set(schema, { name, io });
  return schema;
}

/** Schema of a resource of the API. Adds the field `object`, the name of the resource's type. */
export function resource<const Type extends string, Fields extends z.ZodRawShape>(
  name: string,
  object: Type,
  fields: Fields,
) {
  const { id, ...others } = fields;
  const shape = { ...(id && { id }), object: z.literal(object).describe(`Always ${object}.`), ...others };
  return named(name, z.strictObject(shape as unknown as { object: z.ZodLiteral<Type> } & Fields));
}

/** Stored form of a rendered value: texts can be stored as numbers (times), and the fields `object` and `currency` are not stored. */
type Stored<Rendered> = Rendered extends string
  ? string extends Rendered
    ? string | number
    : Rendered
  : Rendered extends readonly (infer Item)[]
    ? readonly Stored<Item>[]
    : Rendered extends object
      ? { [Key in keyof Rendered as Exclude<Key, 'object' | 'currency'>]: Stored<Rendered[Key]> }
      : Rendered;

/** Creates a renderer that takes each field of the resource from the record property of the same name. */
export function rendererOf<Schema extends z.ZodObject>(schema: Schema) {
  return toWireOf(schema) as (record: Stored<z.output<Schema>>) => z.output<Schema>;
}

/** Creates a renderer for records whose properties differ from the resource: `recordOf` returns the stored value of each field. */
export function rendererFrom<
  Schema extends z.ZodObject,
  Input extends unknown[],
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- `const` keeps literals from widening to strings
  const Described extends Stored<z.output<Schema>>,
>(schema: Schema, recordOf: (...input: Input) => Described) {
  const render = rendererOf(schema);
  return (...input: Input) => render(recordOf(...input));
}

function toWireOf(schema: z.core.$ZodType): ToWire {
  const conversion = conversions.get(schema);
  if (conversion) return conversion.toWire;
  if (schema instanceof z.ZodLiteral) return () => schema.value;
  if (schema instanceof z.ZodNullable || schema instanceof z.ZodOptional) {
    const toWire = toWireOf(schema.unwrap());
    return (stored) => (stored === null || stored === undefined ? stored : toWire(stored));
  }
  if (schema instanceof z.ZodArray) {
    const toWire = toWireOf(schema.element);
    return (stored) => (stored as unknown[]).map((item) => toWire(item));
  }
  if (!(schema instanceof z.ZodObject)) return (stored) => stored;
  return objectBuilder(
    Object.entries(schema.shape).map(([name, field]) => ({
      name,
      from: name,
      read: toWireOf(field),
      isOptional: field instanceof z.ZodOptional,
    })),
  ) as ToWire;
}
