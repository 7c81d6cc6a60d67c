// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse } from 'csv-parse/sync';
import * as fc from 'fast-check';
import { abandonAttempt, abandonCheckout } from '../../src/domain/checkout.ts';
import type { Payment, ProviderStatus } from '../../src/domain/records.ts';
import type { RefundStatus } from '../../src/domain/refund-record.ts';
import { commitDecision } from '../../src/operations/commit-decision.ts';
import { ledgerBalances } from '../../src/operations/ledger/ledger-balances.ts';
import { exportJournal } from '../../src/operations/ledger/read-journal.ts';
import { createRefund } from '../../src/operations/refunds/create-refund.ts';
import { recordPayout } from '../../src/operations/settlement/settle-payment.ts';
import { importSettlements } from '../../src/operations/settlement/import-settlements.ts';
import { anyStepOf } from '../fixtures/any-step.ts';
import {
  applySandboxSignal,
  reportPayment,
  reportRefund,
  settlementSignal,
  startAccepted,
} from '../fixtures/provider-reports.ts';
import { createSession } from '../simulator/buyer.ts';
import { TEST_DATABASE, settingsOf } from '../support/database.ts';
import { IS_UNIT_RUN, runs } from '../support/for-all.ts';
import { type TestService, startTestService } from '../support/service.ts';
import { brokenInvariants } from '../support/sound.ts';

const RUNS = runs(TEST_DATABASE === 'sqlite' ? 60 : 12);
const SEED = 6;

type Book = Record<string, number>;
const anyStep = anyStepOf({
  pay: [3, { late: fc.boolean(), twice: fc.boolean() }],
  refund: [4, { payment: fc.nat(5), permille: fc.constantFrom(1, 137, 333, 500, 1000) }],
  refundReport: [5, { refund: fc.nat(7), status: fc.constantFrom('succeeded', 'succeeded', 'failed') }],
  settle: [3, { payment: fc.nat(5), by: fc.constantFrom('api', 'file', 'provider') }],
  pass: [2, { ms: fc.constantFrom(1, 59_999, 90_000) }],
});
type Step = typeof anyStep extends fc.Arbitrary<infer Drawn> ? Drawn : never;
const anyHistory = fc.record({
  kind: fc.constantFrom('card', 'wallet', 'local'),
  amount: fc.constantFrom(0.01, 0.07, 1, 33.33, 49.99, 9999.99),
  steps: fc.array(anyStep, { minLength: 6, maxLength: 18, size: 'max' }),
});

/** A payment in the model. The model never reads the ledger. */
interface KnownPayment {
  id: string;
  sessionId: string;
  surplus: boolean;
  /** The amount that is not refunded, and the shares of gateway and provider cost in this amount. */
  left: { total: number; gateway: number; cost: number };
  owed: number;
  settled: boolean;
  /** True if the provider reported a payout while the payment was refunded in full or had pending refunds. */
  payoutReported: boolean;
}

interface KnownRefund {
  id: string;
  payment: KnownPayment;
  amount: number;
  merchant: number;
  gateway: number;
  cost: number;
  status: RefundStatus;
}

class Model {
  readonly book: Book = {};
  payments: KnownPayment[] = [];
  refunds: KnownRefund[] = [];
  /** Kinds of steps that the run has covered. */
  readonly seen = new Set<string>();

  move(lines: Book): void {
    for (const [account, amount] of Object.entries(lines)) this.book[account] = (this.book[account] ?? 0) + amount;
  }

  paid({ id, sessionId, fees, providerCost: cost, surplus }: Payment): void {
    const gateway = surplus ? 0 : fees.buyerFee + fees.gatewayFee;
    const owed = surplus ? 0 : fees.merchantNet;
    this.payments.push({
      id,
      sessionId,
      surplus,
      left: { total: fees.total, gateway, cost },
      owed,
      settled: false,
      payoutReported: false,
    });
    this.move({ provider_clearing: fees.total - cost, provider_cost: cost });
    if (surplus) this.seen.add('surplus');
    if (surplus) this.move({ buyer_refunds_payable: -fees.total });
    else this.move({ merchant_payable: -owed, gateway_revenue: -gateway });
  }

  refund(id: string, payment: KnownPayment, amount: number): void {
    const { left, surplus } = payment;
    const share = (part: number) =>
      Number((2n * BigInt(part) * BigInt(amount) + BigInt(left.total)) / (2n * BigInt(left.total)));
    const [gateway, cost] = [share(left.gateway), share(left.cost)];
    const merchant = surplus ? 0 : amount - gateway;
    this.seen.add(amount === left.total ? 'refund of the rest' : 'refund of a part');
    if (payment.settled) this.seen.add('refund after settlement');
    this.reduce(payment, { amount, gateway, cost, merchant }, 1);
    this.move({ merchant_payable: merchant, gateway_revenue: gateway, buyer_refunds_payable: -(merchant + gateway) });
    this.refunds.push({ id, payment, amount, merchant, gateway, cost, status: 'pending' });
  }

