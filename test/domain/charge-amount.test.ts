import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { sessionAmountOf } from '../../src/domain/charge-amount.ts';
import { splitFees } from '../../src/domain/fees.ts';
import { type ProviderAmount, centsOfUnits } from '../../src/domain/provider-report.ts';
import type { Payment } from '../../src/domain/records.ts';
import { aPayment } from '../fixtures/checkout-records.ts';
import { forAll } from '../support/for-all.ts';

const anyPayment: fc.Arbitrary<Payment> = fc
  .record({
    amount: fc.integer({ min: 1, max: 1_000_000 }),
    buyerFeeRate: fc.integer({ min: 0, max: 500_000 }),
    gatewayFeeRate: fc.integer({ min: 0, max: 500_000 }),
  })
  .map(({ amount, ...rates }) => aPayment({ amount, fees: splitFees(amount, rates) }));
const anyExponent = fc.integer({ min: 2, max: 18 });

/** An amount in dollars with `exponent` decimals (at least 2): whole cents, and `part` units below a cent. */
const usd = (cents: number, exponent = 2, part = 0n): ProviderAmount => ({
  units: BigInt(cents) * 10n ** BigInt(exponent - 2) + part,
  currency: 'USD',
  exponent,
});

test('a received total equals the amount of the session, whatever decimals the provider uses', () => {
  forAll(500, anyPayment, anyExponent, (payment, exponent) => {
    const { amount, fees } = payment;
    assert.deepEqual(sessionAmountOf(payment, usd(fees.total, exponent)), { amount, currency: 'USD' });
  });
});

test('each cent above or below the total changes the session amount by one cent, and fractions of a cent are dropped', () => {
  forAll(
    500,
    anyPayment,
    anyExponent,
    fc.integer({ min: -500, max: 500 }),
    fc.nat(),
    (payment, exponent, more, dust) => {
      const cents = Math.max(0, payment.fees.total + more);
      const part = BigInt(dust) % 10n ** BigInt(exponent - 2);
      const { amount } = sessionAmountOf(payment, usd(cents, exponent, part));
      assert.equal(amount, payment.amount + cents - payment.fees.total);
    },
  );
});

test('`centsOfUnits` converts units of a dollar or of ten cents to cents', () => {
  assert.equal(centsOfUnits({ units: 12n, currency: 'USD', exponent: 0 }), 1200);
  assert.equal(centsOfUnits({ units: 12n, currency: 'USD', exponent: 1 }), 120);
});

test('a received amount that excludes the buyer fee is used unchanged as the session amount', () => {
  forAll(200, anyPayment, fc.nat(1_000_000), (payment, cents) => {
    const received = { ...usd(cents), excludesBuyerFee: true };
    assert.deepEqual(sessionAmountOf(payment, received), { amount: cents, currency: 'USD' });
  });
});

test('a received amount in another currency keeps its currency and includes the buyer fee', () => {
  forAll(200, anyPayment, fc.constantFrom('EUR', 'JPY', 'USDC', 'usd'), (payment, currency) => {
    const received = { ...usd(payment.fees.total), currency };
    assert.deepEqual(sessionAmountOf(payment, received), { amount: payment.fees.total, currency });
  });
});

test('the session amount for an unknown payment is the total that the provider reports', () => {
  assert.deepEqual(sessionAmountOf(undefined, usd(5_024)), { amount: 5_024, currency: 'USD' });
});
