import { hash } from 'node:crypto';
import type { z } from 'zod';
import { type JsonSchema, sampleOf } from './json-schema.ts';

// Suggestions for the problems of an `invalid_input` error. Programs may apply a suggestion verbatim, so it never contains an
// id that two orders could share, or the URL of a third party.

const OWN_ID = /^(?:idempotencyKey|clientReferenceId|payload\.eventId|(?:payload\.)?txHash)$/;
const MAX_ID_START = 40;

/** A field of an input, with its schema. */
export interface Field {
  schema: JsonSchema;
  isRequired: boolean;
  /** False for a value of a map such as metadata. */
  isDeclared: boolean;
}

/** The field at a path of an input. */
export function fieldAt(schema: JsonSchema, path: PropertyKey[]): Field {
  return path.reduce<Field>(
    ({ schema: { properties, additionalProperties, items, required = [] } }, key) => {
      const name = String(key);
      const property = properties?.[name];
      if (property) return { schema: property, isRequired: required.includes(name), isDeclared: true };
      if (items) return { schema: items, isRequired: true, isDeclared: true };
      const rest = typeof additionalProperties === 'object' ? additionalProperties : {};
      return { schema: rest, isRequired: false, isDeclared: false };
    },
    { schema, isRequired: true, isDeclared: true },
  );
}

interface Faulty extends Field {
  path: string;
  /** Description of the type and limits of the field. */
  expected: string;
  received: unknown;
  input: unknown;
}

/** Instruction that fixes one problem, with a value derived from the caller's input if possible. */
export function remedyOf(issue: z.core.$ZodIssue, faulty: Faulty): string {
  const { path, schema, isRequired, expected } = faulty;
  if (isToBeRemoved(issue)) return `remove ${path}`;
  const ofPair = faultOfPair(issue);
  if (ofPair === 'key') return `remove ${path}, or change its key`;
  if (ofPair === 'pairs') return `remove ${path}`;
  const set = `set ${path} to ${expected}`;
  const removeOrSet = `remove ${path}, or set it to ${expected}`;
  // An id with a pattern is not the caller's own, but names something that exists, such as a transaction.
  if (OWN_ID.test(path) && schema.pattern !== undefined) return set;
  // For an empty id, suggests no value derived from the body, because two orders can have the same body.
  if (OWN_ID.test(path) && !hasContent(faulty.received)) {
    return isRequired ? `set ${path} to an id of your own: ${expected}` : removeOrSet;
  }
  const derived = derivedValue(issue, faulty);
  if (derived !== undefined) return `${set}, for example ${JSON.stringify(derived)}`;
  if (schema.format === 'uri') return isRequired ? `${set} of your own` : removeOrSet;
  if (isLongText(issue, faulty)) return `shorten ${path} to at most ${schema.maxLength} characters`;
  if (!isRequired && (schema.default === undefined || schema.type === 'object')) {
    // Never suggests removing an optional number, because for example a refund without an amount is a full refund.
    if (isNumber(schema)) return set;
    if (schema.type !== 'array') return removeOrSet;
  }
  const example = exampleOf(faulty);
  return example === undefined ? set : `${set}, for example ${example}`;
}

/** Valid value derived from the received value; undefined if no such value exists. */
function derivedValue(issue: z.core.$ZodIssue, faulty: Faulty): unknown {
  const { path, schema, isDeclared, received, input } = faulty;
  if (OWN_ID.test(path)) return ownId(received, input);
  const isPlain = typeof received === 'number' || typeof received === 'boolean';
  // Metadata values must be strings, so numbers and booleans are converted.
  if (!isDeclared && schema.type === 'string' && isPlain) return String(received);
  if (schema.type !== 'number' || isFraction(schema)) return undefined;
  const number = typeof received === 'string' && /^\d{1,9}(?:\.\d{1,2})?$/.test(received) ? Number(received) : received;
  if (typeof number !== 'number' || (number === received && issue.code !== 'not_multiple_of')) return undefined;
  const { exclusiveMinimum = -Infinity, minimum = -Infinity, maximum = Infinity } = schema;
  const rounded = Math.round(number * 100) / 100;
  return rounded > exclusiveMinimum && rounded >= minimum && rounded <= maximum ? rounded : undefined;
}

/** A valid id: the valid characters of the received id, followed by a hash of the whole input. */
function ownId(received: unknown, input: unknown): string {
  const start = textOf(received)
    .replace(/[^A-Za-z0-9._]+/g, '-')
    .replace(/^-/, '')
    .slice(0, MAX_ID_START);
  return `${start || 'id'}-${hash('sha256', JSON.stringify(input) ?? '', 'hex').slice(0, 16)}`;
}

function hasContent(received: unknown): boolean {
  return /[\p{L}\p{N}]/u.test(textOf(received));
}

function textOf(received: unknown): string {
  return typeof received === 'string' || typeof received === 'number' ? String(received) : '';
}

/** Example from the schema as JSON, without ids that the caller chooses; undefined if the example contains a URL. */
function exampleOf({ path, schema }: Faulty): string | undefined {
  const sample = sampleOf(schema, 'required');
  const ownIds = ownIdsIn(sample, path);
  const example = JSON.stringify(sample, (name, value: unknown) => (ownIds.includes(name) ? undefined : value));
  // An empty object is no example: a body that must contain at least one field would be rejected again.
  if (example === undefined || example === '{}' || /https?:/.test(example)) return undefined;
  return ownIds.length > 0 ? `${example}, with an ${ownIds.join(' and an ')} of your own` : example;
}

/** Names of the fields in a sample of `path` that contain an id that the caller chooses. */
function ownIdsIn(sample: unknown, path: string): string[] {
  if (typeof sample !== 'object' || sample === null) return [];
  const prefix = path === 'body' ? '' : `${path}.`;
  return Object.entries(sample).flatMap(([name, value]) =>
    OWN_ID.test(prefix + name) ? [name] : ownIdsIn(value, prefix + name),
  );
}

function isNumber({ type }: JsonSchema): boolean {
  return type === 'number' || type === 'integer';
}

/** True if the text is too long and may be shortened. An id must not be shortened, because the result is a different id. */
function isLongText(issue: z.core.$ZodIssue, { path, schema }: Faulty): boolean {
  return issue.code === 'too_big' && issue.origin === 'string' && schema.format === undefined && !path.endsWith('Id');
}

/** Part of metadata with the problem: a `key`, or the number of `pairs`; undefined for a value and for every other field. */
export function faultOfPair(issue: z.core.$ZodIssue): 'key' | 'pairs' | undefined {
  if (issue.code === 'invalid_format') return issue.format === 'key' ? 'key' : undefined;
  if (issue.code !== 'too_small' && issue.code !== 'too_big') return undefined;
  if (issue.origin === 'key') return 'key';
  return issue.origin === 'pairs' ? 'pairs' : undefined;
}

function isToBeRemoved(issue: z.core.$ZodIssue): boolean {
  return issue.code === 'custom' && issue.params?.['remedy'] === 'remove';
}

/** True for the schema of a fraction from 0 to 1, with any number of decimals. All other numbers are amounts with two decimals. */
export function isFraction({ maximum }: JsonSchema): boolean {
  return maximum !== undefined && maximum <= 1;
}
