import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { formatUsd } from '../../src/checkout/money-text.ts';

test('cents are formatted as dollars with two decimals and commas', () => {
  const examples: [number, string][] = [
    [1, '$0.01'],
    [99_999, '$999.99'],
    [100_000, '$1,000.00'],
    [Number.MAX_SAFE_INTEGER, '$90,071,992,547,409.91'],
  ];
  for (const [cents, text] of examples) assert.equal(formatUsd(cents), text);
});

test('the text of any amount parses to the same cents', () => {
  fc.assert(
    fc.property(fc.maxSafeNat(), (cents) => {
      const text = formatUsd(cents);
      assert.match(text, /^\$\d{1,3}(,\d{3})*\.\d\d$/);
      assert.equal(BigInt(text.replace(/[$,.]/g, '')), BigInt(cents));
    }),
  );
});

test('a value that is not an amount of cents throws instead of being rounded', () => {
  for (const wrong of [0.5, -1, NaN, Infinity, 2 ** 53]) assert.throws(() => formatUsd(wrong), RangeError);
});
