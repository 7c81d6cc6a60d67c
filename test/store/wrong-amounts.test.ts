// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { abandonAttempt } from '../../src/domain/checkout.ts';
import { actionsOf } from '../../src/domain/discrepancy.ts';
import type { Discrepancy } from '../../src/domain/records.ts';
import { GatewayError } from '../../src/domain/gateway-error.ts';
import { commitDecision } from '../../src/operations/commit-decision.ts';
import { resolveDiscrepancy } from '../../src/operations/discrepancies/resolve-discrepancy.ts';
import { createRefund } from '../../src/operations/refunds/create-refund.ts';
import { recordPayout } from '../../src/operations/settlement/settle-payment.ts';
import { anyStepOf } from '../fixtures/any-step.ts';
import { reportPayment, reportRefund, startAccepted } from '../fixtures/provider-reports.ts';
import { createSession } from '../simulator/buyer.ts';
import { TEST_DATABASE, settingsOf } from '../support/database.ts';
import { IS_UNIT_RUN, runs } from '../support/for-all.ts';
import { type TestService, startTestService } from '../support/service.ts';
import { brokenInvariants } from '../support/sound.ts';

const RUNS = runs(TEST_DATABASE === 'sqlite' ? 35 : 12);
const SEED = 10;

const either = fc.nat(1);
const anyStep = anyStepOf({
  /** The buyer abandons the attempt and starts another one. */
  start: [2],
  reportAmount: [6, { payment: either, quarters: fc.constantFrom(1, 2, 3, 4, 4, 5, 6, 8) }],
  /** The provider reports the amount due plus the refunded wrong amounts. */
  reportFull: [2, { payment: either }],
  decide: [6, { record: fc.nat(2), action: fc.constantFrom('refund', 'accept') }],
  reportRefund: [5, { refund: fc.nat(3), status: fc.constantFrom('succeeded', 'failed') }],
  refund: [1, { payment: either }],
  settle: [1, { payment: either }],
});
type Step = typeof anyStep extends fc.Arbitrary<infer Drawn> ? Drawn : never;
const anyHistory = fc.record({
  kind: fc.constantFrom('card', 'wallet', 'local'),
  amount: fc.constantFrom(0.04, 3.33, 49.99),
  steps: fc.array(anyStep, { minLength: 8, maxLength: 20, size: 'max' }),
});

const seen = new Set<string>();

class History {
  readonly on: TestService;
  readonly sessionId: string;
  readonly #kind: string;
  readonly #largest = new Map<string, number>();

  constructor(on: TestService, sessionId: string, kind: string) {
    this.on = on;
    this.#kind = kind;
    this.sessionId = sessionId;
  }

