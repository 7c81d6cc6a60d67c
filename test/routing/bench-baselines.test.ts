import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { BASELINES, DECISION_ENGINE_BY_VALUE } from '../../bench/routing/baselines/all.ts';
import { attributed, unattributed } from '../../bench/routing/baselines/attribution.ts';
import { bucketFor, exploreShareFor } from '../../bench/routing/baselines/calibration.ts';
import { GREEDY } from '../../bench/routing/baselines/counting.ts';
import { decisionEngine } from '../../bench/routing/baselines/decision-engine.ts';
import { elimination } from '../../bench/routing/baselines/elimination.ts';
import { CHEAPEST, ORACLE_BY_VALUE, STATIC_PRIORITY } from '../../bench/routing/baselines/fixed.ts';
import type { BenchOutcome, Contender, World } from '../../bench/routing/contender.ts';
import { environmentOf } from '../../bench/routing/world/environment.ts';
import { SCENARIOS } from '../../bench/routing/world/scenarios.ts';
import type { Entry } from '../../bench/routing/world/simulate.ts';

const DRAWS = 40_000;
const TRUTH = environmentOf(SCENARIOS.GM11, 1, 10);

function worldWith(arms: number, more: Partial<World> = {}): World {
  const ids = Array.from({ length: arms }, (_, arm) => arm);
  return { arms, costs: ids.map(() => 0.02), priorityAtStart: ids, seed: 5, margin: Infinity, ...more };
}

function outcomeOf(arm: number, result: BenchOutcome['result'], at = 0, number = 0): BenchOutcome {
  return { arm, result, at, payment: { number, at, amount: 50 }, handoffError: false };
}

/** A contender of `arms` arms that has learned outcomes such as '0+' and '1-', in order. */
function taught(entry: Entry, outcomes: readonly string[], arms = 2): Contender {
  const contender = entry.create(worldWith(arms), TRUTH);
  for (const [arm, sign] of outcomes) contender.learn(outcomeOf(Number(arm), sign === '+' ? 'paid' : 'route_failure'));
  return contender;
}

function choiceOf(contender: Contender, at = 0): number {
  return contender.choose({ number: 0, at, amount: 50 });
}

/** Share of many decisions that choose the arm. */
function shareOf(contender: Contender, arm: number): number {
  let chosen = 0;
  for (let draw = 0; draw < DRAWS; draw += 1) if (choiceOf(contender) === arm) chosen += 1;
  return chosen / DRAWS;
}

function assertNear(actual: number, expected: number, tolerance: number): void {
  assert.ok(Math.abs(actual - expected) <= tolerance, `${actual}, expected ${expected} ± ${tolerance}`);
}

function times(count: number, outcome: string): string[] {
  return Array.from({ length: count }, () => outcome);
}

// benchmark.test.ts repeats the published figures of each baseline; these tests cover decisions that those worlds do not need.
describe('decision-engine', () => {
  test('a route is eliminated after 21 failures in a row, and returns with successes or after 9,000 s', () => {
    // 0.95 ** 20 = 0.358 and 0.95 ** 21 = 0.341, around 0.35.
    const downtime = elimination(1, 0.35);
    for (let failure = 0; failure < 20; failure += 1) downtime.add(0, 0, 10);
    assert.equal(downtime.isOut(0, 10), false);
    downtime.add(0, 0, 10);
    assert.equal(downtime.isOut(0, 10), true);
    assert.equal(downtime.isOut(0, 9011), false);
    downtime.add(0, 1, 11);
    assert.equal(downtime.isOut(0, 11), false);
  });

  test('an eliminated route has a fifth of its score', () => {
    const options = { bucket: 1000, exploreShare: 0 };
    const outcomes = [...times(30, '0-'), ...times(500, '1-').flatMap((failure) => [failure, '1+'])];
    assert.equal(choiceOf(taught(decisionEngine('plain', options), outcomes)), 0);
    // 0.97 / 5 is less than 0.5.
    assert.equal(choiceOf(taught(decisionEngine('out', { ...options, eliminationThreshold: 0.35 }), outcomes)), 1);
  });

  test('bucket size and exploration rate follow the volume of the last hour', () => {
    assert.equal(bucketFor(3600, 5), 150);
    assertNear(exploreShareFor(150, 3600, 5), (150 / 3600) * 4, 1e-9);
    assert.equal(bucketFor(72_000, 5), 675);
    assertNear(exploreShareFor(675, 72_000, 5), 0.04, 1e-9);
    assert.equal(bucketFor(100, 2), 100);
    assertNear(exploreShareFor(100, 100, 2), 0.3, 1e-9);
    assert.equal(bucketFor(10_000_000, 2), 2000);
  });

  test('by value, a cheaper route of the same score wins', () => {
    const world = worldWith(2, { margin: 0.15, costs: [0.034, 0.012] });
    const contender = DECISION_ENGINE_BY_VALUE.create(world, TRUTH);
    assertNear(shareOf(contender, 1), 0.975, 0.005);
    // 0.116 against 0.138 * 105 / 125 = 0.1159.
    for (let failure = 0; failure < 20; failure += 1) contender.learn(outcomeOf(1, 'route_failure'));
    assertNear(shareOf(contender, 0), 0.975, 0.005);
  });

  test('with attribution, a buyer’s failure does not count against the route', () => {
    const options = { bucket: 125, exploreShare: 0 };
    const after = (entry: Entry): number => {
      const contender = taught(entry, ['1-']);
      for (let failure = 0; failure < 9; failure += 1) contender.learn(outcomeOf(0, 'buyer_failure'));
      return choiceOf(contender);
    };
    assert.equal(after(decisionEngine('plain', options)), 1);
    assert.equal(after(decisionEngine('attributed', { ...options, attributes: true })), 0);
    assert.equal(after(attributed(GREEDY)), 0);
    assert.equal(after(unattributed(decisionEngine('attributed', { ...options, attributes: true }))), 1);
  });
});

describe('contenders that do not learn', () => {
  test('static priority takes its first route, or the second if the first is excluded', () => {
    const contender = STATIC_PRIORITY.create(worldWith(3, { priorityAtStart: [2, 0, 1] }), TRUTH);
    const payment = { number: 0, at: 0, amount: 1 };
    assert.deepEqual([contender.choose(payment), contender.choose(payment, new Set([2]))], [2, 0]);
  });

  test('the oracle by value weighs true success rate and cost; the cheapest-route baseline weighs only cost', () => {
    const payment = { number: 0, at: 0, amount: 1 };
    const world = worldWith(3, { margin: 0.15, costs: [0.05, 0.01, 0.02] });
    // 0.5 * 0.10, 0.3 * 0.14 and 0.4 * 0.13.
    assert.equal(ORACLE_BY_VALUE.create(world, TRUTH).choose(payment), 2);
    assert.equal(CHEAPEST.create(world, TRUTH).choose(payment), 1);
  });

  test('no baseline chooses an excluded route', () => {
    const payment = { number: 0, at: 0, amount: 1 };
    for (const entry of [...BASELINES, CHEAPEST, ORACLE_BY_VALUE]) {
      const contender = entry.create(worldWith(3, { margin: 1 }), TRUTH);
      for (let call = 0; call < 50; call += 1) {
        assert.equal(contender.choose(payment, new Set([0, 2])), 1, entry.name);
      }
    }
  });
});
