import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import {
  type LongTermMemory,
  intervalShares,
  evidenceUntil,
  longTermRate,
  noLongTermMemory,
  priorAround,
  withOutcomes,
} from '../../src/routing/long-term-rate.ts';
import { DEFAULT_POLICY } from '../../src/routing/routing-policy.ts';
import { forAll } from '../support/for-all.ts';

const USUAL = 0.85;
const PRIOR = priorAround(USUAL, DEFAULT_POLICY);
const EMPTY = noLongTermMemory(DEFAULT_POLICY);

/** Known outcomes of payments that started in an hour after the hours of `memory`. */
const at = (memory: LongTermMemory, hours: number, successes: number, failures: number) =>
  withOutcomes(memory, { hour: memory.until + hours, successes, failures });
const later = (memory: LongTermMemory, hours: number, prior = PRIOR) =>
  evidenceUntil(memory, prior, memory.until + hours, DEFAULT_POLICY);
const after = (memory: LongTermMemory, successes: number, failures: number) =>
  later(at(memory, 0, successes, failures), 1);

function knowledgeOf(memory: LongTermMemory, prior = PRIOR): ReturnType<typeof longTermRate> {
  const belief = { prior, evidence: memory.evidence };
  return longTermRate(belief, intervalShares([belief], DEFAULT_POLICY));
}

const rateOf = (memory: LongTermMemory, prior = PRIOR) => knowledgeOf(memory, prior).rate;

function near(actual: number, expected: number, tolerance: number): void {
  assert.ok(Math.abs(actual - expected) <= tolerance, `${actual} is not ${expected} +- ${tolerance}`);
}

/** The memory after days with five payments each, of which `failures` fail. */
function afterDays(memory: LongTermMemory, days: number, failures: number): LongTermMemory {
  let result = memory;
  for (let day = 0; day < days; day += 1) result = later(at(result, 0, 5 - failures, failures), 24);
  return result;
}

