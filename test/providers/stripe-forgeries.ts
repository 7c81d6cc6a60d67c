import { NOW, idOf } from '../fixtures/checkout-records.ts';
import { type Random, forgeryScenario, sendForgeries } from './forgeries.ts';
import { type Forgery, type ScriptedStripe } from './scripted-stripe.ts';
import { type StripeWorld, startStripeWorld } from './stripe-fixtures.ts';

const FORGERIES: Forgery[] = ['other_secret', 'changed_body', 'old', 'future', 'other_scheme', 'unsigned'];

/** A signed callback about a payment of the service. */
function anEvent(stripe: ScriptedStripe, number: number) {
  const payment = idOf('pay', number);
  const object = { id: `cs_test_${number}`, client_reference_id: payment, metadata: { payment } };
  const event = { id: `evt_${number}`, object: 'event', type: 'checkout.session.completed', livemode: false } as const;
  return stripe.callbackOf({ ...event, created: NOW / 1000, data: { object } });
}

/** A forged callback: a wrong signature, or a signed callback with random damage to its body or signature header. */
function forged(stripe: ScriptedStripe, number: number, random: Random) {
  const kind = random(FORGERIES.length + 3);
  if (kind < FORGERIES.length) {
    const data = { object: { id: `cs_test_${number}` } };
    const event = {
      id: `evt_${number}`,
      object: 'event',
      type: 'checkout.session.completed',
      livemode: false,
    } as const;
    return stripe.callbackOf({ ...event, created: NOW / 1000, data }, FORGERIES[kind]);
  }
  const { body, headers } = anEvent(stripe, number);
  const signature = headers['stripe-signature']!;
  if (kind === FORGERIES.length) {
    const bytes = Buffer.from(body);
    bytes[random(bytes.length)]! ^= 1 << random(8);
    return { body: bytes, headers };
  }
  if (kind === FORGERIES.length + 1) {
    // Changes one digit of the signature or of its timestamp.
    const digits = [...signature.matchAll(/[0-9a-f](?=[0-9a-f,]*$)|\d/g)].map(({ index }) => index);
    const at = digits[random(digits.length)]!;
    const other = (Number.parseInt(signature[at]!, 16) + 1 + random(8)) % 10;
    const changed = `${signature.slice(0, at)}${String(other)}${signature.slice(at + 1)}`;
    return { body, headers: { ...headers, 'stripe-signature': changed === signature ? '' : changed } };
  }
  // Keeps the timestamp, and replaces the signature by random digits.
  const digits = Array.from({ length: 64 }, () => random(16).toString(16)).join('');
  return { body, headers: { ...headers, 'stripe-signature': signature.replace(/v1=.*/, `v1=${digits}`) } };
}

/** Sends forged callbacks to the adapter; returns a line for each callback that is not rejected as `unauthorized`. */
export function forgeCallbacks({ stripe, provider }: StripeWorld, count: number, seed: number): Promise<string[]> {
  return sendForgeries(provider, (number, random) => forged(stripe, number, random), count, seed);
}

/** `npm run test:faults -- --cycles 10 stripe-forgeries` sends 100,000 forged callbacks. */
export const STRIPE_FORGERIES = forgeryScenario({
  name: 'forged callbacks of Stripe',
  injected: 'a signing secret that a forger knows',
  async start(injected) {
    const world = await startStripeWorld(injected ? { webhookSecrets: ['whsec_other'] } : {});
    return Object.assign(world, { send: (count: number, seed: number) => forgeCallbacks(world, count, seed) });
  },
});
