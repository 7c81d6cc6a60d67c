import { randomBytes } from 'node:crypto';
import { pino } from 'pino';
import type { Payment } from '../../src/domain/records.ts';
import type { AdapterContext } from '../../src/providers/adapter-context.ts';
import { createSandboxProvider } from '../../src/providers/sandbox.ts';
import { stripeSettings } from '../../src/providers/stripe-settings.ts';
import { createStripe } from '../../src/providers/stripe.ts';
import { instrumentById } from '../../src/simulator/test-instruments.ts';
import { signCallback } from '../../src/webhooks/sign.ts';
import { fieldsOf, submit } from '../simulator/buyer.ts';
import { type CallbackFields, charged } from '../support/callbacks.ts';
import type { TestService } from '../support/service.ts';
import type { Party, SentCallback } from './conformance.ts';
import { startExampleParty } from './example-party.ts';
import { createExample } from './example-provider.ts';
import type { StripeEvent } from './scripted-stripe-objects.ts';
import { startScriptedStripe } from './scripted-stripe.ts';

/** Accessors to the service of a party, which starts only after the party is created. */
export function laterService() {
  let on: TestService | undefined;
  const log: string[] = [];
  return {
    connect: (started: TestService) => void (on = started),
    now: () => on?.clock.now() ?? 0,
    service: () => on!,
    /** Context for an adapter that the test creates itself; the adapter logs to the service's log. */
    context: (): AdapterContext => ({
      now: on!.clock.now,
      callbackUrl: `${on!.url}/api/providers/any/callbacks`,
      log: pino({ base: null }, { write: (line: string) => void (on?.logged ?? log).push(line) }),
      onNotReady: () => undefined,
      onNews: () => undefined,
      countLostCallback: () => undefined,
    }),
  };
}

/** Forged copies of a callback: changed body, no headers, changed signature, headers of `other` (signed with another secret). */
function forgeries({ body, headers }: SentCallback, other: SentCallback): SentCallback[] {
  const flipped = Object.entries(headers).map(([name, value]) => [
    name,
    value.replace(/.$/, (last) => (last === '0' ? '1' : '0')),
  ]);
  return [
    { body: `${body} `, headers },
    { body, headers: {} },
    { body, headers: Object.fromEntries(flipped) as Record<string, string> },
    other,
  ];
}

/** Starts the conformance party of the example adapter: the adapter, and the server of an imaginary provider. */
export async function startExample(): Promise<Party> {
  const { connect, now, context } = laterService();
  const provider = await startExampleParty(now);
  const { key, webhookSecret, orders } = provider;
  const settings = { apiBase: provider.url, key, webhookSecret };
  const route = {
    id: 'card_example',
    label: 'Card, Example',
    environment: 'sandbox',
    integrationId: 'example',
    integrationLabel: 'Example',
    kind: 'card',
    network: 'card_network',
    asset: 'USD',
    health: 'live',
    payerLabel: 'Card',
    eta: 'a few seconds',
    etaMinutes: 0.1,
    buyerFeeRate: 0.005,
    gatewayFeeRate: 0.029,
    providerCostRate: 0.019,
    kycPolicy: 'none',
    successRate: 0.93,
    paymentTimeoutSeconds: 7200,
  };
  const instance = { id: 'example', environment: 'sandbox' } as const;
  const create = async (surroundings: AdapterContext) => createExample({ ...instance, settings }, surroundings);
  const callback = ({ id }: Payment) => provider.callbackOf(id);
  const made = (changed: Partial<typeof settings>) =>
    createExample({ ...instance, settings: { ...settings, ...changed } }, context());
  return {
    ...instance,
    options: { providers: [{ ...instance, adapter: 'example', routes: [route], create }] },
    kind: 'card',
    secrets: [key, webhookSecret],
    connect,
    instance: (id, environment) => createExample({ id, environment, settings }, context()),
    misconfigured: { wrongKey: (secret) => made({ key: secret }), at: (apiBase) => made({ apiBase }) },
    paymentsAt: async ({ id }) => Number(orders.has(id)),
    refundedAt: async ({ id }) =>
      [...provider.refunds.values()].reduce((sum, one) => sum + (one.order === id ? one.cents : 0), 0),
    async pay(payment) {
      const order = orders.get(payment.id);
      if (order?.status !== 'open') return undefined;
      order.status = 'approved';
      return [callback(payment)];
    },
    async confuse(payment) {
      orders.get(payment.id)!.status = 'on_the_moon';
      return [callback(payment)];
    },
    foreign: () => [provider.callbackOf('order_of_another_program'), provider.callbackOf('')],
    forged: (payment) => forgeries(callback(payment), provider.callbackOf(payment.id, 'secret_of_another')),
    capturesOf: ({ id }) => provider.captures.filter((one) => one === id).length,
    [Symbol.asyncDispose]: () => provider[Symbol.asyncDispose](),
  };
}