describe('the long-term rate of a route', () => {
  test('a route without outcomes has the rate and the weight of the prior, which follows the other routes', () => {
    forAll(100, fc.double({ min: 0.01, max: 0.99, noNaN: true }), (rate) => {
      const prior = priorAround(rate, DEFAULT_POLICY);
      near(rateOf(later(EMPTY, 24, prior), prior), rate, 2e-4);
    });
    near(knowledgeOf(EMPTY).outcomes, DEFAULT_POLICY.estimate.longTermPriorWeight + 1, 0.3);
  });

  test('a route that succeeds in nine of ten payments has a rate of 90 % after many of them, with a limited weight', () => {
    for (const many of [50, 100_000]) {
      let memory = EMPTY;
      for (let hour = 0; hour < 20; hour += 1) memory = after(memory, 0.9 * many, 0.1 * many);
      const { rate, outcomes } = knowledgeOf(memory);
      near(rate, 0.9, 0.01);
      assert.ok(outcomes > 500 && outcomes < 2500, `${outcomes}`);
    }
  });

  test('a busy route has its own rate, also between two of the rates that are weighed', () => {
    for (const rate of [0.53, 0.75, 0.893, 0.94]) {
      let memory = EMPTY;
      for (let hour = 0; hour < 200; hour += 1) memory = after(memory, 100 * rate, 100 * (1 - rate));
      near(rateOf(memory), rate, 0.03);
    }
  });

  test('a route that fell from 100 % to 60 % is below 75 % after a week of five payments a day, and at 60 % after a month', () => {
    const good = afterDays(EMPTY, 180, 0);
    assert.ok(rateOf(good) > 0.97);
    assert.ok(rateOf(afterDays(good, 7, 2)) < 0.75, `${rateOf(afterDays(good, 7, 2))}`);
    near(rateOf(afterDays(good, 30, 2)), 0.6, 0.05);
  });

  test('a route that was bad is expected to be like all routes after a year without payments', () => {
    const bad = afterDays(EMPTY, 60, 3);
    assert.ok(rateOf(bad) < 0.5);
    near(rateOf(later(bad, 365 * 24)), USUAL, 0.001);
  });

  test('the order in which outcomes become known does not matter, only the hours in which their payments started', () => {
    const outcome = fc.record({ hour: fc.nat(5), successes: fc.nat(8), failures: fc.nat(8) });
    forAll(100, fc.array(outcome, { maxLength: 10 }), (outcomes) => {
      const [one, other] = [outcomes, outcomes.toReversed()].map((list) =>
        later(
          list.reduce((memory, { hour, successes, failures }) => at(memory, hour, successes, failures), EMPTY),
          6,
        ),
      );
      assert.deepEqual(one, other);
    });
  });

  test('after a change, older payments that become known late do not take the estimate back', () => {
    const good = after(EMPTY, 300, 0);
    const fallen = at(good, 20, 2, 8);
    const known = later(fallen, 24);
    const late = later(at(fallen, 3, 30, 0), 24);
    near(rateOf(late), rateOf(known), 0.06);
    const inTheSameHour = later(at(fallen, 20, 30, 0), 24);
    assert.ok(rateOf(inTheSameHour) > rateOf(late) + 0.1, `${rateOf(inTheSameHour)} ${rateOf(late)}`);
  });

  test('a failure that was reversed while its hour is recent never counted', () => {
    const failed = at(EMPTY, 2, 3, 1);
    assert.deepEqual(later(at(failed, 2, 0, -1), 5).evidence, later(at(EMPTY, 2, 3, 0), 5).evidence);
  });

  test('a failure that was reversed after it counted cancels the next failure', () => {
    const reversed = after(EMPTY, 0, -5);
    near(rateOf(after(reversed, 0, 5)), USUAL, 1e-9);
    assert.ok(rateOf(after(reversed, 0, 6)) < USUAL - 0.02);
    near(rateOf(later(at(at(EMPTY, 0, 0, -5), 1, 0, 5), 2)), USUAL, 1e-9);
  });

  test('an hour that is still open is not yet evidence', () => {
    const open = later(at(EMPTY, 5, 3, 1), 5);
    assert.deepEqual(open.recent, [{ hour: 5, successes: 3, failures: 1 }]);
    assert.deepEqual(later(open, 1).recent, []);
  });

  test('routes whose rates change every few days show that the rates of all routes do', () => {
    const days = (rates: number[]) =>
      rates.reduce((memory, rate) => later(at(memory, 0, 100 * rate, 100 * (1 - rate)), 24), EMPTY);
    const often = (...memories: LongTermMemory[]) => {
      const beliefs = memories.map(({ evidence }) => ({ prior: PRIOR, evidence }));
      return intervalShares(beliefs, DEFAULT_POLICY)[0]!;
    };
    const [oneSteady, oneRestless] = [days(Array(30).fill(0.9)), days([0.9, 0.9, 0.4, 0.4, 0.8, 0.8, 0.5, 0.5])];
    assert.ok(often(EMPTY) < 0.03);
    assert.ok(often(oneSteady, oneSteady) < 0.005);
    assert.ok(often(oneRestless, oneRestless) > 0.9);
    assert.ok(often(oneRestless, oneRestless) > often(oneRestless, EMPTY));
    assert.ok(often(oneRestless, oneSteady) < often(oneRestless, EMPTY));
  });

  test('routes that were restless for months count as steady again after some steady months', () => {
    let memory = EMPTY;
    for (let day = 0; day < 90; day += 1)
      memory = later(at(memory, 0, day % 4 < 2 ? 90 : 30, day % 4 < 2 ? 10 : 70), 24);
    const shares = () => intervalShares([{ prior: PRIOR, evidence: memory.evidence }], DEFAULT_POLICY);
    assert.ok(shares()[0]! > 0.95);
    for (let day = 0; day < 90; day += 1) memory = later(at(memory, 0, 90, 10), 24);
    assert.ok(shares()[0]! < 0.5, `${shares()[0]}`);
  });

  test('a busy route with a small daily wave counts as steady', () => {
    for (const rate of [0.65, 0.8, 0.891, 0.93]) {
      let memory = EMPTY;
      for (let hour = 0; hour < 30 * 24; hour += 1) {
        const now = rate + 0.02 * Math.sin((2 * Math.PI * hour) / 24);
        memory = after(memory, 3600 * now, 3600 * (1 - now));
      }
      const [often] = intervalShares([{ prior: PRIOR, evidence: memory.evidence }], DEFAULT_POLICY);
      assert.ok(often! < 0.01, `${rate} ${often}`);
    }
  });

  test('the long-term rate stays between 0 and 1 after any outcomes and times', () => {
    const step = fc.record({
      successes: fc.nat(5000),
      failures: fc.integer({ min: -5000, max: 5000 }),
      started: fc.integer({ min: -50, max: 50 }),
      hours: fc.integer({ min: -1, max: 24_000 }),
    });
    forAll(100, fc.array(step, { maxLength: 20 }), (steps) => {
      let memory = EMPTY;
      for (const { successes, failures, started, hours } of steps) {
        memory = later(at(memory, started, successes, failures), hours);
      }
      const { rate, outcomes } = knowledgeOf(memory);
      assert.ok(rate >= 0 && rate <= 1 && outcomes > 0, `${rate} ${outcomes}`);
    });
  });
});
