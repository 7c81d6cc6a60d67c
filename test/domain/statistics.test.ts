import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { binomialAtMost, wilsonInterval } from '../../src/domain/statistics.ts';
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

test('the binomial probability is exact', () => {
  assert.equal(binomialAtMost(20, 20, 0.5).toFixed(9), '1.000000000');
  assert.equal(binomialAtMost(0, 3, 0.5).toFixed(9), '0.125000000');
  assert.equal(binomialAtMost(1, 3, 0.5).toFixed(9), '0.500000000');
  assert.equal(binomialAtMost(8, 10, 0.9).toFixed(6), '0.263901');
  forAll(200, trialsAndSuccesses, fc.double({ min: 0.001, max: 0.999, noNaN: true }), ([trials, successes], p) => {
    const [one, more] = [binomialAtMost(successes, trials, p), binomialAtMost(successes + 1, trials, p)];
    assert.ok(one >= 0 && one <= more + 1e-9 && more <= 1);
    // The chance of few successes is the chance of many failures.
    if (successes < trials)
      assert.ok(Math.abs(one - (1 - binomialAtMost(trials - successes - 1, trials, 1 - p))) < 1e-6);
  });
});
