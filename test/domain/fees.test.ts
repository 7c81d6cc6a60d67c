import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { splitFees } from '../../src/domain/fees.ts';
import { runs } from '../support/for-all.ts';

const anyAmount = fc.oneof(
  fc.integer({ min: 1, max: 1_000_000 }),
  // For whole dollars, common rates often give exactly half a cent.
  fc.integer({ min: 1, max: 10_000 }).map((dollars) => dollars * 100),
  fc.constantFrom(1, 2, 99, 100, 101, 999_999, 1_000_000),
);
const anyRate = fc.oneof(
  fc.integer({ min: 0, max: 500_000 }),
  fc.constantFrom(0, 1, 2_500, 5_000, 29_000, 34_900, 500_000),
);

const EXAMPLES: [name: string, amount: number, buyerFeeRate: number, gatewayFeeRate: number, parts: number[]][] = [
  ['the total is the amount plus the fee of the buyer', 10_000, 5_000, 20_000, [50, 200, 9_800, 10_050]],
  [
    'both fees are rounded half up, and the merchant receives the rest of the amount',
    500,
    1_000,
    29_000,
    [1, 15, 485, 501],
  ],
  ['fees of less than half a cent are zero', 1, 5_000, 29_000, [0, 0, 1, 1]],
  ['the merchant receives the whole amount on a route without fees', 4999, 0, 0, [0, 0, 4999, 4999]],
];
for (const [name, amount, buyerFeeRate, gatewayFeeRate, parts] of EXAMPLES) {
  test(name, () => {
    const { buyerFee, gatewayFee, merchantNet, total } = splitFees(amount, { buyerFeeRate, gatewayFeeRate });
    assert.deepEqual([buyerFee, gatewayFee, merchantNet, total], parts);
  });
}

test('the parts of a fee split sum to the total for every amount and rate', () => {
  fc.assert(
    fc.property(anyAmount, anyRate, anyRate, (amount, buyerFeeRate, gatewayFeeRate) => {
      const split = splitFees(amount, { buyerFeeRate, gatewayFeeRate });
      assert.equal(split.buyerFee + split.gatewayFee + split.merchantNet, split.total);
      assert.equal(split.total, amount + split.buyerFee);
      for (const part of Object.values(split)) assert.ok(Number.isSafeInteger(part) && part >= 0);
    }),
    { numRuns: runs(800) },
  );
});

test('each fee differs from its exact share by at most half a cent', () => {
  fc.assert(
    fc.property(anyAmount, anyRate, anyRate, (amount, buyerFeeRate, gatewayFeeRate) => {
      const split = splitFees(amount, { buyerFeeRate, gatewayFeeRate });
      assert.ok(Math.abs(split.buyerFee * 1_000_000 - amount * buyerFeeRate) <= 500_000);
      assert.ok(Math.abs(split.gatewayFee * 1_000_000 - amount * gatewayFeeRate) <= 500_000);
    }),
  );
});
