import type { z } from 'zod';

/** Returns a parser of a provider's JSON. The parser returns undefined if the JSON does not match the schema. */
export const reader =
  <Schema extends z.ZodType>(schema: Schema) =>
  (json: unknown): z.output<Schema> | undefined =>
    schema.safeParse(json).data;
