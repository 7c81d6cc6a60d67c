import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { differenceSequence, wilsonInterval } from '../../src/domain/statistics.ts';
import { type SeededRandom, createSeededRandom } from '../faults/random.ts';
import { forAll } from '../support/for-all.ts';

const trialsAndSuccesses = fc
  .integer({ min: 0, max: 5000 })
  .chain((trials) => fc.tuple(fc.constant(trials), fc.integer({ min: 0, max: trials })));

test('a Wilson interval has the published limits and contains the observed share', () => {
  // Newcombe 1998, table I: 81 of 263, 15 of 148, 0 of 20 and 1 of 29.
  for (const [successes, trials, low, high] of [
    [81, 263, 0.2553, 0.3662],
    [15, 148, 0.0624, 0.1605],
    [0, 20, 0, 0.1611],
    [1, 29, 0.0061, 0.1718],
  ] as const) {
    const found = wilsonInterval(successes, trials);
    assert.deepEqual(
      [found.low, found.high].map((share) => Number(share.toFixed(4))),
      [low, high],
    );
  }
  forAll(300, trialsAndSuccesses, ([trials, successes]) => {
    const { low, high } = wilsonInterval(successes, trials);
    assert.ok(low >= 0 && high <= 1 && low <= high);
    if (trials > 0) assert.ok(low <= successes / trials && successes / trials <= high);
  });
});

/** Looks at a simulated experiment after every session until the interval excludes 0; undefined if it never does. */
function firstExclusion(
  random: SeededRandom,
  {
    share,
    rates,
    narrowestAt,
    sessions,
  }: { share: number; rates: [number, number]; narrowestAt: number; sessions: number },
) {
  const arms = rates.map(() => ({ successes: 0, trials: 0 }));
  for (let session = 1; session <= sessions; session++) {
    const arm = random.chance(share) ? 0 : 1;
    arms[arm]!.trials++;
    if (random.chance(rates[arm])) arms[arm]!.successes++;
    const { low, high } = differenceSequence(arms[0]!, arms[1]!, narrowestAt);
    if (low > 0 || high < 0) return { session, low, high };
  }
  return undefined;
}

describe('the confidence sequence of a difference', () => {
  for (const [share, rate] of [
    [0.1, 0.5],
    [0.1, 0.9],
    [0.1, 0.97],
    [0.5, 0.5],
    [0.5, 0.9],
  ] as const) {
    test(`excludes 0 in fewer than 5 % of experiments without a difference: share ${share}, success rate ${rate}`, () => {
      const random = createSeededRandom(20, 0);
      const experiment = { share, rates: [rate, rate] as [number, number], narrowestAt: 100 / share };
      const count = 600;
      const wrong = Array.from({ length: count }, () =>
        firstExclusion(random, { ...experiment, sessions: 1000 / share }),
      ).filter((found) => found !== undefined);
      assert.ok(wrong.length < 0.05 * count, `${wrong.length} of ${count}`);
    });
  }

  test('finds a real difference, with its sign, near the number of trials for which it is narrowest', () => {
    const random = createSeededRandom(21, 0);
    for (const rates of [
      [0.8, 0.92],
      [0.92, 0.8],
    ] as [number, number][]) {
      for (let experiment = 0; experiment < 50; experiment++) {
        const found = firstExclusion(random, { share: 0.5, rates, narrowestAt: 1000, sessions: 3000 });
        assert.ok(found, rates.join());
        assert.equal(found.low > 0, rates[0] > rates[1]);
      }
    }
  });

  test('is the whole range without trials, contains the observed difference, and is that of the paper for equal samples', () => {
    const none = { successes: 0, trials: 0 };
    assert.deepEqual(differenceSequence(none, { successes: 3, trials: 4 }, 1000), { low: -1, high: 1 });
    forAll(300, trialsAndSuccesses, trialsAndSuccesses, ([n1, x1], [n0, x0]) => {
      if (n1 === 0 || n0 === 0) return;
      const { low, high } = differenceSequence({ successes: x1, trials: n1 }, { successes: x0, trials: n0 }, 1000);
      const difference = x1 / n1 - x0 / n0;
      assert.ok(-1 <= low && low <= difference && difference <= high && high <= 1);
    });
    // Equation 2 of the paper with a variance of 2 * 500 * (1 / 4) * 2 / 500, 1000 observations and rho = sqrt(8.782 / 1000).
    const half = differenceSequence({ successes: 250, trials: 500 }, { successes: 250, trials: 500 }, 1000);
    assert.deepEqual(
      [half.low, half.high].map((bound) => Number(bound.toFixed(4))),
      [-0.096, 0.096],
    );
  });
});
