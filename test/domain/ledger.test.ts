import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { splitFees } from '../../src/domain/fees.ts';
import { type Posting, paidPosting, posting, settledPosting } from '../../src/domain/ledger.ts';
import { shareOf } from '../../src/domain/money.ts';
import type { Payment } from '../../src/domain/records.ts';
import { NOW, aPayment, idOf } from '../fixtures/checkout-records.ts';
import { runs } from '../support/for-all.ts';

const example = aPayment({
  status: 'paid',
  amount: 10_000,
  fees: { buyerFee: 50, gatewayFee: 290, merchantNet: 9_710, total: 10_050 },
  providerCost: 190,
});

const anyPayment: fc.Arbitrary<Payment> = fc
  .record({
    amount: fc.integer({ min: 1, max: 1_000_000 }),
    buyerFeeRate: fc.integer({ min: 0, max: 500_000 }),
    gatewayFeeRate: fc.integer({ min: 0, max: 500_000 }),
    costRate: fc.integer({ min: 0, max: 500_000 }),
    surplus: fc.boolean(),
  })
  .map(({ amount, costRate, surplus, ...rates }) =>
    aPayment({
      status: 'paid',
      amount,
      surplus,
      fees: splitFees(amount, rates),
      providerCost: shareOf(amount, costRate),
    }),
  );

function balances(...postings: Posting[]): Record<string, number> {
  const byAccount: Record<string, number> = {};
  for (const { account, amount } of postings.flatMap(({ entries }) => entries)) {
    byAccount[account] = (byAccount[account] ?? 0) + amount;
  }
  return Object.fromEntries(Object.entries(byAccount).filter(([, amount]) => amount !== 0));
}

test('a paid posting splits the total among provider clearing, provider cost, merchant and gateway', () => {
  assert.deepEqual(paidPosting(example, NOW), {
    id: `${idOf('pay', 1)}:paid`,
    paymentId: idOf('pay', 1),
    sessionId: idOf('chk', 1),
    kind: 'paid',
    refundId: null,
    created: NOW,
    entries: [
      { account: 'provider_clearing', amount: 9_860 },
      { account: 'provider_cost', amount: 190 },
      { account: 'merchant_payable', amount: -9_710 },
      { account: 'gateway_revenue', amount: -340 },
    ],
  });
});

test('a settled posting reduces the amount owed to the merchant by the payout', () => {
  const paid = paidPosting(example, NOW);
  assert.deepEqual(balances(paid, settledPosting(example, 9_710, NOW)), {
    provider_clearing: 150,
    provider_cost: 190,
    gateway_revenue: -340,
  });
  assert.equal(balances(paid, settledPosting(example, 700, NOW))['merchant_payable'], -9_010);
  assert.deepEqual(settledPosting(example, 0, NOW).entries, []);
});

test('the paid posting of a surplus payment owes the whole total to the buyer, without fees', () => {
  const surplus = { ...example, surplus: true };
  assert.deepEqual(balances(paidPosting(surplus, NOW)), {
    provider_clearing: 9_860,
    provider_cost: 190,
    buyer_refunds_payable: -10_050,
  });
});

test('every posting balances, in whole cents, without zero or duplicate lines', () => {
  fc.assert(
    fc.property(anyPayment, (payment) => {
      const postings = [paidPosting(payment, NOW)];
      const { merchantNet } = payment.fees;
      if (!payment.surplus && merchantNet > 0) postings.push(settledPosting(payment, merchantNet, NOW));
      for (const { entries } of postings) {
        assert.ok(entries.length >= 2);
        assert.ok(entries.every(({ amount }) => Number.isSafeInteger(amount) && amount !== 0));
        assert.equal(new Set(entries.map(({ account }) => account)).size, entries.length);
        assert.equal(
          entries.reduce((sum, { amount }) => sum + amount, 0),
          0,
        );
      }
    }),
    { numRuns: runs(1000) },
  );
});

test('a posting that does not balance throws', () => {
  const wrong = { ...example, fees: { ...example.fees, merchantNet: 9_711 } };
  assert.throws(() => paidPosting(wrong, NOW), /off by -1 cents/);
  const head = paidPosting(example, NOW);
  assert.throws(() => posting(head, [{ account: 'provider_cost', amount: 1 }]), /paid of pay_\w+ is off by 1 cents/);
});
