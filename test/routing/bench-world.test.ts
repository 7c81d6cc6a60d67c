import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import type { BenchOutcome, BenchPayment, World } from '../../bench/routing/contender.ts';
import { type Environment, environmentOf, POTENTIAL } from '../../bench/routing/world/environment.ts';
import { feedbackQueue } from '../../bench/routing/world/feedback.ts';
import { streamSeed } from '../../bench/routing/world/random.ts';
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

const ALL: Scenario[] = Object.values(SCENARIOS);

describe('worlds', () => {
  for (const scenario of ALL) {
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

    test(`${scenario.name}: no outcome is reported before its time, and events are ordered by time`, () => {
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
  }

  test('a world and its contender use independent random streams', () => {
    const seeds = ['arrivals', 'amounts', 'costs', 'rates', 'uniforms', 'delays', 'contender'] as const;
    assert.equal(new Set(seeds.flatMap((purpose) => SEEDS.map((seed) => streamSeed(seed, purpose)))).size, 14);
  });

  test('a declined payment is attempted once more on another route, after its decline', () => {
    const environment = environmentOf(SCENARIOS.PAY, 501, PAYMENTS);
    environment.potential.fill(POTENTIAL.handoffError);
    environment.delaySeconds.fill(0.5);
    const { chosen, outcomes } = play(environment, 0, { failover: true });
    const again = chosen.filter((choice) => choice.again);
    assert.equal(again.length, PAYMENTS);
    assert.ok(again.every(({ arm, payment }) => arm === 1 && payment.at === environment.at[payment.number]! + 0.5));
    assert.equal(outcomes.filter(({ handoffError }) => handoffError).length, 2 * PAYMENTS);
  });

  test('a failure other than a decline is not attempted again', () => {
    const environment = environmentOf(SCENARIOS.PAY, 501, PAYMENTS);
    environment.potential.fill(POTENTIAL.routeFailure);
    assert.equal(play(environment, 0, { failover: true }).chosen.length, PAYMENTS);
  });
});

describe('the queue of outcomes', () => {
  test('returns outcomes by time, and outcomes of the same time in insertion order', () => {
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
