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

/** Cents in the unit of an exponent of at least 2, with a part of a cent. */
const usd = (cents: number, exponent = 2, part = 0n): ProviderAmount => ({
  units: BigInt(cents) * 10n ** BigInt(exponent - 2) + part,
  currency: 'USD',
  exponent,
});

test('the exact total is the amount of the session, whatever the unit of the provider', () => {
  forAll(500, anyPayment, anyExponent, (payment, exponent) => {
    const { amount, fees } = payment;
    assert.deepEqual(sessionAmountOf(payment, usd(fees.total, exponent)), { amount, currency: 'USD' });
  });
});

test('every cent more or less is a cent of the session, and a part of a cent is dropped', () => {
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

test('units of a whole dollar, or of ten cents, are converted to cents', () => {
  assert.equal(centsOfUnits({ units: 12n, currency: 'USD', exponent: 0 }), 1200);
  assert.equal(centsOfUnits({ units: 12n, currency: 'USD', exponent: 1 }), 120);
});

test('an amount without the fee of the buyer is taken unchanged', () => {
  forAll(200, anyPayment, fc.nat(1_000_000), (payment, cents) => {
    const received = { ...usd(cents), excludesBuyerFee: true };
    assert.deepEqual(sessionAmountOf(payment, received), { amount: cents, currency: 'USD' });
  });
});

test('another currency is never the amount of the session', () => {
  forAll(200, anyPayment, fc.constantFrom('EUR', 'JPY', 'USDC', 'usd'), (payment, currency) => {
    const received = { ...usd(payment.fees.total), currency };
    assert.deepEqual(sessionAmountOf(payment, received), { amount: payment.fees.total, currency });
  });
});

test('the amount of an unknown payment is the total that its provider reports', () => {
  assert.deepEqual(sessionAmountOf(undefined, usd(5_024)), { amount: 5_024, currency: 'USD' });
});
