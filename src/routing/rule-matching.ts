import type { Condition } from './rule-conditions.ts';
import {
  type Comparable,
  type Operator,
  type RuleFacts,
  type RuleField,
  type RuleTest,
  type RuleValue,
  fieldNamed,
} from './rule-fields.ts';

/** Outcome of a condition for a source of values; undefined if it depends on a value that the source does not have. */
type Outcome<Source> = (source: Source) => boolean | undefined;
type Reader<Source> = (source: Source, name: string, field: RuleField) => Comparable | undefined;

/** A condition as a function. The function never throws, and its running time depends on the size of the condition only. */
export function matcherOf(condition: Condition = {}): (facts: RuleFacts) => boolean {
  const outcome = outcomeOf<RuleFacts>(condition, (facts, _name, field) => field.read(facts));
  return (facts) => outcome(facts) === true;
}

/** Known values of fields, in comparable form. */
export type KnownValues = ReadonlyMap<string, Comparable>;

/** Function for known values: true if a condition holds for every session that has them, false if for none, otherwise undefined. */
export function certaintyOf(condition: Condition = {}): Outcome<KnownValues> {
  return outcomeOf<KnownValues>(condition, (known, name) => known.get(name));
}

function outcomeOf<Source>(condition: Condition, read: Reader<Source>): Outcome<Source> {
  const all = (parts: readonly Condition[]) => parts.map((each) => outcomeOf(each, read));
  const outcomes = Object.entries(condition).map(([key, part]): Outcome<Source> => {
    if (key === 'not') return negated(outcomeOf(part as Condition, read));
    if (key === 'all') return allOf(all(part as Condition[]));
    if (key === 'any') return negated(allOf(all(part as Condition[]).map(negated)));
    const field = fieldNamed(key)!;
    const holds = comparisonOf(part as RuleTest, field);
    return (source) => {
      const value = read(source, key, field);
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

export function comparisonOf(test: RuleTest, field: RuleField): Outcome<Comparable> {
  return allOf(operationsOf(test).map(([operator, operand]) => comparisonBy(operator, operand, field)));
}

/** The operators of a test, with their operands. */
export function operationsOf(test: RuleTest): [operator: Operator, operand: unknown][] {
  if (Array.isArray(test)) return [['in', test]];
  return typeof test === 'object' ? (Object.entries(test) as [Operator, unknown][]) : [['eq', test]];
}

type ValueOperator = Exclude<Operator, 'exists' | 'in' | 'nin'>;

/** A missing value equals nothing and has no order: only `ne`, `nin` and `exists: false` hold for it. */
const COMPARISONS: Readonly<Record<ValueOperator, (value: Comparable, wanted: RuleValue) => boolean>> = {
  eq: (value, wanted) => value === wanted,
  ne: (value, wanted) => value !== wanted,
  gt: (value, wanted) => value !== null && value > wanted,
  gte: (value, wanted) => value !== null && value >= wanted,
  lt: (value, wanted) => value !== null && value < wanted,
  lte: (value, wanted) => value !== null && value <= wanted,
  prefix: (value, wanted) => typeof value === 'string' && value.startsWith(String(wanted)),
  suffix: (value, wanted) => typeof value === 'string' && value.endsWith(String(wanted)),
};

function comparisonBy(operator: Operator, operand: unknown, { normalised }: RuleField): Outcome<Comparable> {
  if (operator === 'exists') return (value) => (value !== null) === operand;
  if (operator === 'in' || operator === 'nin') {
    const values = new Set<Comparable>((operand as RuleValue[]).map(normalised));
    return (value) => values.has(value) === (operator === 'in');
  }
  const wanted = normalised(operand as RuleValue);
  const holds = COMPARISONS[operator];
  return (value) => holds(value, wanted);
}
