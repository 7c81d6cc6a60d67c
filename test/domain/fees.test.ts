import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { splitFees } from '../../src/domain/fees.ts';
import { shareOf } from '../../src/domain/money.ts';

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

test('fees come from the amount and the route rates, and the total is what the buyer pays', () => {
  assert.deepEqual(splitFees(10_000, { buyerFeeRate: 5_000, gatewayFeeRate: 20_000 }), {
    buyerFee: 50,
    gatewayFee: 200,
    merchantNet: 9_800,
    total: 10_050,
  });
});

test('both fees are rounded half up, and the merchant takes what is left of the amount', () => {
  assert.deepEqual(splitFees(500, { buyerFeeRate: 1_000, gatewayFeeRate: 29_000 }), {
    buyerFee: 1,
    gatewayFee: 15,
    merchantNet: 485,
    total: 501,
  });
});

test('a cent is never split', () => {
  assert.deepEqual(splitFees(1, { buyerFeeRate: 5_000, gatewayFeeRate: 29_000 }), {
    buyerFee: 0,
    gatewayFee: 0,
    merchantNet: 1,
    total: 1,
  });
});

test('a route without rates leaves the merchant everything', () => {
  assert.deepEqual(splitFees(4999, { buyerFeeRate: 0, gatewayFeeRate: 0 }), {
    buyerFee: 0,
    gatewayFee: 0,
    merchantNet: 4999,
    total: 4999,
  });
});

test('the parts sum to the total, to the cent, always', () => {
  fc.assert(
    fc.property(anyAmount, anyRate, anyRate, (amount, buyerFeeRate, gatewayFeeRate) => {
      const split = splitFees(amount, { buyerFeeRate, gatewayFeeRate });
      assert.equal(split.buyerFee + split.gatewayFee + split.merchantNet, split.total);
      assert.equal(split.total, amount + split.buyerFee);
      for (const part of Object.values(split)) assert.ok(Number.isSafeInteger(part) && part >= 0);
    }),
    { numRuns: 2000 },
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

test('rounding every part by itself would lose cents: the examples above are such cases', () => {
  const separately = shareOf(500, 1_000_000 - 29_000);
  assert.equal(separately + shareOf(500, 29_000), 501);
});
