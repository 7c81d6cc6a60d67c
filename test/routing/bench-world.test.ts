import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { BenchOutcome } from '../../bench/routing/contender.ts';
import { type Environment, environmentOf } from '../../bench/routing/world/environment.ts';
import { type Scenario, SCENARIOS } from '../../bench/routing/world/scenarios.ts';
import { type Entry, simulate } from '../../bench/routing/world/simulate.ts';

const PAYMENTS = 1500;

/** Outcomes for a contender that always chooses the first arm; `onEvent` gets the time of each choice and outcome. */
function outcomesOf(environment: Environment, onEvent: (now: number) => void = () => {}): BenchOutcome[] {
  const outcomes: BenchOutcome[] = [];
  const entry: Entry = {
    name: 'recorder',
    create: () => ({
      choose(payment) {
        onEvent(payment.at);
        return 0;
      },
      learn(outcome) {
        outcomes.push(outcome);
        onEvent(outcome.at);
      },
    }),
  };
  simulate(environment, entry);
  return outcomes;
}

describe('worlds', () => {
  for (const scenario of Object.values<Scenario>(SCENARIOS)) {
    test(`${scenario.name}: earlier choices do not change the outcome of a payment on a route`, () => {
      const environment = environmentOf(scenario, 501, PAYMENTS);
      const zero = new Map(outcomesOf(environment).map((outcome) => [outcome.payment.number, outcome]));
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
      const outcomes = outcomesOf(environment, (now) => {
        assert.ok(now >= latest, `${now} after ${latest}`);
        latest = now;
      });
      for (const { payment, arm, at } of outcomes) {
        assert.equal(at, payment.at + environment.delaySeconds[payment.number * environment.arms + arm]!);
      }
      assert.equal(outcomes.length, PAYMENTS);
    });
  }
});