  get #deps() {
    return this.on.service.deps;
  }

  async payments() {
    return (await this.#deps.store.checkout(this.sessionId))!.payments;
  }

  async records(): Promise<Discrepancy[]> {
    const { items } = await this.#deps.store.listDiscrepancies({ sessionId: this.sessionId }, { limit: 100 });
    return items.toReversed();
  }

  async refunds() {
    return (await this.#deps.store.listRefunds({ sessionId: this.sessionId }, { limit: 100 })).items.toReversed();
  }

  async start(): Promise<void> {
    const { sessionId } = this;
    const deps = this.#deps;
    const route = deps.routes.find((route) => route.environment === 'sandbox' && route.kind === this.#kind)!;
    if ((await this.payments()).length === 2) return;
    await commitDecision(deps, sessionId, (checkout, now) => abandonAttempt(checkout, now));
    await startAccepted(deps, sessionId, route);
  }

  async reportAmount(paymentId: string, amount: number): Promise<void> {
    const result = await reportPayment(this.#deps, { sessionId: this.sessionId, paymentId, status: 'paid', amount });
    const before = this.#largest.get(paymentId) ?? 0;
    this.#largest.set(paymentId, Math.max(before, amount));
    seen.add(`${amount > before ? 'larger' : 'older'} report ${result.outcome}`);
  }

  async decide(record: Discrepancy, action: 'refund' | 'accept'): Promise<boolean> {
    try {
      const { kind } = await resolveDiscrepancy(this.#deps, record.id, { action, note: null });
      seen.add(`${action} ${kind}`).add(`${action} ${record.refundId === null ? 'at once' : 'after a failure'}`);
      return true;
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      assert.equal(error.code, 'invalid_state');
      seen.add(`${action} refused`);
      return false;
    }
  }

  async applyRefundReport(refundId: string, status: 'succeeded' | 'failed'): Promise<void> {
    const refund = (await this.#deps.store.refund(refundId))!;
    await reportRefund(this.#deps, refund, status);
    seen.add(`${String(refund.reason)} ${refund.status}->${status}`);
  }

  async apply(step: Step): Promise<void> {
    const payments = await this.payments();
    const payment = 'payment' in step ? payments[step.payment % payments.length]! : payments[0]!;
    switch (step.type) {
      case 'start':
        return this.start();
      case 'reportAmount':
        return this.reportAmount(payment.id, Math.ceil((payment.amount * step.quarters) / 4));
      case 'reportFull':
        return this.reportAmount(payment.id, payment.amount + payment.mismatchRefunded);
      case 'decide': {
        const open = (await this.records()).filter((record) => actionsOf(record).length > 0);
        if (open.length > 0) await this.decide(open[step.record % open.length]!, step.action);
        return;
      }
      case 'reportRefund': {
        const refunds = await this.refunds();
        if (refunds.length > 0) await this.applyRefundReport(refunds[step.refund % refunds.length]!.id, step.status);
        return;
      }
      case 'refund':
      case 'settle':
        try {
          if (step.type === 'refund') await createRefund(this.#deps, payment.id, {});
          else await recordPayout(this.#deps, payment.id, {});
        } catch (error) {
          assert(error instanceof GatewayError && error.code === 'invalid_state', String(error));
        }
    }
  }

  /** Asserts that the booked amount is the amount received, less the undecided, refunded and paid-out amounts. */
  async check(message: string): Promise<void> {
    const records = await this.records();
    const refunds = await this.refunds();
    for (const { id, fees, amount, status } of await this.payments()) {
      const largest = this.#largest.get(id);
      const received = largest === undefined ? 0 : fees.total - (amount - largest);
      const undecided = records.filter(
        (record) => record.paymentId === id && record.kind === 'amount_mismatch' && record.refundId === null,
      );
      const [current, ...others] = undecided.filter((record) => record.status === 'open');
      assert.deepEqual(others, [], message);
      const open = !current
        ? 0
        : current.expected === 0
          ? current.received
          : fees.total - (current.expected - current.received);
      const ownRefunds = refunds.filter(({ paymentId }) => paymentId === id);
      const sumOf = (...of: string[]) =>
        ownRefunds.reduce((sum, refund) => sum + (of.includes(refund.status) ? refund.amount : 0), 0);
      const paidOut = (await this.#deps.store.settlement(id))?.amount ?? 0;
      const booked = await this.#deps.store.ledgerOfPayment(id);
      const held = booked.filter(({ account }) => account === 'provider_clearing' || account === 'provider_cost');
      assert.equal(
        held.reduce((sum, entry) => sum + entry.amount, 0),
        received - open - sumOf('succeeded') - paidOut,
        message,
      );
      assert(sumOf('succeeded', 'pending') <= received, `the refunds exceed the received amount: ${message}`);
      if (current) seen.add(`open while ${status}`);
    }
  }

  /** Asserts that every open discrepancy can be refunded, and that this resolves the discrepancy. */
  async end(): Promise<void> {
    for (const { id, status } of await this.refunds())
      if (status === 'pending') await this.applyRefundReport(id, 'succeeded');
    for (const record of await this.records()) {
      if (record.status === 'resolved') continue;
      assert(await this.decide(record, 'refund'), JSON.stringify(record));
    }
    for (const { id, status } of await this.refunds())
      if (status === 'pending') await this.applyRefundReport(id, 'succeeded');
    assert(
      (await this.records()).every(({ status }) => status === 'resolved'),
      JSON.stringify(await this.records()),
    );
  }
}

const EXPECTED = [
  'larger report applied',
  'larger report amount_mismatch',
  'older report ignored',
  'refund amount_mismatch',
  'accept amount_mismatch',
  'accept refused',
  'refund after a failure',
  'accept after a failure',
  'mismatch pending->failed',
  'mismatch pending->succeeded',
  'mismatch succeeded->failed',
  'surplus pending->succeeded',
  'open while paid',
  'open while pending',
  'open while failed',
];

test('after any sequence of reported amounts and resolutions, no cent is lost, counted twice or refunded twice', async () => {
  await using on = await startTestService();
  for (const [number, { kind, amount, steps }] of fc.sample(anyHistory, { numRuns: RUNS, seed: SEED }).entries()) {
    const customer = `amounts${number}@example.com`;
    const history = new History(on, await createSession(on, { amount, customer, preferredRoute: kind }), kind);
    await history.start();
    for (const step of steps) {
      await history.apply(step);
      await history.check(`history ${number}, after ${JSON.stringify(step)} of ${JSON.stringify(steps)}`);
    }
    await history.end();
    await history.check(`history ${number}, at its end`);
    on.clock.advance(61_000);
  }
  if (TEST_DATABASE === 'sqlite' && !IS_UNIT_RUN)
    for (const item of EXPECTED) assert(seen.has(item), `never met: ${item}`);
  assert.deepEqual(await brokenInvariants(settingsOf(on.databaseUrl)), []);
});
