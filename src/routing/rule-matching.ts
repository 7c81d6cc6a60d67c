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
export type Comparable = string | number | null;
type Comparison = (value: Comparable) => boolean;
/** Outcome of a condition for a source of values; undefined if it depends on a value that the source does not have. */
export type Outcome<Source> = (source: Source) => boolean | undefined;
type ReaderOf<Source> = (field: string) => (source: Source) => Comparable | undefined;

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

export function readingOf(field: string): Reading {
  const named = READINGS[field];
  if (named) return named;
  const key = field.slice(METADATA_PREFIX.length);
  const read = ({ metadata }: RuleFacts) => (Object.hasOwn(metadata, key) ? (metadata[key] ?? null) : null);
  return { read, normalised: unchanged };
}

/** A condition as a function. The function never throws, and its running time depends on the size of the condition only. */
export function matcherOf(condition: Condition): RuleMatcher {
  const outcome = outcomeOf<RuleFacts>(condition, (field) => readingOf(field).read);
  return (facts) => outcome(facts) === true;
}

/** Known values of fields, in comparable form. */
export type KnownValues = ReadonlyMap<string, Comparable>;

/** Function for known values: true if a condition holds for every session that has them, false if for none, otherwise undefined. */
export function certaintyOf(condition: Condition = {}): Outcome<KnownValues> {
  return outcomeOf<KnownValues>(condition, (field) => (known) => known.get(field));
}

function outcomeOf<Source>(condition: Condition, readerOf: ReaderOf<Source>): Outcome<Source> {
  const all = (parts: readonly Condition[]) => parts.map((each) => outcomeOf(each, readerOf));
  const outcomes = Object.entries(condition).map(([key, part]): Outcome<Source> => {
    if (key === 'not') return negated(outcomeOf(part as Condition, readerOf));
    if (key === 'all') return allOf(all(part as Condition[]));
    if (key === 'any') return negated(allOf(all(part as Condition[]).map(negated)));
    const read = readerOf(key);
    const holds = comparisonOf(part as RuleTest, readingOf(key));
    return (source) => {
      const value = read(source);
      return value === undefined ? undefined : holds(value);
    };
  });
  return allOf(outcomes);
}

function allOf<Source>(outcomes: readonly Outcome<Source>[]): Outcome<Source> {
  const [only] = outcomes;
  if (only && outcomes.length === 1) return only;
  return (source) => {
    let all: boolean | undefined = true;
    for (const outcome of outcomes) {
      const holds = outcome(source);
      if (holds === false) return false;
      all &&= holds;
    }
    return all;
  };
}

function negated<Source>(outcome: Outcome<Source>): Outcome<Source> {
  return (source) => {
    const holds = outcome(source);
    return holds === undefined ? undefined : !holds;
  };
}

export function comparisonOf(test: RuleTest, reading: Reading): Outcome<Comparable> {
  return allOf(operationsOf(test).map(([operator, operand]) => comparisonBy(operator, operand, reading)));
}

/** The operators of a test, with their operands. */
export function operationsOf(test: RuleTest): [operator: keyof RuleOperators, operand: unknown][] {
  if (Array.isArray(test)) return [['in', test]];
  return typeof test === 'object' ? (Object.entries(test) as [keyof RuleOperators, unknown][]) : [['eq', test]];
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
