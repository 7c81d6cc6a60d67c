import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { wilsonInterval } from '../../src/domain/statistics.ts';
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
