import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import type { TestContext } from 'node:test';
import type { LedgerBalances } from '../../sdk/src/index.ts';
import type { Payment } from '../../src/domain/records.ts';
import type { RouteKind } from '../../src/domain/route.ts';
import { submit } from '../simulator/buyer.ts';
import { type Gateway, gatewayOf } from '../support/gateway.ts';
import { type MerchantServer, startMerchant } from '../support/http-server.ts';
import { type TestService, sessionBody } from '../support/service.ts';
import { assertSound } from '../support/sound.ts';
import { SECRET } from '../webhooks/fixtures.ts';
import type { ScriptedStripe } from './scripted-stripe.ts';
import { choose, deliver, lastPayment, startStripeService } from './stripe-service.ts';

/** A payment that the buyer has started, and its payment page at Stripe. */
export interface StartedAtStripe {
  sessionId: string;
  paymentId: string;
  /** Id of Stripe's Checkout Session. */
  reference: string;
  page: string;
}

/** A service that is configured for a scripted Stripe, the servers of the merchant that receive its webhooks, and the actions of tests. */
export interface StripeStage {
  tillway: TestService;
  stripe: ScriptedStripe;
  api: Gateway;
  /** Endpoint from WEBHOOK_URL, with the default subscription. */
  usual: MerchantServer;
  /** Endpoint that subscribes to `payment.refunded` and `payment.disputed` only. */
  named: MerchantServer;
  /** The buyer chooses a payment method for the given session, or for a new session. */
  start(kind: RouteKind, sessionId?: string): Promise<StartedAtStripe>;
  /** The buyer sends a form of the page at Stripe and follows its redirect. */
  act(started: StartedAtStripe, act: 'pay' | 'debit' | 'decline'): Promise<void>;
  /** Creates a paid card payment of 49.99 and delivers its callbacks. */
  sell(): Promise<StartedAtStripe & { intent: string }>;
  /** Lets callbacks arrive, moves the clock, and runs all due work. */
  pass(ms?: number): Promise<void>;
  /** Text of the checkout page without markup, and the actions of its forms. */
  look(sessionId: string): Promise<{ text: string; forms: string[] }>;
  payment(started: Pick<StartedAtStripe, 'paymentId'>): Promise<Payment>;
  /** Id of the PaymentIntent of a payment. */
  intentOf(started: StartedAtStripe): string;
  /**
   * Asserts that the ledger sums to 0, and that its balance at the provider is Stripe's balance plus `unbooked`: money in cents
   * that Stripe has deducted from its balance and that the ledger lists as a discrepancy. Asserts that all invariants hold.
   */
  assertBooks(unbooked?: number): Promise<void>;
}

/** Starts the service, the scripted Stripe and the merchant; after the test, stops them and checks all invariants. */
export async function openStripeStage(context: TestContext): Promise<StripeStage> {
  const [usual, named] = [await startMerchant(), await startMerchant()];
  const variables = {
    WEBHOOK_URL: usual.url,
    WEBHOOK_SECRET: SECRET,
    ENCRYPTION_KEY: randomBytes(32).toString('base64'),
  };
  const world = await startStripeService({ variables });
  const { on: tillway, stripe } = world;
  context.after(async () => {
    try {
      await assertSound(tillway.databaseUrl);
    } finally {
      for (const each of [world, usual, named]) await each[Symbol.asyncDispose]();
    }
  });
  const api = gatewayOf(tillway);
  await api.post('webhook-endpoints', { url: named.url, events: ['payment.refunded', 'payment.disputed'] });
  const checkoutUrl = (sessionId: string): string => `${tillway.url}/checkout/${sessionId}`;

  const stage: StripeStage = {
    tillway,
    stripe,
    api,
    usual,
    named,
    async start(kind, known) {
      const sessionId = known ?? (await api.post<{ id: string }>('sessions', sessionBody())).id;
      await choose(tillway, sessionId, kind);
      const { id: paymentId, providerUrl, providerReference } = await lastPayment(tillway, sessionId);
      assert.ok(providerUrl !== null && providerReference !== null, 'the payment has no page at Stripe');
      return { sessionId, paymentId, page: providerUrl, reference: providerReference };
    },
    async act({ page }, act) {
      const { status, headers } = await submit(page, { act });
      if (act === 'decline') return assert.equal(status, 200);
      assert.equal((await fetch(headers.get('location')!)).status, 200);
    },
    async sell() {
      const started = await stage.start('card');
      await stage.act(started, 'pay');
      await stage.pass();
      return { ...started, intent: stage.intentOf(started) };
    },
    async pass(ms) {
      await deliver(world, ms);
      // The work can send requests to Stripe, which cause further callbacks.
      await deliver(world, 0);
    },
    async look(sessionId) {
      const page = await (await fetch(checkoutUrl(sessionId))).text();
      const forms = Array.from(page.matchAll(/<form[^>]* action="[^"]*\/(\w+)"/g), ([, step]) => step!);
      return { text: page.replace(/<[^>]+>/g, ' ').replace(/\s+/g, ' '), forms };
    },
    payment: async ({ paymentId }) => (await tillway.service.deps.store.payment(paymentId))!,
    intentOf: ({ reference }) => stripe.world.sessions.get(reference)!.payment_intent!,
    async assertBooks(unbooked = 0) {
      const balances = await api.get<LedgerBalances>('ledger/balances?environment=sandbox');
      const { accounts, total } = balances.environments[0]!;
      const clearing = accounts.find(({ account }) => account === 'provider_clearing')!.balance;
      assert.deepEqual([total, Math.round(clearing * 100)], [0, stripe.balance() + unbooked]);
      await assertSound(tillway.databaseUrl);
    },
  };
  return stage;
}

/** Types of the events about a session that an endpoint has received, in the order of arrival. */
export function eventsAt({ received }: MerchantServer, { sessionId }: Pick<StartedAtStripe, 'sessionId'>): string[] {
  const events = received.map(({ body }) => JSON.parse(body) as { type: string; data: { session_id: string } });
  return events.filter(({ data }) => data.session_id === sessionId).map(({ type }) => type);
}
