import { type Cents, centsFromAmount } from '../domain/money.ts';
import type { Instant, Metadata } from '../domain/records.ts';
import type { Environment, RouteKind } from '../domain/route.ts';
import type { Condition, RuleOperators, RuleTest, RuleValue } from './rule-conditions.ts';
import { METADATA_PREFIX, WEEKDAYS } from './rule-fields.ts';

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

export type RuleMatcher = (facts: RuleFacts) => boolean;
/** A value in comparable form; null if the session does not have it. */
type Comparable = string | number | null;
type Comparison = (value: Comparable) => boolean;

/** Reads a field of the facts, and normalises a value of a rule so that both can be compared. */
interface Reading {
  read(facts: RuleFacts): Comparable;
  normalised(value: RuleValue): RuleValue;
}

const MS_PER_HOUR = 3_600_000;
const MS_PER_DAY = 24 * MS_PER_HOUR;
// 1970-01-01 was a Thursday.
const FIRST_WEEKDAY = WEEKDAYS.indexOf('thu');

const unchanged = (value: RuleValue): RuleValue => value;
const READINGS: Readonly<Record<string, Reading>> = {
  amount: { read: ({ amount }) => amount, normalised: (value) => centsFromAmount(Number(value)) ?? Number.NaN },
  currency: { read: ({ currency }) => currency, normalised: unchanged },
  environment: { read: ({ environment }) => environment, normalised: unchanged },
  preferredKind: { read: ({ preferredKind }) => preferredKind, normalised: unchanged },
  product: { read: ({ product }) => product, normalised: unchanged },
  customer: { read: ({ customer }) => customer.toLowerCase(), normalised: (value) => String(value).toLowerCase() },
  clientReferenceId: { read: ({ clientReferenceId }) => clientReferenceId, normalised: unchanged },
  hour: { read: ({ at }) => remainder(Math.floor(at / MS_PER_HOUR), 24), normalised: unchanged },
  weekday: {
    read: ({ at }) => WEEKDAYS[remainder(Math.floor(at / MS_PER_DAY) + FIRST_WEEKDAY, 7)] ?? null,
    normalised: unchanged,
  },
};

function remainder(value: number, divisor: number): number {
  return ((value % divisor) + divisor) % divisor;
}

function readingOf(field: string): Reading {
  const named = READINGS[field];
  if (named) return named;
  const key = field.slice(METADATA_PREFIX.length);
  const read = ({ metadata }: RuleFacts) => (Object.hasOwn(metadata, key) ? (metadata[key] ?? null) : null);
  return { read, normalised: unchanged };
}

/** A condition as a function. The function never throws, and its running time depends on the size of the condition only. */
export function matcherOf(condition: Condition): RuleMatcher {
  return every(Object.entries(condition).map(([key, part]) => matcherOfPart(key, part)));
}

function matcherOfPart(key: string, part: Condition[string]): RuleMatcher {
  if (key === 'not') {
    const inner = matcherOf(part as Condition);
    return (facts) => !inner(facts);
  }
  if (key === 'all') return every((part as Condition[]).map(matcherOf));
  if (key === 'any') {
    const inner = (part as Condition[]).map(matcherOf);
    return (facts) => inner.some((matches) => matches(facts));
  }
  const reading = readingOf(key);
  const holds = comparisonOf(part as RuleTest, reading);
  return (facts) => holds(reading.read(facts));
}

function every<Value>(predicates: readonly ((value: Value) => boolean)[]): (value: Value) => boolean {
  const [only] = predicates;
  if (only && predicates.length === 1) return only;
  return (value) => predicates.every((holds) => holds(value));
}

function comparisonOf(test: RuleTest, reading: Reading): Comparison {
  if (Array.isArray(test)) return comparisonBy('in', test, reading);
  if (typeof test !== 'object') return comparisonBy('eq', test, reading);
  const operators = Object.entries(test as RuleOperators) as [keyof RuleOperators, unknown][];
  return every(operators.map(([operator, operand]) => comparisonBy(operator, operand, reading)));
}

/** A missing value equals nothing and has no order: only `ne`, `nin` and `exists: false` hold for it. */
function comparisonBy(operator: keyof RuleOperators, operand: unknown, reading: Reading): Comparison {
  if (operator === 'exists') return (value) => (value !== null) === operand;
  if (operator === 'in' || operator === 'nin') {
    const values = new Set<Comparable>((operand as RuleValue[]).map(reading.normalised));
    return operator === 'in' ? (value) => values.has(value) : (value) => !values.has(value);
  }
  const wanted = reading.normalised(operand as RuleValue);
  switch (operator) {
    case 'eq':
      return (value) => value === wanted;
    case 'ne':
      return (value) => value !== wanted;
    case 'gt':
      return (value) => value !== null && value > wanted;
    case 'gte':
      return (value) => value !== null && value >= wanted;
    case 'lt':
      return (value) => value !== null && value < wanted;
    case 'lte':
      return (value) => value !== null && value <= wanted;
    case 'prefix':
      return (value) => typeof value === 'string' && value.startsWith(String(wanted));
    case 'suffix':
      return (value) => typeof value === 'string' && value.endsWith(String(wanted));
  }
}

/** True if a condition holds for every session of an environment, false if for none, undefined if it depends on the session. */
export function conditionCertainty(condition: Condition | undefined, environment: Environment): boolean | undefined {
  if (!condition) return true;
  const parts = Object.entries(condition).map(([key, part]) => {
    if (key === 'all') return allOf((part as Condition[]).map((each) => conditionCertainty(each, environment)));
    if (key === 'any')
      return negated(allOf((part as Condition[]).map((each) => negated(conditionCertainty(each, environment)))));
    if (key === 'not') return negated(conditionCertainty(part as Condition, environment));
    if (key === 'environment') return comparisonOf(part as RuleTest, readingOf(key))(environment);
    return undefined;
  });
  return allOf(parts);
}

function allOf(parts: readonly (boolean | undefined)[]): boolean | undefined {
  if (parts.includes(false)) return false;
  return parts.includes(undefined) ? undefined : true;
}

function negated(part: boolean | undefined): boolean | undefined {
  return part === undefined ? undefined : !part;
}
