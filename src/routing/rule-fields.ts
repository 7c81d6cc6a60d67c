import { type Cents, MAX_AMOUNT, centsFromAmount } from '../domain/money.ts';
import type { Instant, Metadata } from '../domain/records.ts';
import { ENVIRONMENTS, type Environment, ROUTE_KINDS, type RouteKind } from '../domain/route.ts';

/** Facts of a session that rules can compare. */
export interface RuleFacts {
  amount: Cents;
  currency: string;
  environment: Environment;
  preferredKind: RouteKind | null;
  product: string;
  /** The buyer's email address. */
  customer: string;
  clientReferenceId: string | null;
  metadata: Metadata;
  /** Time of the session, from which rules take the hour and the weekday in UTC. */
  at: Instant;
  sessionId: string;
}

export type RuleValue = string | number;
/** A value in comparable form; null if the session does not have it. */
export type Comparable = RuleValue | null;

/** Operators of a field, all of which must hold. Amounts are in dollars, as in the API. */
interface RuleOperators {
  eq?: RuleValue;
  ne?: RuleValue;
  in?: readonly RuleValue[];
  nin?: readonly RuleValue[];
  gt?: number;
  gte?: number;
  lt?: number;
  lte?: number;
  prefix?: string;
  suffix?: string;
  exists?: boolean;
}
export type Operator = keyof RuleOperators;
/** Test of one field: an equal value, an array of allowed values, or operators. */
export type RuleTest = RuleValue | readonly RuleValue[] | RuleOperators;

/** A field that conditions can compare. */
export interface RuleField {
  /** Description of the accepted values. */
  wanted: string;
  operators: readonly Operator[];
  /** All values that sessions have, if they are few. */
  choices?: readonly string[];
  /** The lowest value of a session, in the form of `read`. Default: the lowest accepted one. */
  least?: number;
  accepts(value: unknown): boolean;
  read(facts: RuleFacts): Comparable;
  /** A value of a rule in the form in which `read` returns the value of a session. */
  normalised(value: RuleValue): RuleValue;
}

export const WEEKDAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;
const METADATA_PREFIX = 'metadata.';
/** The longest text of a rule set, in characters. */
export const MAX_TEXT = 500;

const CHOICE: readonly Operator[] = ['eq', 'ne', 'in', 'nin'];
const ORDERED: readonly Operator[] = [...CHOICE, 'gt', 'gte', 'lt', 'lte'];
const TEXT: readonly Operator[] = [...CHOICE, 'prefix', 'suffix'];
const CURRENCY_CODE = /^[A-Z]{3}$/;

const unchanged = (value: RuleValue): RuleValue => value;

const oneOf = (values: readonly string[], read: RuleField['read']): RuleField => ({
  wanted: `one of ${values.join(', ')}`,
  operators: CHOICE,
  choices: values,
  accepts: (value) => typeof value === 'string' && values.includes(value),
  read,
  normalised: unchanged,
});

const freeText = (read: RuleField['read']): RuleField => ({
  wanted: `a string of at most ${MAX_TEXT} characters`,
  operators: TEXT,
  accepts: (value) => isRuleText(value, 0),
  read,
  normalised: unchanged,
});

const optional = (field: RuleField): RuleField => ({ ...field, operators: [...field.operators, 'exists'] });

const FIELDS: Readonly<Record<string, RuleField>> = {
  amount: {
    wanted: `US dollars, not cents: 0 to ${MAX_AMOUNT}, at most two decimals`,
    operators: ORDERED,
    accepts: (value) =>
      typeof value === 'number' && value >= 0 && value <= MAX_AMOUNT && centsFromAmount(value) !== undefined,
    least: 1,
    read: ({ amount }) => amount,
    normalised: (value) => centsFromAmount(Number(value)) ?? Number.NaN,
  },
  currency: {
    wanted: 'a currency of three capital letters',
    operators: CHOICE,
    choices: ['USD'],
    accepts: (value) => typeof value === 'string' && CURRENCY_CODE.test(value),
    read: ({ currency }) => currency,
    normalised: unchanged,
  },
  environment: oneOf(ENVIRONMENTS, ({ environment }) => environment),
  preferredKind: optional(oneOf(ROUTE_KINDS, ({ preferredKind }) => preferredKind)),
  product: freeText(({ product }) => product),
  customer: {
    ...freeText(({ customer }) => customer.toLowerCase()),
    normalised: (value) => String(value).toLowerCase(),
  },
  clientReferenceId: optional(freeText(({ clientReferenceId }) => clientReferenceId)),
  hour: {
    wanted: 'a whole number of 0 to 23',
    operators: ORDERED,
    accepts: (value) => Number.isInteger(value) && Number(value) >= 0 && Number(value) <= 23,
    read: ({ at }) => new Date(at).getUTCHours(),
    normalised: unchanged,
  },
  // `getUTCDay` is 0 on Sunday, and `at(-1)` is the last weekday: Sunday.
  weekday: oneOf(WEEKDAYS, ({ at }) => WEEKDAYS.at(new Date(at).getUTCDay() - 1) ?? null),
};

/** The fields with a fixed name. Conditions can also use `metadata.<key>`. */
export const FIELD_NAMES: readonly string[] = Object.keys(FIELDS);

/** The condition field called `name`, such as `amount` or `metadata.country`; undefined if there is no such field. */
export function fieldNamed(name: string): RuleField | undefined {
  if (Object.hasOwn(FIELDS, name)) return FIELDS[name];
  const key = name.slice(METADATA_PREFIX.length);
  if (!name.startsWith(METADATA_PREFIX) || !isRuleText(key, 1)) return undefined;
  return optional(freeText(({ metadata }) => (Object.hasOwn(metadata, key) ? (metadata[key] ?? null) : null)));
}

/** True for a string of `min` to 500 characters, all of which a session can contain. */
export function isRuleText(value: unknown, min: number): boolean {
  // A character has at most two UTF-16 units, so a text of more than twice the limit is too long.
  if (typeof value !== 'string' || value.length < min || value.length > MAX_TEXT * 2) return false;
  return value.isWellFormed() && !value.includes('\0') && Array.from(value).length <= MAX_TEXT;
}
