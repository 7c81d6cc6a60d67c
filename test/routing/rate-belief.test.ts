import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { type RateBelief, laterBelief, meanOf, withOutcomes } from '../../src/routing/rate-belief.ts';
import { DEFAULT_POLICY } from '../../src/routing/routing-policy.ts';
import { forAll } from '../support/for-all.ts';

const DAY_SECONDS = 86_400;
const POOLED = 0.85;
const NEW = laterBelief(null, 0, POOLED, DEFAULT_POLICY);
const rateOf = (belief: RateBelief) => meanOf(belief).rate;
const later = (belief: RateBelief, days: number) => laterBelief(belief, days * DAY_SECONDS, POOLED, DEFAULT_POLICY);
const counts = fc.nat(8);

function near(actual: number, expected: number, tolerance: number): void {
  assert.ok(Math.abs(actual - expected) <= tolerance, `${actual} is not ${expected} +- ${tolerance}`);
}

/** The belief after days with five payments each, of which `failures` fail. */
function afterDays(belief: RateBelief, days: number, failures: number): RateBelief {
  let result = belief;
  for (let day = 0; day < days; day += 1) result = withOutcomes(later(result, 1), 5 - failures, failures);
  return result;
}

describe('the belief about the long-term rate of a route', () => {
  test('the belief about a new route has the mean of all routes, with the weight of its prior', () => {
    forAll(100, fc.double({ min: 0.01, max: 0.99, noNaN: true }), (pooled) => {
      near(rateOf(laterBelief(null, 0, pooled, DEFAULT_POLICY)), pooled, 2e-4);
    });
    near(meanOf(NEW).outcomes, DEFAULT_POLICY.estimate.longTermPriorWeight + 1, 0.1);
  });

  test('a route that succeeds in nine of ten payments has a rate of 90 % after many of them, and a certain one', () => {
    const { rate, outcomes } = meanOf(withOutcomes(NEW, 900, 100));
    near(rate, 0.9, 0.003);
    near(outcomes, 1000, 100);
  });

  test('a lower rate is known within a week of five payments a day, although the route was good for half a year', () => {
    const good = afterDays(NEW, 180, 0);
    assert.ok(rateOf(good) > 0.97);
    assert.ok(rateOf(afterDays(good, 7, 2)) < 0.8);
  });

  test('a route that was bad is expected to be like all routes after a year without payments', () => {
    const bad = afterDays(NEW, 60, 3);
    assert.ok(rateOf(bad) < 0.5);
    near(rateOf(later(bad, 365)), POOLED, 0.001);
  });

  test('a belief does not depend on the order of the outcomes, and a correction takes a failure back', () => {
    forAll(100, counts, counts, counts, (successes, failures, reversed) => {
      const once = withOutcomes(NEW, successes + reversed, failures);
      const corrected = withOutcomes(withOutcomes(NEW, successes, failures + reversed), reversed, -reversed);
      near(rateOf(corrected), rateOf(once), 1e-6);
    });
  });

  test('the shares of a belief are probabilities, whatever happens', () => {
    const step = fc.record({ successes: fc.nat(5000), failures: fc.nat(5000), days: fc.nat(1000) });
    forAll(100, fc.array(step, { maxLength: 20 }), (steps) => {
      let belief = NEW;
      for (const { successes, failures, days } of steps)
        belief = withOutcomes(later(belief, days), successes, failures);
      assert.ok(belief.every((share) => share >= 0 && share <= 1));
      near(
        belief.reduce((sum, share) => sum + share, 0),
        1,
        1e-9,
      );
    });
  });
});
