import type { Provider } from '../../src/providers/provider.ts';
import { paypalSettings } from '../../src/providers/paypal-settings.ts';
import { createPaypal } from '../../src/providers/paypal.ts';
import { NOW, idOf } from '../fixtures/checkout-records.ts';
import { type Random, forgeryScenario, sendForgeries } from './forgeries.ts';
import type { PaypalEvent } from './scripted-paypal-objects.ts';
import { OTHER_WEBHOOK_ID, PAYPAL_FORGERIES } from './scripted-paypal-signature.ts';
import { type ScriptedPaypal, startScriptedPaypal } from './scripted-paypal.ts';

const KINDS = [...PAYPAL_FORGERIES, 'old', 'future', 'flipped_body', 'flipped_signature', 'other_header'] as const;

/** A PayPal adapter and the scripted PayPal that it is connected to, without the service. */
export interface PaypalWorld extends AsyncDisposable {
  paypal: ScriptedPaypal;
  provider: Provider;
  /** Clock of the adapter and of the scripted PayPal. */
  clock: { ms: number };
  /** Lines that the adapter has logged, as JSON, and the reasons why it was not ready. */
  log: string[];
}

export async function startPaypalWorld(settings: Record<string, unknown> = {}): Promise<PaypalWorld> {
  const clock = { ms: NOW };
  const paypal = await startScriptedPaypal({ now: () => clock.ms });
  const { clientId, clientSecret, webhookId, url: apiBase } = paypal;
  const log: string[] = [];
  const write = (fields: unknown, message?: string): void => void log.push(JSON.stringify([fields, message]));
  const parsed = paypalSettings.parse({ clientId, clientSecret, webhookId, apiBase, ...settings });
  const provider = createPaypal(
    { id: 'paypal_test', environment: 'sandbox', settings: parsed },
    {
      now: () => clock.ms,
      callbackUrl: 'http://127.0.0.1:3000/api/providers/paypal_test/callbacks',
      log: { info: write, warn: write, error: write },
      onNotReady: (reason) => void log.push(reason),
    },
  );
  return { paypal, provider, clock, log, [Symbol.asyncDispose]: () => paypal[Symbol.asyncDispose]() };
}

/** A signed event about a payment of the service. */
export function approvalOf(number: number): PaypalEvent {
  return {
    id: `WH-${number}`,
    event_version: '1.0',
    create_time: new Date(NOW).toISOString(),
    resource_type: 'checkout-order',
    resource_version: '2.0',
    event_type: 'CHECKOUT.ORDER.APPROVED',
    summary: 'approved',
    resource: { id: `5O190127TN36${number}`, purchase_units: [{ custom_id: idOf('pay', number) }] },
    links: [],
  };
}

/** A forged callback: a forgery of the scripted PayPal, or random damage to a signed callback. */
function forged(paypal: ScriptedPaypal, number: number, random: Random) {
  const event = approvalOf(number);
  const kind = KINDS[random(KINDS.length)]!;
  if (kind !== 'flipped_body' && kind !== 'flipped_signature' && kind !== 'other_header') {
    return { ...paypal.callbackOf(event, kind), kind };
  }
  const { body, headers } = paypal.callbackOf(event);
  if (kind === 'flipped_body') {
    const bytes = Buffer.from(body);
    bytes[random(bytes.length)]! ^= 1 << random(8);
    return { body: bytes, headers, kind };
  }
  if (kind === 'flipped_signature') {
    const signature = Buffer.from(headers['paypal-transmission-sig']!, 'base64');
    signature[random(signature.length)]! ^= 1 << random(8);
    return { body, headers: { ...headers, 'paypal-transmission-sig': signature.toString('base64') }, kind };
  }
  const other = paypal.callbackOf(approvalOf(number + 1_000_000)).headers;
  const names = ['paypal-transmission-id', 'paypal-transmission-sig'] as const;
  const name = names[random(names.length)]!;
  return { body, headers: { ...headers, [name]: other[name]! }, kind };
}

/** Sends forged callbacks to the adapter; returns a line for each callback that is not rejected as `unauthorized`. */
export function forgePaypal({ paypal, provider }: PaypalWorld, count: number, seed: number): Promise<string[]> {
  return sendForgeries(provider, (number, random) => forged(paypal, number, random), count, seed);
}

/** `npm run test:faults -- --cycles 1 paypal-forgeries` sends 10,000 forged callbacks. */
export const PAYPAL_FORGERIES_SCENARIO = forgeryScenario({
  name: 'forged callbacks of PayPal',
  injected: 'an adapter with the webhook id of another app',
  async start(injected) {
    const world = await startPaypalWorld(injected ? { webhookId: OTHER_WEBHOOK_ID } : {});
    return Object.assign(world, { send: (count: number, seed: number) => forgePaypal(world, count, seed) });
  },
});
