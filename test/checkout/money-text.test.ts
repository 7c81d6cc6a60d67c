import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { formatUsd } from '../../src/checkout/money-text.ts';

test('cents read as dollars with two decimals and commas', () => {
  const examples: [number, string][] = [
    [0, '$0.00'],
    [1, '$0.01'],
    [10, '$0.10'],
    [99, '$0.99'],
    [100, '$1.00'],
    [4999, '$49.99'],
    [99_999, '$999.99'],
    [100_000, '$1,000.00'],
    [123_456, '$1,234.56'],
    [100_000_000, '$1,000,000.00'],
    [Number.MAX_SAFE_INTEGER, '$90,071,992,547,409.91'],
  ];
  for (const [cents, text] of examples) assert.equal(formatUsd(cents), text);
});

test('the text of any amount reads back as the same cents', () => {
  fc.assert(
    fc.property(fc.maxSafeNat(), (cents) => {
      const text = formatUsd(cents);
      assert.match(text, /^\$\d{1,3}(,\d{3})*\.\d\d$/);
      assert.equal(BigInt(text.replace(/[$,.]/g, '')), BigInt(cents));
    }),
  );
});

test('what is no amount of cents is refused, not rounded', () => {
  for (const wrong of [0.5, -1, NaN, Infinity, 2 ** 53]) assert.throws(() => formatUsd(wrong), RangeError);
});
