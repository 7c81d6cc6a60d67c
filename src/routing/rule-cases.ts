import { ENVIRONMENTS } from '../domain/route.ts';
import type { Condition } from './rule-conditions.ts';
import { type Comparable, type RuleField, type RuleTest, type RuleValue, fieldNamed } from './rule-fields.ts';
import { type KnownValues, comparisonOf, operationsOf } from './rule-matching.ts';

// Rules are checked whenever they are read, so the work is bounded: comparisons that find the cases, rules and comparisons in all cases.
const MAX_COMPARISONS = 100_000;
const MAX_PARTS = 30;

/**
 * Values of the compared fields that represent all sessions: for each session there is a case in which all comparisons of
 * its fields have the same outcome. A field that would make too many cases is left out.
 */
export function casesOf(conditions: readonly Condition[]): KnownValues[] {
  const all = conditions.flatMap(testsIn);
  const tests = Map.groupBy(all, ([field]) => field);
  tests.delete('environment');
  let cases = ENVIRONMENTS.map((environment): KnownValues => new Map([['environment', environment]]));
  let comparisonsLeft = MAX_COMPARISONS;
  for (const [name, entries] of tests) {
    const field = fieldNamed(name)!;
    const own = entries.map(([, test]) => test);
    const possible = candidates(field, own);
    if (possible.length * own.length > comparisonsLeft) continue;
    comparisonsLeft -= possible.length * own.length;
    const comparisons = own.map((test) => comparisonOf(test, field));
    const outcomes = (value: Comparable) => comparisons.map((holds) => Number(holds(value))).join('');
    const values = Map.groupBy(possible, outcomes);
    if (values.size === 0 || cases.length * values.size * (conditions.length + all.length) > MAX_COMPARISONS) continue;
    cases = cases.flatMap((known) => [...values.values()].map(([value]) => new Map(known).set(name, value!)));
  }
  return cases;
}

function testsIn(condition: Condition): [field: string, test: RuleTest][] {
  return Object.entries(condition).flatMap(([key, part]): [string, RuleTest][] => {
    if (key === 'all' || key === 'any') return (part as Condition[]).flatMap(testsIn);
    return key === 'not' ? testsIn(part as Condition) : [[key, part as RuleTest]];
  });
}

/** Values of a field that together have all possible outcomes of its tests; none if there are too many. */
function candidates(field: RuleField, tests: readonly RuleTest[]): Comparable[] {
  const { accepts, choices, operators, normalised, least = 0 } = field;
  const operations = tests.flatMap(operationsOf);
  const operands = operations.flatMap(([, operand]) => operand as RuleValue[]);
  if (operators.includes('gt')) {
    // The neighbours of an amount are a cent away, those of an hour an hour.
    return operands
      .flatMap((value) => [-1, -0.01, 0, 0.01, 1].map((step) => Number(value) + step))
      .filter(accepts)
      .map(normalised)
      .filter((value) => Number(value) >= least);
  }
  if (choices) return operators.includes('exists') ? [null, ...choices] : [...choices];
  const affixes = operations.filter(([operator]) => operator === 'prefix' || operator === 'suffix');
  const parts = new Set(['', ...affixes.map(([, affix]) => normalised(affix as string))]);
  if (parts.size > MAX_PARTS) return [];
  // No rule contains a NUL character, so any other text has the outcomes of its longest prefix and its longest suffix.
  const others = [...parts].flatMap((prefix) => [...parts].map((suffix) => `${prefix}\0${suffix}`));
  return [null, ...operands.map(normalised), ...others];
}
