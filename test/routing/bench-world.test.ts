import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { BASELINES } from '../../bench/routing/baselines/all.ts';
import { ORACLE, RANDOM } from '../../bench/routing/baselines/fixed.ts';
import type { BenchOutcome, BenchPayment, World } from '../../bench/routing/contender.ts';
import { gapCaptured, figuresOf, measure } from '../../bench/routing/report/measure.ts';
import { type Environment, environmentOf, POTENTIAL } from '../../bench/routing/world/environment.ts';
import { feedbackQueue } from '../../bench/routing/world/feedback.ts';
import { mixed, randomStream, streamSeed } from '../../bench/routing/world/random.ts';
import { armLife, OUTAGE, type RatesInput } from '../../bench/routing/world/rates.ts';
import { type Scenario, SCENARIOS } from '../../bench/routing/world/scenarios.ts';
import { type Entry, type RunOptions, simulate } from '../../bench/routing/world/simulate.ts';

const SEEDS = [501, 502];
const PAYMENTS = 1500;

interface Seen {
  chosen: { payment: BenchPayment; arm: number; again: boolean }[];
  outcomes: BenchOutcome[];
}

/** A contender that always chooses the same arm and records all events; `onEvent` gets the time of each. */
function recorder(arm: number, onEvent: (outcome: BenchOutcome | undefined, now: number) => void = () => {}) {
  const seen: Seen = { chosen: [], outcomes: [] };
  const entry: Entry = {
    name: 'recorder',
    create: ({ arms }: World) => ({
      choose(payment, excluded) {
        const other = excluded?.has(arm) ? (arm + 1) % arms : arm;
        seen.chosen.push({ payment, arm: other, again: excluded !== undefined });
        onEvent(undefined, payment.at);
        return other;
      },
      learn(outcome) {
        seen.outcomes.push(outcome);
        onEvent(outcome, outcome.at);
      },
    }),
  };
  return { entry, seen };
}

function play(environment: Environment, arm: number, options: RunOptions = {}): Seen {
  const { entry, seen } = recorder(arm);
  simulate(environment, entry, options);
  return seen;
}

function mean(values: Iterable<number>): number {
  let [sum, count] = [0, 0];
  for (const value of values) [sum, count] = [sum + value, count + 1];
  return sum / count;
}

function assertNear(actual: number, expected: number, tolerance: number, what: string): void {
  assert.ok(Math.abs(actual - expected) <= tolerance, `${what}: ${actual}, expected ${expected} ± ${tolerance}`);
}

const ALL: Scenario[] = Object.values(SCENARIOS);

