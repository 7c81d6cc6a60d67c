import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { splitFees } from '../../src/domain/fees.ts';

const anyAmount = fc.oneof(
  fc.integer({ min: 1, max: 1_000_000 }),
  // Multiples of a dollar meet the halves that common rates make.
  fc.integer({ min: 1, max: 10_000 }).map((dollars) => dollars * 100),
  fc.constantFrom(1, 2, 99, 100, 101, 999_999, 1_000_000),
);
const anyRate = fc.oneof(
  fc.integer({ min: 0, max: 500_000 }),
  fc.constantFrom(0, 1, 2_500, 5_000, 29_000, 34_900, 500_000),
);

const EXAMPLES: [name: string, amount: number, buyerFeeRate: number, gatewayFeeRate: number, parts: number[]][] = [
  [
    'fees come from the amount and the rates, and the total is what the buyer pays',
    10_000,
    5_000,
    20_000,
    [50, 200, 9_800, 10_050],
  ],
  [
    'both fees are rounded half up, and the merchant gets the rest of the amount',
    500,
    1_000,
    29_000,
    [1, 15, 485, 501],
  ],
  ['a cent is never split', 1, 5_000, 29_000, [0, 0, 1, 1]],
  ['a route without rates leaves the merchant everything', 4999, 0, 0, [0, 0, 4999, 4999]],
];
for (const [name, amount, buyerFeeRate, gatewayFeeRate, parts] of EXAMPLES) {
  test(name, () => {
    const { buyerFee, gatewayFee, merchantNet, total } = splitFees(amount, { buyerFeeRate, gatewayFeeRate });
    assert.deepEqual([buyerFee, gatewayFee, merchantNet, total], parts);
  });
}

test('the parts sum to the total, to the cent, always', () => {
  fc.assert(
    fc.property(anyAmount, anyRate, anyRate, (amount, buyerFeeRate, gatewayFeeRate) => {
      const split = splitFees(amount, { buyerFeeRate, gatewayFeeRate });
      assert.equal(split.buyerFee + split.gatewayFee + split.merchantNet, split.total);
      assert.equal(split.total, amount + split.buyerFee);
      for (const part of Object.values(split)) assert.ok(Number.isSafeInteger(part) && part >= 0);
    }),
    { numRuns: 800 },
  );
});

test('no fee is more than half a cent from its exact share', () => {
  fc.assert(
    fc.property(anyAmount, anyRate, anyRate, (amount, buyerFeeRate, gatewayFeeRate) => {
      const split = splitFees(amount, { buyerFeeRate, gatewayFeeRate });
      assert.ok(Math.abs(split.buyerFee * 1_000_000 - amount * buyerFeeRate) <= 500_000);
      assert.ok(Math.abs(split.gatewayFee * 1_000_000 - amount * gatewayFeeRate) <= 500_000);
    }),
  );
});
