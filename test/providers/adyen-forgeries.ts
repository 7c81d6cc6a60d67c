import { type Random, forgeryScenario, sendForgeries } from './forgeries.ts';
import { idOf } from '../fixtures/checkout-records.ts';
import { type AdyenWorld, startAdyenWorld } from './adyen-fixtures.ts';
import type { AdyenForgery, ScriptedAdyen } from './scripted-adyen.ts';

const FORGERIES: AdyenForgery[] = [
  'other_key',
  'unsigned',
  'changed_amount',
  'changed_reference',
  'no_password',
  'other_password',
];
/** Fields that the signature covers. A changed value of one of them is a forgery. */
const SIGNED = [
  'pspReference',
  'originalReference',
  'merchantAccountCode',
  'merchantReference',
  'eventCode',
  'success',
];

/** A genuine item about a payment of the service. */
function anItem(adyen: ScriptedAdyen, number: number) {
  const about = { psp: `PSP${number}`, payment: '', reference: idOf('pay', number), cents: 5024 };
  return adyen.itemOf('AUTHORISATION', about);
}

/** A forged callback: a wrong signature or password, a signed item with one changed field, or a genuine item beside a forged one. */
function forged(adyen: ScriptedAdyen, number: number, random: Random) {
  const item = anItem(adyen, number);
  const kind = random(FORGERIES.length + 4);
  if (kind < FORGERIES.length) return adyen.callbackOf([item], FORGERIES[kind]);
  if (kind === FORGERIES.length) return adyen.callbackOf([anItem(adyen, number + 1), item], FORGERIES[random(4)]);
  const { body, headers } = adyen.callbackOf([item]);
  const changed = JSON.parse(body) as { notificationItems: { NotificationRequestItem: Record<string, unknown> }[] };
  const inner = changed.notificationItems[0]!.NotificationRequestItem;
  if (kind === FORGERIES.length + 1) {
    // Replays the signed item for another payment, with another event, or as another kind of result.
    const field = SIGNED[random(SIGNED.length)]!;
    const others: Record<string, string> = {
      merchantReference: idOf('pay', number + 1 + random(1000)),
      success: 'false',
      eventCode: 'CHARGEBACK',
    };
    inner[field] = others[field] ?? `OTHER${random(1000)}`;
  } else if (kind === FORGERIES.length + 2) {
    // Moves the separator between two signed fields, which leaves the signed text unchanged.
    const { pspReference, merchantAccountCode, merchantReference } = inner as Record<string, string>;
    if (random(2) === 0) Object.assign(inner, { pspReference: `${pspReference}:`, originalReference: undefined });
    else Object.assign(inner, { originalReference: `:${merchantAccountCode}`, merchantAccountCode: merchantReference });
  } else {
    const hmacSignature = Buffer.from(Array.from({ length: 32 }, () => random(256))).toString('base64');
    inner['additionalData'] = { hmacSignature };
  }
  return { body: JSON.stringify(changed), headers };
}

/** Sends forged callbacks to the adapter; returns a line for each callback that is not rejected as `unauthorized`. */
export function forgeCallbacks({ adyen, provider }: AdyenWorld, count: number, seed: number): Promise<string[]> {
  return sendForgeries(provider, (number, random) => forged(adyen, number, random), count, seed);
}

/** `npm run test:faults -- --cycles 10 adyen-forgeries` sends 100,000 forged callbacks. */
export const ADYEN_FORGERIES = forgeryScenario({
  name: 'forged callbacks of Adyen',
  injected: 'an HMAC key that a forger knows',
  async start(injected) {
    const world = await startAdyenWorld(injected ? { hmacKeys: ['ab'.repeat(32)] } : {});
    return Object.assign(world, { send: (count: number, seed: number) => forgeCallbacks(world, count, seed) });
  },
});