describe('worlds', () => {
  for (const scenario of ALL) {
    test(`${scenario.name}: the same seed gives the same world, and equal choices get equal outcomes`, () => {
      const [one, again, other] = [501, 501, 502].map((seed) => environmentOf(scenario, seed, PAYMENTS));
      assert.deepEqual(one, again);
      assert.notDeepEqual(one!.potential, other!.potential);
      assert.deepEqual(play(one!, 1), play(one!, 1));
    });

    test(`${scenario.name}: earlier choices do not change the outcome of a payment on a route`, () => {
      const environment = environmentOf(scenario, 501, PAYMENTS);
      const zero = new Map(play(environment, 0).outcomes.map((outcome) => [outcome.payment.number, outcome]));
      const mixture: BenchOutcome[] = [];
      const alternating: Entry = {
        name: 'alternating',
        create: () => ({
          choose: ({ number }) => number % 2,
          learn: (outcome) => void mixture.push(outcome),
        }),
      };
      simulate(environment, alternating);
      const shared = mixture.filter(({ arm }) => arm === 0);
      assert.ok(shared.length > PAYMENTS / 3);
      for (const outcome of shared) assert.deepEqual(outcome, zero.get(outcome.payment.number));
    });

    test(`${scenario.name}: no outcome is reported before its time, and events are in the order of time`, () => {
      const environment = environmentOf(scenario, 501, PAYMENTS);
      let latest = 0;
      const { entry, seen } = recorder(0, (_outcome, now) => {
        assert.ok(now >= latest, `${now} after ${latest}`);
        latest = now;
      });
      simulate(environment, entry);
      for (const { payment, arm, at } of seen.outcomes) {
        assert.equal(at, payment.at + environment.delaySeconds[payment.number * environment.arms + arm]!);
      }
      assert.equal(seen.outcomes.length, PAYMENTS);
    });

    test(`${scenario.name}: the oracle has no regret, and random choice captures nothing of the gap`, () => {
      const measured = measure(scenario, SEEDS, [ORACLE, RANDOM], { payments: PAYMENTS });
      const [oracle, random] = [ORACLE, RANDOM].map(({ name }) => figuresOf(measured, name));
      assert.deepEqual(oracle!.regret, [0, 0]);
      assert.equal(gapCaptured(measured, random!), 0);
      assert.equal(gapCaptured(measured, oracle!), 1);
      assert.ok(random!.regret.every((regret) => regret > 0));
    });
  }

  test('an environment and a contender draw from different streams', () => {
    const seeds = ['arrivals', 'amounts', 'costs', 'rates', 'uniforms', 'delays', 'contender'] as const;
    assert.equal(new Set(seeds.flatMap((purpose) => SEEDS.map((seed) => streamSeed(seed, purpose)))).size, 14);
  });

  test('every baseline makes the same choices in the same world', () => {
    const environment = environmentOf(SCENARIOS.PAY, 501, PAYMENTS);
    for (const entry of BASELINES) {
      const [one, again] = [0, 1].map(() => {
        const arms: number[] = [];
        simulate(environment, entry, { onChoice: (_payment, arm) => arms.push(arm) });
        return arms;
      });
      assert.deepEqual(one, again, entry.name);
    }
  });

  test('a refused payment has one second attempt, on another route, when the refusal is known', () => {
    const environment = environmentOf(SCENARIOS.PAY, 501, PAYMENTS);
    environment.potential.fill(POTENTIAL.handoffError);
    environment.delaySeconds.fill(0.5);
    const { chosen, outcomes } = play(environment, 0, { failover: true });
    const again = chosen.filter((choice) => choice.again);
    assert.equal(again.length, PAYMENTS);
    assert.ok(again.every(({ arm, payment }) => arm === 1 && payment.at === environment.at[payment.number]! + 0.5));
    assert.equal(outcomes.filter(({ handoffError }) => handoffError).length, 2 * PAYMENTS);
  });

  test('a failure that is not a refusal has no second attempt', () => {
    const environment = environmentOf(SCENARIOS.PAY, 501, PAYMENTS);
    environment.potential.fill(POTENTIAL.routeFailure);
    assert.equal(play(environment, 0, { failover: true }).chosen.length, PAYMENTS);
  });
});

