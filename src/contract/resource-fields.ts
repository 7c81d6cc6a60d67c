import { z } from 'zod';
import { amountFromCents, fractionFromPpm } from '../domain/money.ts';
import { CURRENCY, type Instant } from '../domain/records.ts';
import { ENVIRONMENTS, ROUTE_KINDS } from '../domain/route.ts';
import { conversions } from './resource.ts';
import { SAMPLE_IDS, SAMPLE_TIME } from './sample-ids.ts';

// Field types of resources. A field has a description, an example and, if needed, the conversion of the stored value.

export function described<Schema extends z.ZodType>(
  schema: Schema,
  what: string,
  example: unknown,
  format?: string,
): Schema {
  return schema.describe(what).meta({ ...(format !== undefined && { format }), examples: [example] });
}

export const optional = <Schema extends z.ZodType>(schema: Schema, what: string, example: unknown) =>
  described(schema, what, example).optional();

/** An amount, stored in cents. */
export const dollars = (what: string, example = 49.99) =>
  described(
    z.number().register(conversions, { toWire: (cents) => amountFromCents(cents as number) }),
    `${what} In US dollars, not cents.`,
    example,
  );
/** A rate, stored in parts per million. */
export const rate = (what: string, example: number) =>
  described(
    z.number().register(conversions, { toWire: (ppm) => fractionFromPpm(ppm as number) }),
    `${what} A fraction: 0.029 is 2.9 %.`,
    example,
  );
/** A time, stored in milliseconds since 1970. */
export const time = (what: string, example = SAMPLE_TIME) =>
  described(
    z.string().register(conversions, { toWire: (instant) => timestamp(instant as Instant) }),
    `${what} ISO 8601, UTC.`,
    example,
    'date-time',
  );
export const currency = (what = 'Always USD.') =>
  described(z.string().register(conversions, { toWire: () => CURRENCY }), what, CURRENCY);

export const label = (what: string, example: string) => described(z.string(), what, example);
export const count = (what: string, example: number) => described(z.number(), what, example);
export const flag = (what: string, example: boolean) => described(z.boolean(), what, example);
export const id = (prefix: keyof typeof SAMPLE_IDS, what: string) =>
  label(`${what} Starts with ${prefix}_.`, SAMPLE_IDS[prefix]);
export const uri = (what: string, example: string) => described(z.string(), what, example, 'uri');
export const template = (what: string, example: string) => described(z.string(), what, example, 'uri-template');
export const mail = (what: string) => described(z.string(), what, 'buyer@example.com', 'email');
export function choice<const Value extends string>(values: readonly Value[], what: string, example?: Value) {
  const schema = z.enum(values);
  return example === undefined ? schema.describe(what) : described(schema, what, example);
}
export const environmentOf = (what: string) => choice(ENVIRONMENTS, what);
export const kind = choice(ROUTE_KINDS, 'Payment method of the buyer: card, wallet, or a local bank method.');
/** A nullable field, whose example is null. */
export const orNull = <Schema extends z.ZodType>(schema: Schema) => schema.nullable().meta({ examples: [null] });

export function timestamp(instant: Instant): string {
  return new Date(instant).toISOString();
}
