import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import {
  amountFromCents,
  centsFromAmount,
  formatUsd,
  fractionFromPpm,
  ppmFromFraction,
  shareOf,
} from '../../src/domain/money.ts';
import { runs } from '../support/for-all.ts';

const anyCents = fc.integer({ min: 0, max: 100_000_000 });
const anyRate = fc.integer({ min: 0, max: 1_000_000 });

test('an amount with at most two decimals is converted to whole cents', () => {
  const cases: [number, number][] = [
    [0, 0],
    [0.01, 1],
    [0.29, 29],
    [1.1, 110],
    [49.99, 4999],
    [1.005e3, 100_500],
    [9999.99, 999_999],
    [10_000, 1_000_000],
    [1_000_000, 100_000_000],
    [135_855_377.48, 13_585_537_748],
  ];
  for (const [amount, cents] of cases) assert.equal(centsFromAmount(amount), cents, String(amount));
});

test('floating-point rounding errors in sums of amounts do not change the cents', () => {
  assert.equal(centsFromAmount(0.1 + 0.2), 30);
  assert.equal(centsFromAmount(1.1 * 3), 330);
  assert.equal(centsFromAmount(4.35 * 100), 43_500);
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 10_000 }), { minLength: 1, maxLength: 20 }), (parts) => {
      const sum = parts.reduce((total, cents) => total + cents / 100, 0);
      assert.equal(
        centsFromAmount(sum),
        parts.reduce((total, cents) => total + cents, 0),
      );
    }),
  );
});

test('an amount within a millionth of a cent of a whole cent is accepted, any other is rejected', () => {
  assert.equal(centsFromAmount(0.01 + 0.9e-8), 1);
  assert.equal(centsFromAmount(0.01 - 0.9e-8), 1);
  assert.equal(centsFromAmount(0.01 + 1.1e-8), undefined);
  assert.equal(centsFromAmount(0.01 - 1.1e-8), undefined);
});

test('an amount with a fraction of a cent is rejected', () => {
  for (const amount of [0.001, 0.005, 0.009, 1.234, 49.999, 9999.995]) {
    assert.equal(centsFromAmount(amount), undefined, String(amount));
  }
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1_000_000_000 }), (mills) => {
      assert.equal(centsFromAmount(mills / 1000), mills % 10 === 0 ? mills / 10 : undefined);
    }),
  );
});

test('NaN, infinite and too large amounts are rejected', () => {
  for (const amount of [Number.NaN, Infinity, -Infinity, 1e15, Number.MAX_VALUE]) {
    assert.equal(centsFromAmount(amount), undefined, String(amount));
  }
});

test('cents are unchanged after conversion to a JSON number and back', () => {
  fc.assert(
    fc.property(anyCents, (cents) => {
      const json = JSON.stringify(amountFromCents(cents));
      assert.match(json, /^\d+(\.\d{1,2})?$/);
      assert.equal(centsFromAmount(Number(json)), cents);
    }),
  );
});

test('a share of an amount is rounded half up to a whole cent', () => {
  assert.equal(shareOf(10_000, 29_000), 290);
  assert.equal(shareOf(4999, 29_000), 145);
  assert.equal(shareOf(500, 29_000), 15, '14.5 rounds up');
  assert.equal(shareOf(100, 4_999), 0, '0.4999 rounds down');
  assert.equal(shareOf(100, 5_000), 1, '0.5 rounds up');
  assert.equal(shareOf(1, 499_999), 0);
  assert.equal(shareOf(1, 500_000), 1);
  assert.equal(shareOf(0, 1_000_000), 0);
  assert.equal(shareOf(123, 0), 0);
});

test('a share of an amount equals the result of BigInt arithmetic', () => {
  fc.assert(
    fc.property(anyCents, anyRate, (cents, rate) => {
      const exact = (BigInt(cents) * BigInt(rate) + 500_000n) / 1_000_000n;
      assert.equal(shareOf(cents, rate), Number(exact));
    }),
    { numRuns: runs(800) },
  );
});

test('a rate converts between a fraction and parts per million without loss', () => {
  assert.equal(ppmFromFraction(0.029), 29_000);
  assert.equal(fractionFromPpm(29_000), 0.029);
  assert.equal(ppmFromFraction(0.0349), 34_900);
  fc.assert(fc.property(anyRate, (rate) => assert.equal(ppmFromFraction(fractionFromPpm(rate)), rate)));
});

test('cents are formatted as dollars with two decimals and commas', () => {
  const examples: [number, string][] = [
    [1, '$0.01'],
    [99_999, '$999.99'],
    [100_000, '$1,000.00'],
    [Number.MAX_SAFE_INTEGER, '$90,071,992,547,409.91'],
  ];
  for (const [cents, text] of examples) assert.equal(formatUsd(cents), text);
});

test('a formatted amount parses to the same cents', () => {
  fc.assert(
    fc.property(fc.maxSafeNat(), (cents) => {
      const text = formatUsd(cents);
      assert.match(text, /^\$\d{1,3}(,\d{3})*\.\d\d$/);
      assert.equal(BigInt(text.replace(/[$,.]/g, '')), BigInt(cents));
    }),
  );
});

test('formatting a value that is not a whole, non-negative number of cents throws', () => {
  for (const wrong of [0.5, -1, NaN, Infinity, 2 ** 53]) assert.throws(() => formatUsd(wrong), RangeError);
});