describe('distributions of worlds', () => {
  test('payments arrive at the rate of the scenario, with a median amount of 60 dollars', () => {
    const environment = environmentOf(SCENARIOS.PAYHIGH, 501);
    assertNear(environment.at.at(-1)!, 10_000, 100, 'seconds of 200,000 payments');
    assertNear(environment.amounts.toSorted()[100_000]!, 60, 1, 'median amount');
    assert.ok(environment.amounts.every((amount) => amount <= 10_000));
    assert.deepEqual(
      environment.costs.toSorted((one, other) => one - other),
      [0.012, 0.018, 0.024, 0.029, 0.034],
    );
  });

  test('outcomes are drawn with the probability of the moment, and known after a log-normal delay', () => {
    const { probability, potential, delaySeconds } = environmentOf(SCENARIOS.STATIC, 501);
    const paid = potential.map((kind) => (kind === POTENTIAL.paid ? 1 : 0));
    assertNear(mean(paid), mean(probability), 0.002, 'success rate');
    const logs = Float64Array.from(delaySeconds, Math.log);
    const middle = mean(logs);
    assertNear(Math.exp(middle), 20, 0.2, 'median delay');
    assertNear(Math.sqrt(mean(logs.map((log) => (log - middle) ** 2))), 0.8, 0.01, 'sigma of the delay');
  });

  test('in PAYATTR buyers fail 12 % of the payments that routes accept', () => {
    const { probability, potential } = environmentOf(SCENARIOS.PAYATTR, 501);
    const share = (kind: number) => mean(potential.map((each) => (each === kind ? 1 : 0)));
    assertNear(share(POTENTIAL.buyerFailure) / mean(probability), 0.12, 0.003, 'buyer failures');
    assertNear(share(POTENTIAL.paid) / mean(probability), 0.88, 0.003, 'paid');
    assert.ok(!environmentOf(SCENARIOS.PAY, 501).potential.includes(POTENTIAL.buyerFailure));
  });

  test('failures of a hard outage are known after half a second, those of a soft one after a minute or more', () => {
    const delaysIn = (kind: number): Float64Array => {
      const rates = ({ arms, at }: RatesInput) => ({
        probability: new Float64Array(at.length * arms),
        outage: new Uint8Array(at.length * arms).fill(kind),
      });
      const { potential, delaySeconds } = environmentOf({ ...SCENARIOS.PAY, rates }, 501, PAYMENTS);
      const expected = kind === OUTAGE.hard ? POTENTIAL.handoffError : POTENTIAL.routeFailure;
      assert.ok(potential.every((each) => each === expected));
      return delaySeconds;
    };
    assert.ok(delaysIn(OUTAGE.hard).every((seconds) => seconds === 0.5));
    assert.ok(delaysIn(OUTAGE.soft).every((seconds) => seconds >= 60));
    assertNear(mean(delaysIn(OUTAGE.soft)), 120, 2, 'mean delay of a soft failure');
    assertNear(delaysIn(OUTAGE.none).toSorted()[(PAYMENTS * 5) / 2]!, 20, 0.5, 'median of the others');
  });

  test('a route has the drift, the degradations and the outages of the specification', () => {
    const cells = 60_000;
    const fixed = [0.87, 0.87] as const;
    const lives = Array.from({ length: 20 }, (_, arm) =>
      armLife(randomStream(arm), cells, { start: fixed, shifted: fixed }),
    );
    const outages = lives.flatMap(({ outage }) => Array.from(outage));
    // Outages: 10 exp(0.8 ** 2 / 2) minutes in the mean, 16 hours of none between them.
    const outageHours = (10 * Math.exp(0.8 ** 2 / 2)) / 60;
    const share = mean(outages.map((kind) => (kind === OUTAGE.none ? 0 : 1)));
    assertNear(share, outageHours / (16 + outageHours), 0.0015, 'share of time in outage');
    const hard = mean(outages.filter((kind) => kind !== OUTAGE.none).map((kind) => (kind === OUTAGE.hard ? 1 : 0)));
    assertNear(hard, 0.5, 0.06, 'share of outages that are hard');

    const rates = Float64Array.from(lives.flatMap(({ probability }) => Array.from(probability))).toSorted();
    const logitAt = (part: number) => {
      const rate = rates[Math.floor(part * rates.length)]!;
      return Math.log(rate / (1 - rate));
    };
    // A route is disturbed about 6.5 % of the time, at the lowest rates; the quantiles of the rest are above them.
    const wrong = 0.065;
    const healthy = (part: number) => logitAt(wrong + (1 - wrong) * part);
    assertNear(healthy(0.5), Math.log(0.87 / 0.13), 0.03, 'median of the logit');
    assertNear(healthy(0.8413) - healthy(0.5), 0.25, 0.03, 'deviation of the drift');
    assertNear(mean(rates.map((rate) => (rate < 0.2 ? 1 : 0))), share, 0.002, 'share of time below 20 %');
    assertNear(mean(rates.map((rate) => (rate < 0.75 ? 1 : 0))), wrong, 0.02, 'share of time when something is wrong');
  });

  test('bases start and shift within their bounds', () => {
    const bounds = { start: [0.93, 0.931], shifted: [0.5, 0.51] } as const;
    const lives = Array.from({ length: 300 }, (_, arm) => armLife(randomStream(arm), 1441, bounds));
    const share = (cell: number) => mean(lives.map(({ probability }) => (probability[cell]! > 0.8 ? 1 : 0)));
    // 12 hours later e ** -1 of the bases are what they were.
    assertNear(share(0), 1, 0.05, 'at the start');
    assertNear(share(1440), Math.exp(-1) * share(0), 0.09, 'after 12 hours');
  });

  test('SWITCH draws all routes anew about every 2,000 payments, from 60 to 95 %', () => {
    const { probability, arms, payments } = environmentOf(SCENARIOS.SWITCH, 501);
    let changes = 0;
    for (let index = arms; index < probability.length; index += arms) {
      if (probability[index] !== probability[index - arms]) changes += 1;
    }
    assertNear(changes, payments / 2000, 15, 'changes');
    assert.ok(probability.every((rate) => rate >= 0.6 && rate < 0.95));
  });

  test('GM11 is the published example, and the seed rotates the five rates of STATIC', () => {
    const gm11 = environmentOf(SCENARIOS.GM11, 501);
    const ratesAt = (payment: number) => Array.from(gm11.probability.slice(payment * 3, payment * 3 + 3));
    assert.deepEqual(
      [0, 2999, 3000, 4999, 5000].map((payment) => ratesAt(payment)[2]),
      [0.4, 0.4, 0.9, 0.9, 0.4],
    );
    assert.deepEqual(ratesAt(9999).slice(0, 2), [0.5, 0.3]);
    const firstOf = (seed: number) => Array.from(environmentOf(SCENARIOS.STATIC, seed, 1).probability);
    assert.deepEqual(firstOf(500), [0.9, 0.885, 0.87, 0.85, 0.8]);
    assert.deepEqual(firstOf(501), [0.885, 0.87, 0.85, 0.8, 0.9]);
  });
});

