import { splitFees } from '../../src/domain/fees.ts';
import type { Payment } from '../../src/domain/records.ts';
import { adyenSettings } from '../../src/providers/adyen-settings.ts';
import { createAdyen } from '../../src/providers/adyen.ts';
import type { HandoffRequest, Provider } from '../../src/providers/provider.ts';
import { NOW, aPayment, aSession } from '../fixtures/checkout-records.ts';
import type { Item } from './scripted-adyen-objects.ts';
import { type AdyenForgery, type ScriptedAdyen, startScriptedAdyen } from './scripted-adyen.ts';

const CALLBACK_URL = 'http://127.0.0.1:3000/api/providers/adyen_test/callbacks';

/** An Adyen adapter and the scripted Adyen that it is connected to. */
export interface AdyenWorld extends AsyncDisposable {
  adyen: ScriptedAdyen;
  provider: Provider;
  /** Clock of the adapter and of the scripted Adyen. */
  clock: { ms: number };
  /** Lines that the adapter has logged, as JSON. */
  log: string[];
  notReady: string[];
  /** Number of calls of `onNews` and of `countLostCallback`. */
  counted: { news: number; lost: number };
}

/** Settings of an instance that is connected to a scripted Adyen. */
export function settingsOf({ apiKey, merchantAccount, hmacKey, callbackUser, callbackPassword, url }: ScriptedAdyen) {
  return { apiKey, merchantAccount, hmacKeys: [hmacKey], callbackUser, callbackPassword, apiBase: url };
}

/** Starts a scripted Adyen and an adapter that is connected to it, without the service. */
export async function startAdyenWorld(settings: Record<string, unknown> = {}): Promise<AdyenWorld> {
  const clock = { ms: NOW };
  const adyen = await startScriptedAdyen({ now: () => clock.ms });
  const log: string[] = [];
  const notReady: string[] = [];
  const counted = { news: 0, lost: 0 };
  const write = (fields: unknown, message?: string): void => void log.push(JSON.stringify([fields, message]));
  const instance = { id: 'adyen_test', environment: 'sandbox' } as const;
  const provider = createAdyen(
    { ...instance, settings: adyenSettings.parse({ ...settingsOf(adyen), ...settings }) },
    {
      now: () => clock.ms,
      callbackUrl: CALLBACK_URL,
      log: { info: write, warn: write, error: write },
      onNotReady: (message) => void notReady.push(message),
      onNews: () => void counted.news++,
      countLostCallback: () => void counted.lost++,
    },
  );
  return { adyen, provider, clock, log, notReady, counted, [Symbol.asyncDispose]: () => adyen[Symbol.asyncDispose]() };
}

/** A payment of 49.99 with a buyer's fee of 0.25, on a route of Adyen. */
export function adyenPayment(fields: Partial<Payment> = {}, network = 'card_network'): Payment {
  const fees = splitFees(4999, { buyerFeeRate: 5_000, gatewayFeeRate: 29_000 });
  const payment = aPayment({ fees, chargeReference: null, ...fields });
  return { ...payment, route: { ...payment.route, provider: 'adyen_test', network } };
}

export function handoffOf(payment: Payment, timeoutMs = 2000): HandoffRequest {
  const cancelUrl = 'https://shop.example/checkout/chk_1';
  const urls = { returnUrl: `${cancelUrl}/back`, cancelUrl, callbackUrl: CALLBACK_URL };
  return { session: aSession(), payment, merchant: 'Demo merchant', ...urls, timeoutMs };
}

/** Hands a payment off to Adyen; returns the payment with its reference and URL. */
export async function handedOff({ provider }: AdyenWorld, payment: Payment = adyenPayment()): Promise<Payment> {
  const result = await provider.handoff(handoffOf(payment));
  if (result.outcome !== 'accepted') throw new Error(`the handoff was ${result.outcome}: ${result.reason}`);
  return { ...payment, providerReference: result.reference, providerUrl: result.url };
}

/** Hands a payment off and pays it as the buyer; returns the payment with the PSP reference of its charge. */
export async function paidPayment(world: AdyenWorld, payment?: Payment): Promise<Payment> {
  const handed = await handedOff(world, payment);
  return { ...handed, chargeReference: world.adyen.pay(handed.providerReference!).psp };
}

/** Gives the callback of items to the adapter. */
export function readItems(
  { adyen, provider }: Pick<AdyenWorld, 'adyen' | 'provider'>,
  items: readonly Item[],
  forgery?: AdyenForgery,
  live?: string,
) {
  const { body, headers } = adyen.callbackOf(items, forgery, live);
  return provider.readCallback(Buffer.from(body), headers);
}
