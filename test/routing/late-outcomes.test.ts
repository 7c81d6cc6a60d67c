import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { tallyOf } from '../../bench/routing/tallies.ts';
import { estimateRoutes, fold } from '../../src/routing/estimate.ts';
import type { RouteState, States } from '../../src/routing/route-memory.ts';
import { DEFAULT_POLICY } from '../../src/routing/routing-policy.ts';
import { BUCKET_MS, HOUR, priorsOf } from '../support/route-states.ts';

const PRIORS = priorsOf({ rt_a: 0.85, rt_b: 0.85 });
const NOON = 100;

/** The states after the outcomes of rt_a that are known at the start of an hour, of payments that started `hoursBefore`. */
function known(states: States, hour: number, hoursBefore: number, successes: number, failures: number): States {
  const tally = tallyOf(hour * HOUR, hour - hoursBefore, { successes, failures });
  return fold(states, new Map([['rt_a', tally]]), hour * HOUR, PRIORS, DEFAULT_POLICY);
}

/** The state after a payment that was paid after some seconds, and an outcome ten hours later. */
function afterPaidIn(seconds: number): RouteState {
  const logMs = Math.log(seconds * 1000);
  const paid = tallyOf(NOON * HOUR, NOON, { successes: 1, timed: 1, logMs, logMsSquared: logMs * logMs });
  const states = fold(new Map(), new Map([['rt_a', paid]]), NOON * HOUR, PRIORS, DEFAULT_POLICY);
  return known(states, NOON + 10, 0, 1, 0).get('rt_a')!;
}

describe('outcomes that are known hours after the start of their payments', () => {
  test('the slow memory decays them from the start of the payment, the fast memory from the outcome', () => {
    const [atOnce, late] = [0, 9].map((hours) => known(new Map(), NOON, hours, 8, 0).get('rt_a')!);
    // The hour of the start ended 8 hours before, which is two half-lives.
    assert.ok(Math.abs(late!.slowSuccesses / atOnce!.slowSuccesses - 1 / 4) < 1e-9);
    assert.equal(late!.fastSuccesses, atOnce!.fastSuccesses);
  });

  test('a neutral outcome and a failure also count less in the slow memory', () => {
    const tally = (hoursBefore: number) => tallyOf(NOON * HOUR, NOON - hoursBefore, { failures: 1, neutrals: 1 });
    const [atOnce, late] = [0, 5].map((hours) =>
      fold(new Map(), new Map([['rt_a', tally(hours)]]), NOON * HOUR, PRIORS, DEFAULT_POLICY).get('rt_a')!,
    );
    assert.ok(Math.abs(late!.slowFailures / atOnce!.slowFailures - 1 / 2) < 1e-9);
    assert.ok(Math.abs(late!.slowNeutrals / atOnce!.slowNeutrals - 1 / 2) < 1e-9);
  });

  test('an hour becomes evidence after three times the median time to paid, after 1 to 72 hours', () => {
    for (const [seconds, hours] of [
      [20, 1],
      [7.9 * 3600, 24],
      [50 * 3600, 72],
    ] as const) {
      const { longTerm } = afterPaidIn(seconds);
      assert.equal(longTerm.until, NOON + 10 - hours, `${seconds} seconds`);
    }
  });

  test('before the first payment is paid, the hours of 72 hours stay open', () => {
    const { longTerm } = known(new Map(), NOON, 30, 0, 1).get('rt_a')!;
    assert.equal(longTerm.until, NOON - 72);
    assert.deepEqual(
      longTerm.recent.map(({ hour }) => hour),
      [NOON - 30],
    );
  });

  test('successes of payments from before a change do not take back what later payments have shown', () => {
    let fallen = known(new Map(), NOON, 0, 60, 3);
    for (let hour = NOON + 5; hour < NOON + 30; hour += 1) fallen = known(fallen, hour, 0, 2, 2);
    const estimateAfter = (hoursBefore: number) => {
      const states = known(fallen, NOON + 30, hoursBefore, 20, 1);
      return estimateRoutes(states, PRIORS, (NOON + 60) * HOUR * BUCKET_MS, DEFAULT_POLICY).get('rt_a')!.slow.mean;
    };
    const [ofOld, ofNew] = [estimateAfter(30), estimateAfter(0)];
    assert.ok(ofOld < ofNew - 0.1, `${ofOld} ${ofNew}`);
  });
});