  refundReported(refund: KnownRefund, status: RefundStatus): void {
    const { amount, cost, merchant, gateway } = refund;
    if (refund.status === status || refund.status === 'failed') return;
    const wasPaid = refund.status === 'succeeded';
    const paidOut = { buyer_refunds_payable: amount, provider_clearing: cost - amount, provider_cost: -cost };
    const reversed = (lines: Book) => Object.fromEntries(Object.entries(lines).map(([name, sum]) => [name, -sum]));
    refund.status = status;
    if (status === 'succeeded') return this.move(paidOut);
    this.reduce(refund.payment, refund, -1);
    this.move(
      reversed({ merchant_payable: merchant, gateway_revenue: gateway, buyer_refunds_payable: -(merchant + gateway) }),
    );
    if (wasPaid) {
      this.move(reversed(paidOut));
      this.seen.add('late failure');
    }
    if (refund.payment.payoutReported && this.settle(refund.payment) !== undefined)
      this.seen.add('settlement reported before');
  }

  /** Books a settlement. Returns the payout; undefined if no payout is possible. */
  settle(payment: KnownPayment): number | undefined {
    if (payment.settled || payment.surplus || payment.left.total === 0) return undefined;
    payment.settled = true;
    if (this.refunds.some((refund) => refund.payment === payment && refund.status !== 'failed'))
      this.seen.add('settlement of the rest');
    this.move({ merchant_payable: payment.owed, provider_clearing: -payment.owed });
    return payment.owed;
  }

  private reduce(
    payment: KnownPayment,
    { amount, gateway, cost, merchant }: { amount: number; gateway: number; cost: number; merchant: number },
    sign: 1 | -1,
  ): void {
    const { left } = payment;
    payment.left = {
      total: left.total - sign * amount,
      gateway: left.gateway - sign * gateway,
      cost: left.cost - sign * cost,
    };
    payment.owed -= sign * merchant;
  }
}

async function pay(
  on: TestService,
  model: Model,
  sessionId: string,
  { late, twice }: { late: boolean; twice: boolean },
) {
  const { deps } = on.service;
  const reportStatus = async (paymentId: string | null, status: ProviderStatus) => {
    const { session, payments: before } = (await deps.store.checkout(sessionId))!;
    await reportPayment(deps, { sessionId, paymentId, status, amount: session.amount });
    for (const payment of (await deps.store.checkout(sessionId))!.payments) {
      const known = before.find(({ id }) => id === payment.id);
      if (payment.status !== 'paid' || known?.status === 'paid') continue;
      model.paid(payment);
      if (!payment.surplus) continue;
      // The service refunds a surplus payment without a request.
      const { items } = await deps.store.listRefunds({ paymentId: payment.id }, { limit: 1 });
      model.refund(items[0]!.id, model.payments.at(-1)!, payment.fees.total);
    }
  };
  const route = deps.routes.find(({ environment }) => environment === 'sandbox')!;
  const started: string[] = [];
  for (let attempt = 0; attempt < (twice ? 2 : 1); attempt++) {
    const paymentId = await startAccepted(deps, sessionId, route);
    if (paymentId === undefined) break;
    started.push(paymentId);
    if (twice && attempt === 0) await commitDecision(deps, sessionId, (checkout, now) => abandonAttempt(checkout, now));
  }
  if (late) model.seen.add('late');
  if (late) await commitDecision(deps, sessionId, (checkout, now) => abandonCheckout(checkout, now));
  if (started.length === 0) await reportStatus(null, 'paid');
  for (const paymentId of started.toReversed()) await reportStatus(paymentId, 'paid');
}

async function settle(on: TestService, model: Model, payment: KnownPayment, by: 'api' | 'file' | 'provider') {
  const { deps } = on.service;
  const before = (await deps.store.settlement(payment.id))?.amount;
  const { owed } = payment;
  const expected = model.settle(payment);
  if (by === 'provider' && !payment.settled && payment.left.total === 0) payment.payoutReported = true;
  const { amount } = (await deps.store.payment(payment.id))!;
  model.seen.add(`${by} ${expected === undefined ? 'refused' : 'settled'}`);
  if (by === 'api') {
    const recorded = recordPayout(deps, payment.id, {});
    if (expected === undefined && before === undefined) await assert.rejects(recorded, /nothing left|goes back/);
    else assert.equal((await recorded).amount, expected ?? before);
  } else if (by === 'file') {
    const file = `payment_id,amount,currency\n${payment.id},${((before ?? owed) / 100).toFixed(2)},USD\n`;
    const [line] = (
      await importSettlements(deps, owed < 0 ? file.replace('-', '') : file, { environment: 'sandbox', dryRun: false })
    ).lines;
    if (expected !== undefined) assert.equal(line!.status, 'matched', line!.message);
    else assert.notEqual(line!.status, 'matched');
  } else {
    const { id: paymentId, sessionId } = payment;
    const outcome = await applySandboxSignal(deps, settlementSignal({ sessionId, paymentId, amount }));
    if (expected !== undefined) assert.equal(outcome, 'applied');
    else assert.notEqual(outcome, 'applied');
  }
}

