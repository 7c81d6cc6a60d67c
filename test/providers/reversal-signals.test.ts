import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Payment } from '../../src/domain/records.ts';
import type { Signal } from '../../src/providers/provider.ts';
import { applySandboxSignal, settlementSignal, totalOf } from '../fixtures/provider-reports.ts';
import { createSession, startAt } from '../simulator/buyer.ts';
import { booksOf, paymentsOf } from '../support/gateway.ts';
import { providerSays } from '../support/money-arrives.ts';
import { suiteService } from '../support/suite.ts';

const on = suiteService({ sound: true });
let buyers = 0;

async function paidPayment(): Promise<Payment> {
  const session = await createSession(on, { customer: `buyer${++buyers}@example.com` });
  await startAt(on, session, 'card');
  await providerSays(on, session, 'paid');
  return (await paymentsOf(on, session))[0]!;
}

const reread = async ({ sessionId }: Payment) => (await paymentsOf(on, sessionId))[0]!;

/** Applies a signal of the simulated provider; returns its outcome. */
const apply = (signal: Signal) => applySandboxSignal(on.service.deps, signal);

function dispute(
  { id, sessionId, fees }: Payment,
  revision: number,
  fields: { status?: 'open' | 'won' | 'lost'; taken?: number; currency?: string } = {},
) {
  const { status = 'open', taken = fees.total, currency = 'USD' } = fields;
  const about = { reference: `dp_${id}`, status, revision, reason: 'fraudulent' };
  const ref = { sessionId, paymentId: id };
  return apply({ about: 'reversal', ref, reversal: { ...about, taken: totalOf(taken, currency), fee: totalOf(0) } });
}

function dashboardRefund({ id, sessionId }: Payment, cents: number, currency = 'USD') {
  const refund = {
    ours: null,
    reference: `re_${id}`,
    status: 'succeeded',
    amount: totalOf(cents, currency),
    reason: null,
  } as const;
  return apply({ about: 'refund', ref: { sessionId, paymentId: id }, refund });
}

async function listedOf({ sessionId }: Payment) {
  const { discrepancies } = (await on.service.deps.store.checkout(sessionId))!;
  return discrepancies.map(({ kind, status, received, currency }) => [kind, status, received, currency]);
}

test('a payout report during a dispute settles the payment only after the dispute is won', async () => {
  const payment = await paidPayment();
  const { id: paymentId, sessionId, amount } = payment;
  assert.equal(await dispute(payment, 1), 'applied');
  assert.equal(await apply(settlementSignal({ sessionId, paymentId, amount, reference: 'po_1' })), 'refunded');
  assert.equal((await reread(payment)).ledgerStatus, 'pending');
  assert.equal(await dispute(payment, 2, { status: 'won', taken: 0 }), 'applied');
  assert.equal((await reread(payment)).ledgerStatus, 'settled');
  assert.equal((await on.service.deps.store.settlement(paymentId))?.reference, 'po_1');
  assert.equal((await booksOf(on, paymentId))['merchant_payable'], undefined);
});

test('a dispute that is lost before a payout leaves the payment unsettled', async () => {
  const payment = await paidPayment();
  await dispute(payment, 1);
  assert.equal(await dispute(payment, 2, { status: 'lost' }), 'applied');
  const { ledgerStatus, status, reversed, fees } = await reread(payment);
  assert.deepEqual([ledgerStatus, status, reversed], ['pending', 'paid', fees.total]);
});

test('a dispute in another currency is stored as a discrepancy and posts nothing to the ledger', async () => {
  const payment = await paidPayment();
  assert.equal(await dispute(payment, 1, { currency: 'EUR', taken: 4_200 }), 'currency_mismatch');
  assert.deepEqual(await listedOf(payment), [['currency_mismatch', 'open', 4_200, 'EUR']]);
  assert.equal((await reread(payment)).reversed, 0);
});

test('a refund made at the provider in another currency is stored as a discrepancy and posts nothing to the ledger', async () => {
  const payment = await paidPayment();
  assert.equal(await dashboardRefund(payment, 1_000, 'EUR'), 'currency_mismatch');
  assert.deepEqual(await listedOf(payment), [['currency_mismatch', 'open', 1_000, 'EUR']]);
  const { refunded, refundPending } = await reread(payment);
  assert.deepEqual([refunded, refundPending], [0, 0]);
});

test('a refund made at the provider is recorded once; a refund above the paid total is stored as a discrepancy', async () => {
  const payment = await paidPayment();
  assert.equal(await dashboardRefund(payment, 1_000), 'applied');
  assert.equal(await dashboardRefund(payment, 1_000), 'ignored');
  const { items } = await on.service.deps.store.listRefunds({ sessionId: payment.sessionId }, { limit: 10 });
  assert.deepEqual(
    items.map(({ amount, reason, status }) => [amount, reason, status]),
    [[1_000, 'other', 'succeeded']],
  );

  const other = await paidPayment();
  assert.equal(await dashboardRefund(other, other.fees.total + 1), 'refund_excess');
  assert.deepEqual(await listedOf(other), [['refund_excess', 'open', other.fees.total + 1, 'USD']]);
});
