import { z } from 'zod';
import { MAX_AMOUNT, amountFromCents, centsFromAmount } from '../domain/money.ts';
import { isRecord } from '../domain/is-record.ts';
import { ENVIRONMENTS, ROUTE_KINDS } from '../domain/route.ts';
import { described } from './resource-fields.ts';
import { SAMPLE_TIME } from './sample-ids.ts';

const MAX_LARGE_AMOUNT = 1_000_000;
const MAX_METADATA_PAIRS = 10;
const MAX_METADATA_TEXT = 500;
const METADATA_KEYS = `a key has 1 to ${MAX_METADATA_TEXT}`;
// The check stops at this number of problems, so that a body with very many invalid pairs costs little.
const MAX_METADATA_ISSUES = 1000;
const MAX_EMAIL_LENGTH = 254;
// The latest time that ISO 8601 writes with a year of four digits.
const LATEST = Date.parse('9999-12-31T23:59:59.999Z');

/** A string of `min` to `max` Unicode code points (the unit of JSON Schema) without NUL and lone surrogates. */
export function text(min: number, max: number) {
  return z
    .string()
    .check((context) => {
      const fault = textFault(context.value, min, max);
      if (fault) context.issues.push({ ...fault, input: context.value });
    })
    .meta(min === 0 ? { maxLength: max } : { minLength: min, maxLength: max });
}

/** A string that `faultOf` accepts. For an invalid string, `faultOf` returns a message that starts with "must". */
export function checkedText(format: string, faultOf: (value: string) => string | undefined) {
  return z.string().check((context) => {
    const message = faultOf(context.value);
    if (message !== undefined) context.issues.push({ code: 'invalid_format', format, message, input: context.value });
  });
}

/** Runs a check of several fields even if one of them has a problem, so that the error names all problems. */
export const evenWithProblems = ({ value }: { value: unknown }) => isRecord(value);

/** Options of the check that `field` is not given together with `other`. */
export function notTogether(field: string, other: string) {
  const params = { issueCode: 'invalid_value', remedy: 'remove' };
  return { path: [field], message: `must not be given together with ${other}`, params, when: evenWithProblems };
}

/** Field for a time in a request. */
export function moment(what: string) {
  const isWritable = (value: string) => !(Date.parse(value) > LATEST);
  const problem = { message: 'must be before the year 10000 in UTC', params: { issueCode: 'too_big' } };
  return described(z.iso.datetime({ offset: true }).refine(isWritable, problem), what, SAMPLE_TIME);
}

type Fault =
  | { code: 'invalid_format'; format: string; message: string }
  | { code: 'too_small'; origin: string; minimum: number; inclusive: true; message: string }
  | { code: 'too_big'; origin: string; maximum: number; inclusive: true; message: string };

function textFault(value: string, min: number, max: number): Fault | undefined {
  // Rejects NUL, which PostgreSQL cannot store, and lone surrogates, which UTF-8 cannot encode.
  if (!value.isWellFormed() || value.includes('\0')) {
    return { code: 'invalid_format', format: 'text', message: 'must be valid Unicode text without NUL characters' };
  }
  if (value.length < min * 2 && codePoints(value) < min) {
    return { code: 'too_small', origin: 'string', minimum: min, inclusive: true, message: `needs ${min} or more` };
  }
  if (value.length > max && codePoints(value) > max) {
    return { code: 'too_big', origin: 'string', maximum: max, inclusive: true, message: `takes at most ${max}` };
  }
  return undefined;
}

/** Length in Unicode code points, the unit of JSON Schema. */
function codePoints(value: string): number {
  let count = 0;
  for (const _ of value) count++;
  return count;
}

function dollars(max: number, { orZero = false } = {}) {
  const bounds = orZero ? { minimum: 0, maximum: max } : { exclusiveMinimum: 0, maximum: max };
  return z
    .number()
    .check((context) => {
      const { value } = context;
      const shared = { origin: 'number', input: value };
      const cents = centsFromAmount(value);
      if (value > max) context.issues.push({ ...shared, code: 'too_big', maximum: max, inclusive: true });
      else if (value < 0 || (!orZero && cents === 0))
        context.issues.push({ ...shared, code: 'too_small', minimum: 0, inclusive: orZero });
      else if (cents === undefined) context.issues.push({ ...shared, code: 'not_multiple_of', divisor: 0.01 });
    })
    .meta(bounds);
}