/** Starts the conformance party of the Stripe adapter: the adapter, and the scripted Stripe as its provider. */
export async function startStripe(): Promise<Party> {
  const { connect, now, context } = laterService();
  const stripe = await startScriptedStripe({ now });
  const { secretKey, webhookSecret, world } = stripe;
  const settings = { secretKey, webhookSecrets: [webhookSecret], apiBase: stripe.url };
  const instance = { id: 'stripe_test', environment: 'sandbox' } as const;
  const made = (changed: Partial<typeof settings>) =>
    createStripe({ ...instance, settings: stripeSettings.parse({ ...settings, ...changed }) }, context());
  const sessionOf = ({ id }: Payment) => [...world.sessions.values()].filter((one) => one.client_reference_id === id);
  const eventOf = (object: object, type: string): StripeEvent => ({
    id: `evt_${randomBytes(6).toString('hex')}`,
    object: 'event',
    type,
    livemode: false,
    created: Math.floor(now() / 1000),
    data: { object },
  });
  const completed = (object: object) => stripe.callbackOf(eventOf(object, 'checkout.session.completed'));
  return {
    ...instance,
    options: {
      variables: { STRIPE_SECRET_KEY: secretKey, STRIPE_WEBHOOK_SECRET: webhookSecret, STRIPE_API_BASE: stripe.url },
    },
    kind: 'card',
    secrets: [secretKey, webhookSecret],
    connect,
    instance: (id, environment) =>
      createStripe({ id, environment, settings: stripeSettings.parse(settings) }, context()),
    misconfigured: {
      wrongKey: (secret) => made({ secretKey: `sk_test_${secret}` }),
      at: (apiBase) => made({ apiBase }),
    },
    paymentsAt: async (payment) => sessionOf(payment).length,
    async refundedAt(payment) {
      const [intent] = sessionOf(payment).map((one) => one.payment_intent);
      return [...world.refunds.values()].reduce(
        (sum, one) => sum + (one.payment_intent === intent ? one.amount : 0),
        0,
      );
    },
    async pay(payment) {
      const [session] = sessionOf(payment);
      if (session?.status !== 'open') return undefined;
      stripe.pay(session.id);
      return [stripe.callbackOf(stripe.events.at(-1)!)];
    },
    async confuse(payment) {
      const [session] = sessionOf(payment);
      Object.assign(session!, { status: 'complete', payment_status: 'on_the_moon', url: null });
      return [completed(session!)];
    },
    foreign: () => [
      completed({ id: 'cs_test_of_another_program', object: 'checkout.session' }),
      stripe.callbackOf(eventOf({ id: 'cus_1', object: 'customer' }, 'customer.created')),
    ],
    forged(payment) {
      const event = eventOf(sessionOf(payment)[0]!, 'checkout.session.completed');
      return forgeries(stripe.callbackOf(event), stripe.callbackOf(event, 'other_secret'));
    },
    [Symbol.asyncDispose]: () => stripe[Symbol.asyncDispose](),
  };
}

/** Starts the party of the simulated provider, which is part of the service under test. */
export async function startSimulator(): Promise<Party> {
  const { connect, now, service } = laterService();
  const secrets: string[] = [];
  /** Records the 32-byte secrets that the service creates at its start; the secrets of the simulated provider are among them. */
  function recorded(size: number): Uint8Array {
    const bytes = randomBytes(size);
    if (size === 32) secrets.push(bytes.toString('base64url'));
    return bytes;
  }
  let callbackSecret = '';
  const callback = (fields: CallbackFields, secret = callbackSecret): SentCallback => {
    const body = JSON.stringify({ currency: 'USD', ...fields });
    return { body, headers: { 'x-provider-signature': signCallback(secret, Math.floor(now() / 1000), body) } };
  };
  const event = () => `w_${randomBytes(6).toString('hex')}`;
  return {
    id: 'sandbox',
    options: { randomBytes: recorded },
    kind: 'card',
    secrets,
    connect(on) {
      connect(on);
      // The service creates the API key, the callback secret, and then the secret of the forms of an open dashboard.
      callbackSecret = secrets.at(-2)!;
    },
    instance: (id, environment) => ({
      ...createSandboxProvider({ url: service().url, apiKey: '', callbackSecret, now }),
      id,
      environment,
    }),
    paymentsAt: async ({ sessionId }) => (await service().simulator.chargesOfSession(sessionId)).length,
    refundedAt: async ({ id }) => (await service().simulator.chargeOfPayment(id))!.refunded,
    /** The simulated provider sends no callback for the instrument `callback_lost`, so that only the test sends one. */
    async pay(payment) {
      await submit(payment.providerUrl!, fieldsOf('card', instrumentById('callback_lost')!));
      const charge = await service().simulator.chargeOfPayment(payment.id);
      return charge?.status === 'paid' ? [callback(charged(payment, event()))] : undefined;
    },
    refundsSamples: true,
    confuse: async (payment) => [callback(charged(payment, event(), 'ON_THE_MOON'))],
    foreign: (payment) => [
      callback({
        ...charged(payment, event()),
        order: 'order_of_another_program',
        charge: 'charge_of_another_program',
      }),
    ],
    forged(payment) {
      const fields = charged(payment, event());
      return forgeries(callback(fields), callback(fields, 'secret_of_another'));
    },
    [Symbol.asyncDispose]: async () => undefined,
  };
}
