import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import {
  NO_LONG_TERM_MEMORY,
  type LongTermMemory,
  laterMemory,
  longTermRate,
  priorAround,
  withOutcomes,
} from '../../src/routing/long-term-rate.ts';
import { DEFAULT_POLICY } from '../../src/routing/routing-policy.ts';
import { forAll } from '../support/for-all.ts';

const DAY_SECONDS = 86_400;
const USUAL = 0.85;
const PRIOR = priorAround(USUAL, DEFAULT_POLICY);
const rateOf = (memory: LongTermMemory, prior = PRIOR) => longTermRate(memory, prior).rate;
const later = (memory: LongTermMemory, days: number) => laterMemory(memory, PRIOR, days * DAY_SECONDS, DEFAULT_POLICY);
/** The memory six hours after outcomes, when nearly all of them count. */
const after = (memory: LongTermMemory, successes: number, failures: number) =>
  later(withOutcomes(memory, successes, failures), 1 / 4);

function near(actual: number, expected: number, tolerance: number): void {
  assert.ok(Math.abs(actual - expected) <= tolerance, `${actual} is not ${expected} +- ${tolerance}`);
}

/** The memory after days with five payments each, of which `failures` fail. */
function afterDays(memory: LongTermMemory, days: number, failures: number): LongTermMemory {
  let result = memory;
  for (let day = 0; day < days; day += 1) result = later(withOutcomes(result, 5 - failures, failures), 1);
  return result;
}

describe('the long-term rate of a route', () => {
  test('a route without outcomes has the rate and the weight of the prior, which follows the other routes', () => {
    forAll(100, fc.double({ min: 0.01, max: 0.99, noNaN: true }), (rate) => {
      near(rateOf(later(NO_LONG_TERM_MEMORY, 1), priorAround(rate, DEFAULT_POLICY)), rate, 2e-4);
    });
    near(longTermRate(NO_LONG_TERM_MEMORY, PRIOR).outcomes, DEFAULT_POLICY.estimate.longTermPriorWeight + 1, 0.1);
  });

  test('a route that succeeds in nine of ten payments has a rate of 90 % after many of them, with a limited weight', () => {
    const { rate, outcomes } = longTermRate(after(NO_LONG_TERM_MEMORY, 900, 100), PRIOR);
    near(rate, 0.9, 0.003);
    assert.ok(outcomes > 500 && outcomes < 1200, `${outcomes}`);
  });

  test('a busy route has its own rate, also between two of the rates that are weighed', () => {
    for (const rate of [0.53, 0.75, 0.893, 0.94]) {
      let memory = NO_LONG_TERM_MEMORY;
      for (let hour = 0; hour < 200; hour += 1)
        memory = later(withOutcomes(memory, 100 * rate, 100 * (1 - rate)), 1 / 24);
      near(rateOf(memory), rate, 0.02);
    }
  });

  test('a route that fell from 100 % to 60 % is below 75 % after a week of five payments a day, and at 60 % after a month', () => {
    const good = afterDays(NO_LONG_TERM_MEMORY, 180, 0);
    assert.ok(rateOf(good) > 0.97);
    assert.ok(rateOf(afterDays(good, 7, 2)) < 0.75, `${rateOf(afterDays(good, 7, 2))}`);
    near(rateOf(afterDays(good, 30, 2)), 0.6, 0.05);
  });

  test('a route that was bad is expected to be like all routes after a year without payments', () => {
    const bad = afterDays(NO_LONG_TERM_MEMORY, 60, 3);
    assert.ok(rateOf(bad) < 0.5);
    near(rateOf(later(bad, 365)), USUAL, 0.001);
  });

  test('the order of outcomes hardly matters', () => {
    const counts = fc.nat(8);
    forAll(100, counts, counts, (successes, failures) => {
      const one = after(after(NO_LONG_TERM_MEMORY, successes, 0), 0, failures);
      const other = after(after(NO_LONG_TERM_MEMORY, 0, failures), successes, 0);
      near(rateOf(one), rateOf(other), 0.04);
    });
  });

  test('a failure that was reversed after it counted cancels the next failure', () => {
    const reversed = after(NO_LONG_TERM_MEMORY, 0, -5);
    near(rateOf(after(reversed, 0, 5)), USUAL, 1e-9);
    assert.ok(rateOf(after(reversed, 0, 6)) < USUAL - 0.02);
  });

  test('the long-term rate stays between 0 and 1 after any outcomes and times', () => {
    const step = fc.record({
      successes: fc.nat(5000),
      failures: fc.nat(5000),
      days: fc.integer({ min: -1, max: 1000 }),
    });
    forAll(100, fc.array(step, { maxLength: 20 }), (steps) => {
      let memory = NO_LONG_TERM_MEMORY;
      for (const { successes, failures, days } of steps) memory = after(later(memory, days), successes, failures);
      const { rate, outcomes } = longTermRate(memory, PRIOR);
      assert.ok(rate >= 0 && rate <= 1 && outcomes > 0, `${rate} ${outcomes}`);
    });
  });
});
