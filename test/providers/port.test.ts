import assert from 'node:assert/strict';
import { test } from 'node:test';
import { splitFees } from '../../src/domain/fees.ts';
import type { Payment } from '../../src/domain/records.ts';
import { requestRefund } from '../../src/domain/refund-decisions.ts';
import { applySignal } from '../../src/operations/apply-signal.ts';
import { observeProvider } from '../../src/providers/observed-provider.ts';
import type { HandoffResult, PaymentRef, Provider } from '../../src/providers/provider.ts';
import { NOW, aCheckout, aPayment, aRoute, idOf } from '../fixtures/checkout-records.ts';
import { aReport, startAccepted } from '../fixtures/provider-reports.ts';
import { createSession, replaceProvider, start, startAt } from '../simulator/buyer.ts';
import { paymentsOf } from '../support/gateway.ts';
import { call, startTestService } from '../support/service.ts';
import { signCallback } from '../../src/webhooks/sign.ts';
import { startWorld } from './conformance.ts';
import { startStripe } from './conformance-parties.ts';

const lost = (isAnswered: boolean): HandoffResult => ({ outcome: 'ambiguous', reason: 'lost', isAnswered });

test('an ambiguous handoff is sent again only if the trait `resend` allows it', async () => {
  await using on = await startTestService();
  const { traits } = on.service.deps.providers.get('sandbox')!;
  const cases = [
    ['always', true, 2],
    ['always', false, 2],
    ['no_answer', true, 1],
    ['no_answer', false, 2],
    ['never', true, 1],
    ['never', false, 1],
  ] as const;
  for (const [index, [resend, isAnswered, times]] of cases.entries()) {
    let handoffs = 0;
    replaceProvider(on, {
      traits: { ...traits, resend },
      async handoff() {
        handoffs++;
        return lost(isAnswered);
      },
      inquire: async () => 'cannot_tell',
    });
    const session = await createSession(on, { customer: `buyer${index}@example.com` });
    assert.deepEqual(await start(on, session, 'card'), { outcome: 'continue', url: null });
    assert.equal(handoffs, times, `${resend}, answered: ${isAnswered}`);
  }
});

test('a payment stays pending until its timeout while its provider answers `cannot_tell`', async () => {
  await using on = await startTestService();
  replaceProvider(on, { handoff: async () => lost(true), inquire: async () => 'cannot_tell' });
  const session = await createSession(on);
  await start(on, session, 'card');
  await on.pass(10 * 60_000);
  const [payment] = await paymentsOf(on, session);
  assert.deepEqual([payment!.status, payment!.handoffUncertain], ['pending', true]);
  assert.ok(payment!.inquiries > 0);
});

test("a signal finds its payment by the provider's own reference, but only among the payments of its provider instance", async () => {
  await using on = await startTestService();
  const { deps } = on.service;
  const routes = ['alpha', 'beta'].map((provider) => aRoute({ id: provider, integrationId: provider }));
  deps.routes = routes;
  const payments: Payment[] = [];
  for (const [index, route] of routes.entries()) {
    const session = await createSession(on, { customer: `buyer${index}@example.com` });
    const id = (await startAccepted(deps, session, route))!;
    payments.push((await deps.store.payment(id))!);
  }
  const [alpha, beta] = payments as [Payment, Payment];
  let events = 0;
  const report = async (provider: string, ref: PaymentRef, chargeReference: string | null = null) => {
    const fields = { status: 'paid', amount: alpha.amount, chargeReference } as const;
    const signal = { about: 'payment', ref, report: aReport(fields) } as const;
    const sent = { provider, environment: 'sandbox', eventId: `ev_${++events}`, body: '{}', signal } as const;
    return (await applySignal(deps, sent)).outcome;
  };
  const statuses = async () => Promise.all(payments.map(async ({ id }) => (await deps.store.payment(id))!.status));

  const reference = `ref_${alpha.id}`;
  assert.equal(await report('beta', { reference }), 'unknown', 'a signal found a payment of another provider instance');
  assert.equal(await report('alpha', { reference: 'ref_of_nothing' }), 'unknown');
  assert.equal(
    await report('alpha', { paymentId: alpha.id, reference: 'ref_of_another' }),
    'unknown',
    'a signal with a contradictory payment id and reference found a payment',
  );
  assert.equal(await report('alpha', { sessionId: beta.sessionId, paymentId: alpha.id }), 'unknown_payment');
  assert.deepEqual(await statuses(), ['pending', 'pending']);
  assert.equal(await report('alpha', { reference }, 'ch_1'), 'applied');
  assert.deepEqual(await statuses(), ['paid', 'pending']);
  assert.equal(await report('alpha', { reference: 'ch_1' }), 'ignored', 'the charge reference finds no payment');
  assert.equal(await report('beta', { paymentId: alpha.id }), 'provider_mismatch');
});