describe('random numbers', () => {
  test('the finalizer gives the published values of MurmurHash3', () => {
    assert.deepEqual([0, 1, 2].map(mixed), [0, 0x514e28b7, 0x30f4c306]);
  });

  test('uniform, normal and exponential numbers have their moments', () => {
    const random = randomStream(7);
    const many = (draw: () => number) => Float64Array.from({ length: 200_000 }, draw);
    const uniform = many(random.uniform);
    assertNear(mean(uniform), 0.5, 0.003, 'mean of uniforms');
    assert.ok(uniform.every((value) => value >= 0 && value < 1));
    const normal = many(random.normal);
    assertNear(mean(normal), 0, 0.01, 'mean of normals');
    assertNear(mean(normal.map((value) => value ** 2)), 1, 0.02, 'variance of normals');
    assertNear(mean(many(random.exponential)), 1, 0.01, 'mean of exponentials');
  });
});

describe('the queue of outcomes', () => {
  test('gives the earliest outcome first, and equal times in the order of insertion', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 9 })), (times) => {
        const queue = feedbackQueue<number>();
        for (const [order, at] of times.entries()) queue.add(at, order);
        const expected = [...times.entries()].toSorted((one, other) => one[1] - other[1] || one[0] - other[0]);
        for (const [order, at] of expected) {
          assert.equal(queue.nextAt(), at);
          assert.equal(queue.take(), order);
        }
        assert.equal(queue.nextAt(), Infinity);
        assert.throws(() => queue.take(), /the queue is empty/);
      }),
    );
  });
});
