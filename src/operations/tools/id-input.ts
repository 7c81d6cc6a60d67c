import type { z } from 'zod';
import { text } from '../../contract/fields.ts';

/** Id of a record as the input of a tool. It checks the prefix; the operation checks that the record exists. */
export function idInput(description: string, example: string, ...prefixes: string[]): z.ZodString {
  const known = new RegExp(`^(?:${prefixes.join('|')})_`);
  return text(5, 120)
    .check((context) => {
      if (known.test(context.value)) return;
      const message = `must be an id that starts with ${prefixes.map((prefix) => `${prefix}_`).join(' or ')}`;
      context.issues.push({ code: 'invalid_format', format: 'id', message, input: context.value });
    })
    .describe(description)
    .meta({ examples: [example] });
}
