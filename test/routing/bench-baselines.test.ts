import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { BASELINES, DECISION_ENGINE, DECISION_ENGINE_BY_VALUE } from '../../bench/routing/baselines/all.ts';
import { attributed, unattributed } from '../../bench/routing/baselines/attribution.ts';
import { betaDraw } from '../../bench/routing/baselines/beta.ts';
import { bucketFor, calibration, exploreShareFor } from '../../bench/routing/baselines/calibration.ts';
import {
  discountedThompson,
  discountedUpperBound,
  discountedWindowThompson,
  GREEDY,
  GREEDY_RECENT,
  THOMPSON,
  windowedThompson,
  windowedUpperBound,
} from '../../bench/routing/baselines/counting.ts';
import { discountedCounts, windowedCounts, windowedCountsByArm } from '../../bench/routing/baselines/counts.ts';
import { decisionEngine } from '../../bench/routing/baselines/decision-engine.ts';
import { blockScore } from '../../bench/routing/baselines/dynamo.ts';
import { elimination, overdueAfter } from '../../bench/routing/baselines/elimination.ts';
import { CHEAPEST, ORACLE_BY_VALUE, RANDOM, STATIC_PRIORITY } from '../../bench/routing/baselines/fixed.ts';
import { scoreWindow } from '../../bench/routing/baselines/score-window.ts';
import type { BenchOutcome, Contender, World } from '../../bench/routing/contender.ts';
import { environmentOf } from '../../bench/routing/world/environment.ts';
import { randomStream } from '../../bench/routing/world/random.ts';
import { SCENARIOS } from '../../bench/routing/world/scenarios.ts';
import { type Entry, worldOf } from '../../bench/routing/world/simulate.ts';

const DRAWS = 40_000;
const TRUTH = environmentOf(SCENARIOS.GM11, 1, 10);

function worldWith(arms: number, more: Partial<World> = {}): World {
  const ids = Array.from({ length: arms }, (_, arm) => arm);
  return { arms, costs: ids.map(() => 0.02), priorityAtStart: ids, seed: 5, margin: Infinity, ...more };
}

function outcomeOf(arm: number, result: BenchOutcome['result'], at = 0, number = 0): BenchOutcome {
  return { arm, result, at, payment: { number, at, amount: 50 }, handoffError: false };
}

const RESULTS: Record<string, BenchOutcome['result']> = { '+': 'paid', '-': 'route_failure', b: 'buyer_failure' };

/** Teaches outcomes such as '0+', '1-' and '1b', in order. */
function teach(contender: Contender, ...outcomes: string[]): Contender {
  for (const [arm, sign] of outcomes) contender.learn(outcomeOf(Number(arm), RESULTS[sign!]!));
  return contender;
}

function taught(entry: Entry, outcomes: readonly string[], arms = 2): Contender {
  return teach(entry.create(worldWith(arms), TRUTH), ...outcomes);
}

