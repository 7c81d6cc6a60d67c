import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ArmCounts, resultOf } from '../../src/domain/experiment.ts';

const PLAN = { share: 50, minimumSample: 500 };

const counts = (variant: number, router: number, sessions = 1000): ArmCounts[] => [
  { arm: 'router', sessions, paid: router, cost: router * 29_000 },
  { arm: 'variant', sessions, paid: variant, cost: variant * 18_500 },
];

test('the verdict of an experiment follows from its interval, once both arms have the minimum sample', () => {
  for (const [arms, verdict] of [
    [[], 'too_small'],
    [counts(400, 100, 499), 'too_small'],
    [counts(400, 100, 500), 'better'],
    [counts(950, 850), 'better'],
    [counts(850, 950), 'worse'],
    [counts(900, 905), 'no_difference_shown'],
  ] as const) {
    assert.equal(resultOf(arms, PLAN, 0).verdict, verdict, JSON.stringify(arms));
  }
});

test('the result of an experiment has the rates, the mean costs and the difference in points', () => {
  const { low, high, ...result } = resultOf(counts(850, 950), PLAN, 7);
  assert.deepEqual(result, {
    arms: [
      { arm: 'variant', sessions: 1000, paid: 850, rate: 0.85, cost: 18_500 },
      { arm: 'router', sessions: 1000, paid: 950, rate: 0.95, cost: 29_000 },
    ],
    difference: -10,
    verdict: 'worse',
    until: 7,
  });
  assert.ok(-15 < low && low < -10 && -10 < high && high < -5, `${low} ${high}`);
  const none = { rate: null, cost: null, sessions: 0, paid: 0 };
  assert.deepEqual(resultOf([], PLAN, 7), {
    arms: [
      { arm: 'variant', ...none },
      { arm: 'router', ...none },
    ],
    difference: null,
    low: -100,
    high: 100,
    verdict: 'too_small',
    until: 7,
  });
});