export const amount = dollars(MAX_AMOUNT)
  .meta({ examples: [49.99] })
  .describe('US dollars, not cents: more than 0, at most 10000, at most two decimals.');

/** An amount that may exceed the limit of a session: the sum of a day, a payment with its fee, or a sample. */
export const largeAmount = dollars(MAX_LARGE_AMOUNT).describe(
  'US dollars: more than 0, at most 1000000, at most two decimals.',
);

/** An amount that a provider has transferred: from 0 to the largest safe integer of cents. */
export const movedAmount = dollars(amountFromCents(Number.MAX_SAFE_INTEGER), { orZero: true });

export const email = z
  .email()
  .max(MAX_EMAIL_LENGTH)
  .meta({ examples: ['buyer@example.com'] });

export const environment = z
  .enum(ENVIRONMENTS)
  .default('sandbox')
  .describe('sandbox: test money; production: real money.');

export const routeKind = z.enum(ROUTE_KINDS);

/** Pairs of strings that the payments, invoices and events of a session contain as well. */
export const metadata = metadataField(MAX_METADATA_PAIRS)
  .default({})
  .describe('Your own data: at most 10 pairs, keys of 1 to 500 and values of at most 500 characters.');

export const sampleMetadata = metadataField(Infinity)
  .default({})
  .describe('Your own data: keys of 1 to 500 and values of at most 500 characters.');

function metadataField(maxPairs: number) {
  return z
    .custom<Record<string, string>>()
    .check((context) => {
      const { value } = context;
      if (!isRecord(value)) {
        context.issues.push({ code: 'invalid_type', expected: 'object', input: value });
        return;
      }
      const keys = Object.keys(value);
      for (const [index, key] of keys.entries()) {
        const fault =
          index < maxPairs ? (metadataKeyFault(key) ?? metadataValueFault(value[key])) : tooManyPairs(keys, maxPairs);
        if (fault) context.issues.push({ ...fault, path: [key], input: value[key] });
        if (context.issues.length >= MAX_METADATA_ISSUES) return;
      }
    })
    .meta({
      type: 'object',
      propertyNames: { minLength: 1, maxLength: MAX_METADATA_TEXT, pattern: String.raw`^[^"\\\u0000-\u001f]*$` },
      additionalProperties: { type: 'string', maxLength: MAX_METADATA_TEXT },
      ...(Number.isFinite(maxPairs) && { maxProperties: maxPairs }),
    });
}

// Characters that JSON must escape. V8 can confuse keys that contain escapes
// (https://github.com/nodejs/node/issues/63785), so such keys are rejected.
const ESCAPED_IN_JSON = /["\\\u0000-\u001f]/;

function tooManyPairs({ length }: readonly string[], maximum: number): Fault {
  const message = `is one of ${length} pairs; the limit is ${maximum}`;
  return { code: 'too_big', origin: 'pairs', maximum, inclusive: true, message };
}

/** Problem of a metadata key. Its `origin` or `format` is `key`, because its path is the same as for a problem of the value. */
function metadataKeyFault(key: string): Fault | undefined {
  const fault = textFault(key, 1, MAX_METADATA_TEXT);
  if (fault?.code === 'too_small' || fault?.code === 'too_big') {
    return { ...fault, origin: 'key', message: `has a key of ${codePoints(key)} characters; ${METADATA_KEYS}` };
  }
  if (!fault && !ESCAPED_IN_JSON.test(key)) return undefined;
  const message = fault
    ? 'has a key with a NUL character or a lone surrogate'
    : 'has a key with a quotation mark, a backslash or a control character';
  return { code: 'invalid_format', format: 'key', message };
}

function metadataValueFault(value: unknown): Fault | { code: 'invalid_type'; expected: 'string' } | undefined {
  if (typeof value !== 'string') return { code: 'invalid_type', expected: 'string' };
  return textFault(value, 0, MAX_METADATA_TEXT);
}