function choiceOf(contender: Contender, excluded?: ReadonlySet<number>): number {
  return contender.choose({ number: 0, at: 0, amount: 50 }, excluded);
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

describe('counts', () => {
  const counters: [name: string, counts: ReturnType<typeof windowedCounts>, successes: number[], failures: number[]][] =
    [
      ['discounting multiplies all counts with each outcome', discountedCounts(2, 0.5), [0.125, 1.5], [0, 0.25]],
      ['a window holds the last outcomes of all arms', windowedCounts(2, 2), [0, 2], [0, 0]],
      ['a window by arm holds the last outcomes of each', windowedCountsByArm(2, 2), [1, 2], [0, 0]],
    ];
  for (const [name, counts, successes, failures] of counters) {
    test(name, () => {
      for (const [arm, sign] of ['0+', '1-', '1+', '1+']) counts.add(Number(arm), Number(sign === '+'));
      assert.deepEqual([Array.from(counts.successes), Array.from(counts.failures)], [successes, failures]);
    });
  }

  test('a beta draw has the mean and the variance of its distribution', () => {
    const random = randomStream(3);
    const draws = Float64Array.from({ length: DRAWS }, () => betaDraw(random, 3, 1));
    const mean = draws.reduce((sum, draw) => sum + draw, 0) / DRAWS;
    // Beta(4, 2): mean 4/6, variance 8 / (36 * 7).
    assertNear(mean, 4 / 6, 0.004);
    assertNear(draws.reduce((sum, draw) => sum + (draw - mean) ** 2, 0) / DRAWS, 8 / 252, 0.001);
  });
});

describe('the choice by counts', () => {
  const windowed = windowedUpperBound(200, 0.5);
  const short = windowedUpperBound(3, 0.05);
  const discounted = discountedUpperBound(0.5, 2);
  const old = ['1+', '1-', ...times(300, '0+'), ...times(60, '0-')];
  const choices: [name: string, entry: Entry, outcomes: string[], arm: number, arms?: number][] = [
    // ln 11 = 2.398: 0.8 + sqrt(0.5 * 2.398 / 10) = 1.146 against 0 + sqrt(0.5 * 2.398 / 1) = 1.095.
    ['SW-UCB prefers 8 of 10 to 0 of 1', windowed, ['1-', ...times(8, '0+'), ...times(2, '0-')], 0],
    // 0.7 + 0.346 = 1.046.
    ['SW-UCB prefers 0 of 1 to 7 of 10', windowed, ['1-', ...times(7, '0+'), ...times(3, '0-')], 1],
    ['SW-UCB avoids a failure in the window', short, ['1-', '0+', '0+'], 0],
    ['SW-UCB tries an arm that left the window', short, ['1-', '0+', '0+', '0+'], 1],
    // n = 1.5: 2 sqrt(0.203 / 0.5) = 1.273 against 1 + 2 sqrt(0.203 / 1) = 1.900.
    ['D-UCB avoids a fresh failure', discounted, ['1-', '0+'], 0],
    // n = 1.75: 2 sqrt(0.280 / 0.25) = 2.116 against 1 + 2 sqrt(0.280 / 1.5) = 1.864.
    ['D-UCB tries an arm whose failure is discounted enough', discounted, ['1-', '0+', '0+'], 1],
    ['greedy takes the best mean', GREEDY, ['0+', '0-', '0-', '1+', '1-'], 1],
    ['greedy takes the best mean of all time', GREEDY, old, 0],
    ['greedy with a memory of a hundred takes the best recent mean', GREEDY_RECENT, old, 1],
    ['greedy tries an arm without outcomes', GREEDY, ['0+', '1+'], 2, 3],
  ];
  for (const [name, entry, outcomes, arm, arms] of choices) {
    test(name, () => assert.equal(choiceOf(taught(entry, outcomes, arms)), arm));
  }
});

describe('Thompson sampling', () => {
  const shares: [name: string, entry: Entry, outcomes: string[], arm: number, share: number][] = [
    // P(Beta(2, 1) > Beta(1, 1)) = 2/3.
    ['prefers the arm with one success', THOMPSON, ['1+'], 1, 2 / 3],
    // P(Beta(2.5, 1) > Beta(1, 1)) = 2.5 / 3.5.
    ['D-TS counts two successes at 0.5 as 1.5', discountedThompson(0.5), ['1+', '1+'], 1, 2.5 / 3.5],
    ['SW-TS uses the window only', windowedThompson(1), ['1+', '1+', '0+'], 0, 2 / 3],
    // P(max of two Beta(2, 1) > max of two Beta(1, 1)): the integral of x ** 2 * 4 x ** 3 is 4/6.
    ['f-dsw TS takes the higher of two draws', discountedWindowThompson(0.999, 50), ['1+'], 1, 4 / 6],
    // Discounted by 0.5: max(Beta(1.5, 1), Beta(2, 1)) against max of two Beta(1, 2). The integral of
    // (2 x - x ** 2) ** 2 * 3.5 x ** 2.5 is 3.5 (4/5.5 - 4/6.5 + 1/7.5).
    ['f-dsw TS discounts one of the two', discountedWindowThompson(0.5, 1), ['1+', '0-'], 1, 0.858],
  ];
  for (const [name, entry, outcomes, arm, share] of shares) {
    test(name, () => assertNear(shareOf(taught(entry, outcomes), arm), share, 0.01));
  }
});

describe('decision-engine', () => {
  test('a score is the mean of the last outcomes, successes at first', () => {
    const window = scoreWindow(4);
    const scores = [0, 0, 1, 0, 0].map((reward) => {
      window.add(reward);
      return window.mean();
    });
    assert.deepEqual(scores, [0.75, 0.5, 0.5, 0.25, 0.25]);
  });

  test('a smaller bucket drops its oldest outcomes, and a larger one fills with new outcomes', () => {
    const window = scoreWindow(4);
    for (const reward of [0, 0, 1, 1]) window.add(reward);
    window.resize(3);
    assert.equal(window.mean(), 2 / 3);
    window.resize(5);
    assert.equal(window.mean(), 2 / 3);
    for (const reward of [1, 1]) window.add(reward);
    assert.equal(window.mean(), 4 / 5);
    window.add(0);
    assert.equal(window.mean(), 4 / 5);
  });

  test('rewriting spreads the failures over the window', () => {
    const window = scoreWindow(125);
    window.rewrite(0.9195);
    assert.equal(window.mean(), 115 / 125);
    for (let place = 0; place < 62; place += 1) window.add(1);
    assertNear(window.mean(), 120 / 125, 0.009);
  });

  test('one failure in 125 makes it choose another route, except for exploring payments', () => {
    // 5 % go to one of five routes drawn by lot.
    assertNear(shareOf(taught(DECISION_ENGINE, ['0-', '1-', '2-', '3-'], 5), 4), 0.95 + 0.05 / 5, 0.005);
  });

  test('the reset lifts a bad route to three deviations below the best', () => {
    const plain = decisionEngine('plain', { bucket: 125, exploreShare: 0 });
    const lifted = decisionEngine('lifted', { bucket: 125, exploreShare: 0, resets: true });
    // Arm 0 is at 116 of 125. Arm 1 fell to 0 and is lifted to 1 - 3 sqrt(0.09 / 125) = 0.9195, 115 of 125, since arm 2
    // was at 1; then arm 2 falls below both, and 40 successes take arm 1 above arm 0, if it was lifted.
    const lift = (entry: Entry): Contender => {
      const contender = taught(entry, [...times(125, '1-'), ...times(9, '0-')], 3);
      choiceOf(contender);
      return teach(contender, ...times(10, '2-'), ...times(40, '1+'));
    };
    assert.equal(choiceOf(lift(plain)), 0);
    assert.equal(choiceOf(lift(lifted)), 1);
  });

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

  test('an attempt is penalised once when it is overdue, and not again when it fails', () => {
    const overdue = overdueAfter(90);
    const payment = { number: 1, at: 10, amount: 5 };
    overdue.start(payment, 2);
    overdue.start({ ...payment, number: 2, at: 11 }, 2);
    assert.equal(overdue.finish(outcomeOf(2, 'paid', 20, 2)), false);
    const penalties: [number, number][] = [];
    for (const now of [99, 100, 500]) overdue.sweep(now, (arm, at) => penalties.push([arm, at]));
    assert.deepEqual(penalties, [[2, 100]]);
    assert.equal(overdue.finish(outcomeOf(2, 'route_failure', 300, 1)), true);
  });

  test('bucket and exploration follow the volume of the last hour', () => {
    assert.equal(bucketFor(3600, 5), 150);
    assertNear(exploreShareFor(150, 3600, 5), (150 / 3600) * 4, 1e-9);
    assert.equal(bucketFor(72_000, 5), 675);
    assertNear(exploreShareFor(675, 72_000, 5), 0.04, 1e-9);
    assert.equal(bucketFor(100, 2), 100);
    assertNear(exploreShareFor(100, 100, 2), 0.3, 1e-9);
    assert.equal(bucketFor(10_000_000, 2), 2000);
  });

  test('calibration runs every quarter of an hour, from a hundred payments on', () => {
    const calibrated = calibration(5, { bucket: 125, exploreShare: 0.05 });
    for (let second = 0; second < 900; second += 10) calibrated.count(second);
    calibrated.count(900);
    assert.equal(calibrated.bucket(), 125);
    for (let second = 901; second < 1799; second += 1) assert.equal(calibrated.count(second), false);
    assert.equal(calibrated.count(1800), true);
    // 90 + 899 payments: 5 sqrt(989 / 4) = 78.6, so the least bucket of 100; its share of 989 is above 30 % / 4.
    assert.equal(calibrated.bucket(), 100);
    assertNear(calibrated.exploreShare(), 0.3, 1e-9);
  });

  test('by value, a cheaper route of the same score wins', () => {
    const world = worldWith(2, { margin: 0.15, costs: [0.034, 0.012] });
    const contender = DECISION_ENGINE_BY_VALUE.create(world, TRUTH);
    assertNear(shareOf(contender, 1), 0.975, 0.005);
    // 0.116 against 0.138 * 105 / 125 = 0.1159.
    assertNear(shareOf(teach(contender, ...times(20, '1-')), 0), 0.975, 0.005);
  });

  test('with attribution, a buyer’s failure does not count against the route', () => {
    const options = { bucket: 125, exploreShare: 0 };
    const attributing = decisionEngine('attributed', { ...options, attributes: true });
    const entries = [decisionEngine('plain', options), attributing, attributed(GREEDY), unattributed(attributing)];
    const choices = entries.map((entry) => choiceOf(taught(entry, ['1-', ...times(9, '0b')])));
    assert.deepEqual(choices, [1, 0, 0, 1]);
  });
});

describe('Hyperswitch dynamo', () => {
  test('a score is that of the last eight blocks of five, and 100 % before five outcomes', () => {
    const score = blockScore();
    const scoreAfter = (count: number, reward: number) => {
      for (let outcome = 0; outcome < count; outcome += 1) score.add(reward);
      return score.score();
    };
    assert.deepEqual([scoreAfter(4, 0), scoreAfter(1, 0), scoreAfter(35, 1), scoreAfter(1, 1)], [1, 0, 35 / 40, 1]);
  });
});

describe('contenders that do not learn', () => {
  test('static priority takes its first route, or the second if the first is excluded', () => {
    const contender = STATIC_PRIORITY.create(worldWith(3, { priorityAtStart: [2, 0, 1] }), TRUTH);
    assert.deepEqual([choiceOf(contender), choiceOf(contender, new Set([2]))], [2, 0]);
  });

  test('the priority is that of the true rates at the start', () => {
    assert.deepEqual(worldOf(TRUTH).priorityAtStart, [0, 2, 1]);
  });

  test('random choice takes each arm equally often', () => {
    const contender = RANDOM.create(worldWith(4), TRUTH);
    for (const arm of [0, 1, 2, 3]) assertNear(shareOf(contender, arm), 0.25, 0.01);
  });

  test('the oracle by value compares true rates and costs, the cheapest contender only costs', () => {
    const world = worldWith(3, { margin: 0.15, costs: [0.05, 0.01, 0.02] });
    // 0.5 * 0.10, 0.3 * 0.14 and 0.4 * 0.13.
    assert.equal(choiceOf(ORACLE_BY_VALUE.create(world, TRUTH)), 2);
    assert.equal(choiceOf(CHEAPEST.create(world, TRUTH)), 1);
  });

  test('no baseline chooses an excluded route', () => {
    for (const entry of [...BASELINES, CHEAPEST, ORACLE_BY_VALUE]) {
      const contender = entry.create(worldWith(3, { margin: 1 }), TRUTH);
      for (let call = 0; call < 50; call += 1) assert.equal(choiceOf(contender, new Set([0, 2])), 1, entry.name);
    }
  });
});
