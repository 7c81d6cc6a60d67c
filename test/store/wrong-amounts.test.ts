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
import { reportPayment, reportRefund, startAccepted } from '../fixtures/provider-words.ts';
import { createSession } from '../simulator/buyer.ts';
import { TEST_DATABASE, settingsOf } from '../support/database.ts';
import { type TestService, startTestService } from '../support/service.ts';
import { brokenInvariants } from '../support/sound.ts';

const RUNS = TEST_DATABASE === 'sqlite' ? 35 : 12;
const SEED = 10;

const either = fc.nat(1);
const anyStep = anyStepOf({
  /** Another attempt; the one before is left. */
  start: [2],
  /** The provider's word of all that it took of a payment: of a part of what was asked for, in quarters. */
  word: [6, { payment: either, quarters: fc.constantFrom(1, 2, 3, 4, 4, 5, 6, 8) }],
  /** A report of the whole amount, besides the returned money. */
  right: [2, { payment: either }],
  decide: [6, { record: fc.nat(2), action: fc.constantFrom('refund', 'accept') }],
  told: [5, { refund: fc.nat(3), status: fc.constantFrom('succeeded', 'failed') }],
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

  async say(paymentId: string, amount: number): Promise<void> {
    const said = await reportPayment(this.#deps, { sessionId: this.sessionId, paymentId, status: 'paid', amount });
    const before = this.#largest.get(paymentId) ?? 0;
    this.#largest.set(paymentId, Math.max(before, amount));
    seen.add(`${amount > before ? 'larger' : 'older'} word ${said.outcome}`);
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

  async told(refundId: string, status: 'succeeded' | 'failed'): Promise<void> {
    const refund = (await this.#deps.store.refund(refundId))!;
    await reportRefund(this.#deps, refund, status);
    seen.add(`${String(refund.reason)} ${refund.status}->${status}`);
  }

  async take(step: Step): Promise<void> {
    const payments = await this.payments();
    const payment = 'payment' in step ? payments[step.payment % payments.length]! : payments[0]!;
    switch (step.type) {
      case 'start':
        return this.start();
      case 'word':
        return this.say(payment.id, Math.ceil((payment.amount * step.quarters) / 4));
      case 'right':
        return this.say(payment.id, payment.amount + payment.mismatchRefunded);
      case 'decide': {
        const open = (await this.records()).filter((record) => actionsOf(record).length > 0);
        if (open.length > 0) await this.decide(open[step.record % open.length]!, step.action);
        return;
      }
      case 'told': {
        const refunds = await this.refunds();
        if (refunds.length > 0) await this.told(refunds[step.refund % refunds.length]!.id, step.status);
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

  /** The provider holds the money it took, less the undecided, refunded and paid out amounts. */
  async check(told: string): Promise<void> {
    const records = await this.records();
    const refunds = await this.refunds();
    for (const { id, fees, amount, status } of await this.payments()) {
      const largest = this.#largest.get(id);
      const took = largest === undefined ? 0 : fees.total - (amount - largest);
      const undecided = records.filter(
        (record) => record.paymentId === id && record.kind === 'amount_mismatch' && record.refundId === null,
      );
      const [fresh, ...others] = undecided.filter((record) => record.status === 'open');
      assert.deepEqual(others, [], told);
      const open = !fresh ? 0 : fresh.expected === 0 ? fresh.received : fees.total - (fresh.expected - fresh.received);
      const own = refunds.filter(({ paymentId }) => paymentId === id);
      const sumOf = (...of: string[]) =>
        own.reduce((sum, refund) => sum + (of.includes(refund.status) ? refund.amount : 0), 0);
      const paidOut = (await this.#deps.store.settlement(id))?.amount ?? 0;
      const booked = await this.#deps.store.ledgerOfPayment(id);
      const held = booked.filter(({ account }) => account === 'provider_clearing' || account === 'provider_cost');
      assert.equal(
        held.reduce((sum, entry) => sum + entry.amount, 0),
        took - open - sumOf('succeeded') - paidOut,
        told,
      );
      assert(sumOf('succeeded', 'pending') <= took, `no more is given back than came: ${told}`);
      if (fresh) seen.add(`open while ${status}`);
    }
  }

  /** Every open discrepancy can be refunded, and is resolved then. */
  async end(): Promise<void> {
    for (const { id, status } of await this.refunds()) if (status === 'pending') await this.told(id, 'succeeded');
    for (const record of await this.records()) {
      if (record.status === 'resolved') continue;
      assert(await this.decide(record, 'refund'), JSON.stringify(record));
    }
    for (const { id, status } of await this.refunds()) if (status === 'pending') await this.told(id, 'succeeded');
    assert(
      (await this.records()).every(({ status }) => status === 'resolved'),
      JSON.stringify(await this.records()),
    );
  }
}

const WANTED = [
  'larger word applied',
  'larger word amount_mismatch',
  'older word ignored',
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

test('for all provider reports of amounts and all decisions, no cent is lost, counted twice or refunded twice', async () => {
  await using on = await startTestService();
  for (const [number, { kind, amount, steps }] of fc.sample(anyHistory, { numRuns: RUNS, seed: SEED }).entries()) {
    const customer = `amounts${number}@example.com`;
    const history = new History(on, await createSession(on, { amount, customer, preferredRoute: kind }), kind);
    await history.start();
    for (const step of steps) {
      await history.take(step);
      await history.check(`history ${number}, after ${JSON.stringify(step)} of ${JSON.stringify(steps)}`);
    }
    await history.end();
    await history.check(`history ${number}, at its end`);
    on.clock.advance(61_000);
  }
  if (TEST_DATABASE === 'sqlite') for (const sight of WANTED) assert(seen.has(sight), `never met: ${sight}`);
  assert.deepEqual(await brokenInvariants(settingsOf(on.databaseUrl)), []);
});