test("a refund includes a share of the provider's fee only if the provider returns its fee (`costRefundable`)", () => {
  const fees = splitFees(10_000, { buyerFeeRate: 0, gatewayFeeRate: 29_000 });
  const costs = [true, false].map((costRefundable) => {
    const payment = aPayment({ status: 'paid', amount: 10_000, fees, providerCost: 320, costRefundable });
    const order = { refundId: idOf('ref', 1), paymentId: payment.id, amount: 5_000, reason: null };
    const checkout = { ...aCheckout({ status: 'paid', amount: 10_000 }), payments: [payment] };
    const { effects } = requestRefund(checkout, { ...order, idempotencyKey: null, requestHash: null }, NOW);
    const [made] = effects;
    assert.ok(made?.type === 'refund_requested');
    return made.refund.shares.cost;
  });
  assert.deepEqual(costs, [160, 0]);
});

test('`observeProvider` keeps all methods of an adapter that is a class instance', async () => {
  class Adapter {
    readonly id = 'class';
    readonly environment = 'sandbox';
    readonly traits = {};
    private readonly secret = 'own field';
    private answer = async () => this.secret;
    async handoff() {
      return { outcome: 'accepted', reference: await this.answer() };
    }
    readCallback() {
      return this.answer();
    }
    query() {
      return this.answer();
    }
    returnHint() {
      return this.secret;
    }
    inquire() {
      return this.answer();
    }
    cancel() {
      return this.answer();
    }
    async capture() {
      return { state: await this.answer() };
    }
    refund() {
      return this.answer();
    }
    async inquireRefund() {
      return { status: await this.answer() };
    }
    check() {
      return this.answer();
    }
  }
  const methods = Object.getOwnPropertyNames(Adapter.prototype).filter((name) => name !== 'constructor');
  const observed = observeProvider(new Adapter() as unknown as Provider, undefined, undefined);
  for (const name of methods) {
    const call = observed[name as keyof Provider] as (() => unknown) | undefined;
    assert.ok(call, `${name} is missing`);
    assert.match(JSON.stringify(await call()), /own field/, name);
  }
});

test('`webhook.verify_sample` verifies a sample that is signed with the published secret, but changes no payment at Stripe', async () => {
  await using world = await startWorld(startStripe);
  const { on } = world;
  const session = await createSession(on);
  await startAt(on, session, 'card');
  const guide = await call<{ webhooks: { verifySample: { secret: string } } }>(
    'GET',
    `${on.url}/api/agent/capabilities`,
  );
  const payload = { eventId: 'ev_1', sessionId: session, status: 'paid', amount: 49.99 };
  const signature = signCallback(guide.body.webhooks.verifySample.secret, 1_700_000_000, JSON.stringify(payload));
  const answer = await call<{ result: { signatureVerified: boolean; merchantWebhookQueued: boolean } }>(
    'POST',
    `${on.url}/api/agent/actions/webhook.verify_sample`,
    { payload, signature },
  );
  assert.partialDeepStrictEqual(answer.body.result, { signatureVerified: true, merchantWebhookQueued: false });
  const payments = await paymentsOf(on, session);
  assert.deepEqual(
    payments.map(({ status, route }) => [status, route.provider]),
    [['pending', 'stripe_test']],
  );
});