async function applyStep(on: TestService, model: Model, sessionId: string, step: Step): Promise<void> {
  const { deps } = on.service;
  const payments = model.payments.filter((payment) => payment.sessionId === sessionId);
  switch (step.type) {
    case 'pay':
      if (payments.length === 0) await pay(on, model, sessionId, step);
      return;
    case 'refund': {
      const payment = payments[step.payment % Math.max(payments.length, 1)];
      const amount = payment && Math.ceil((payment.left.total * step.permille) / 1000);
      if (!payment || !amount) return;
      const { refund } = await createRefund(deps, payment.id, { amount: amount / 100 });
      model.refund(refund.id, payment, amount);
      return;
    }
    case 'refundReport': {
      const ofSession = model.refunds.filter(({ payment }) => payment.sessionId === sessionId);
      const refund = ofSession[step.refund % Math.max(ofSession.length, 1)];
      if (!refund) return;
      await reportRefund(deps, { id: refund.id, sessionId, amount: refund.amount }, step.status);
      model.refundReported(refund, step.status);
      return;
    }
    case 'settle': {
      const payment = payments[step.payment % Math.max(payments.length, 1)];
      if (payment) await settle(on, model, payment, step.by);
      return;
    }
    case 'pass':
      on.clock.advance(step.ms);
  }
}

async function balancesOf(on: TestService, at?: number): Promise<Book> {
  const { environments } = await ledgerBalances(on.service.deps, { environment: 'sandbox', at });
  return Object.fromEntries(
    environments[0]!.accounts.map(({ account, debits, credits }) => [account, debits - credits]),
  );
}

const EMPTY: Book = {
  provider_clearing: 0,
  provider_cost: 0,
  merchant_payable: 0,
  gateway_revenue: 0,
  buyer_refunds_payable: 0,
  operator_cash: 0,
};

const EXPECTED_KINDS = [
  'api refused',
  'api settled',
  'file refused',
  'file settled',
  'late',
  'late failure',
  'provider refused',
  'provider settled',
  'refund after settlement',
  'refund of a part',
  'refund of the rest',
  'settlement of the rest',
  'settlement reported before',
  'surplus',
];

test('after random histories of payments, refunds and settlements, current and past balances equal a model', async () => {
  await using on = await startTestService();
  const model = new Model();
  const known: { at: number; book: Book }[] = [];
  for (const [number, { kind, amount, steps }] of fc.sample(anyHistory, { numRuns: RUNS, seed: SEED }).entries()) {
    const customer = `buyer${number}@example.com`;
    const sessionId = await createSession(on, { amount, customer, preferredRoute: kind });
    for (const step of steps) {
      await applyStep(on, model, sessionId, step);
      const message = `history ${number}, seed ${SEED}, after ${JSON.stringify(step)} of ${JSON.stringify(steps)}`;
      assert.deepEqual(await balancesOf(on), { ...EMPTY, ...model.book }, message);
    }
    on.clock.advance(61_000);
    // Balances at a time exclude postings booked exactly at that time, so the next posting does not change them.
    known.push({ at: on.clock.now(), book: { ...EMPTY, ...model.book } });
  }
  for (const { at, book } of known.filter((_, index) => index % 5 === 0))
    assert.deepEqual(await balancesOf(on, at), book);
  if (TEST_DATABASE === 'sqlite' && !IS_UNIT_RUN) assert.deepEqual([...model.seen].toSorted(), EXPECTED_KINDS);

  let text = '';
  for await (const part of exportJournal(on.service.deps, {}, 97)) text += part;
  const rows = parse<Record<string, string>>(text, { columns: true });
  const journal = await on.service.deps.store.journal({}, { limit: 100_000, order: 'oldest_first', after: undefined });
  const cents = (row: Record<string, string>) => Math.round((Number(row['debit']) - Number(row['credit'])) * 100);
  assert.deepEqual(
    rows.map((row) => [row['entry_id'], row['account'], cents(row)]),
    journal.map(({ postingId, line, account, amount }) => [`${postingId}:${line}`, account, amount]),
  );
  const sums: Book = {};
  for (const row of rows) sums[row['posting_id']!] = (sums[row['posting_id']!] ?? 0) + cents(row);
  assert.deepEqual(new Set(Object.values(sums)), new Set([0]));
  assert.deepEqual(await brokenInvariants(settingsOf(on.databaseUrl)), []);
});
