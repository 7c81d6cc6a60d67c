import { splitFees } from '../../src/domain/fees.ts';
import type { Payment } from '../../src/domain/records.ts';
import type { HandoffRequest, Provider } from '../../src/providers/provider.ts';
import { stripeSettings } from '../../src/providers/stripe-settings.ts';
import { createStripe } from '../../src/providers/stripe.ts';
import { NOW, aPayment, aSession } from '../fixtures/checkout-records.ts';
import { type ScriptedStripe, type ScriptedStripeOptions, startScriptedStripe } from './scripted-stripe.ts';

export const CALLBACK_URL = 'http://127.0.0.1:3000/api/providers/stripe_test/callbacks';

/** A Stripe adapter and the scripted Stripe that it is connected to. */
export interface StripeWorld extends AsyncDisposable {
  stripe: ScriptedStripe;
  provider: Provider;
  /** Clock of the adapter and of the scripted Stripe. */
  clock: { ms: number };
  /** Lines that the adapter has logged, as JSON. */
  log: string[];
  refusedKeys: string[];
}

/** Starts a scripted Stripe and an adapter that is connected to it, without the service. */
export async function startStripeWorld(
  settings: Record<string, unknown> = {},
  options: ScriptedStripeOptions = {},
): Promise<StripeWorld> {
  const clock = { ms: NOW };
  const stripe = await startScriptedStripe({ now: () => clock.ms, ...options });
  const log: string[] = [];
  const refusedKeys: string[] = [];
  const write = (fields: unknown, message?: string): void => void log.push(JSON.stringify([fields, message]));
  const provider = createStripe(
    {
      id: 'stripe_test',
      environment: 'sandbox',
      settings: stripeSettings.parse({
        secretKey: stripe.secretKey,
        webhookSecrets: [stripe.webhookSecret],
        apiBase: stripe.url,
        ...settings,
      }),
    },
    {
      now: () => clock.ms,
      callbackUrl: CALLBACK_URL,
      log: { info: write, warn: write, error: write },
      onNotReady: (message) => void refusedKeys.push(message),
      onNews: () => undefined,
      countLostCallback: () => undefined,
    },
  );
  return { stripe, provider, clock, log, refusedKeys, [Symbol.asyncDispose]: () => stripe[Symbol.asyncDispose]() };
}

/** A payment of 49.99 with a buyer's fee of 0.25, on a route of Stripe. */
export function stripePayment(fields: Partial<Payment> = {}, network = 'card_network'): Payment {
  const payment = aPayment({
    fees: splitFees(4999, { buyerFeeRate: 5_000, gatewayFeeRate: 29_000 }),
    chargeReference: null,
    ...fields,
  });
  return { ...payment, route: { ...payment.route, provider: 'stripe_test', network } };
}

/** Handoff request of a payment. */
export function handoffOf(payment: Payment, timeoutMs = 2000): HandoffRequest {
  return {
    session: aSession(),
    payment,
    merchant: 'Demo merchant',
    returnUrl: 'https://shop.example/checkout/chk_1/back',
    cancelUrl: 'https://shop.example/checkout/chk_1',
    callbackUrl: CALLBACK_URL,
    timeoutMs,
  };
}

/** Hands a payment off to Stripe; returns the payment with its reference and URL. */
export async function handedOff(world: StripeWorld, payment: Payment = stripePayment()): Promise<Payment> {
  const result = await world.provider.handoff(handoffOf(payment));
  if (result.outcome !== 'accepted') throw new Error(`the handoff was ${result.outcome}: ${result.reason}`);
  return { ...payment, providerReference: result.reference, providerUrl: result.url };
}

/** Hands a payment off and pays it as the buyer; returns the payment with the id of its PaymentIntent. */
export async function paidPayment(world: StripeWorld, payment?: Payment): Promise<Payment> {
  const handed = await handedOff(world, payment);
  world.stripe.pay(handed.providerReference!);
  return { ...handed, chargeReference: world.stripe.world.sessions.get(handed.providerReference!)!.payment_intent };
}
