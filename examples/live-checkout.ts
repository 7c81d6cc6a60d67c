import type { Payment, Tillway } from '../sdk/src/index.ts';
import type { RouteKind } from '../src/domain/route.ts';
import { dollars, holdsWithin, say } from './temporary-service.ts';

const CHECK_MS = 15_000;
const BUYER_MS = 60 * 60_000;
const AMOUNT = 10;
export const PATIENCE_MS = 60_000;

/** Prints the findings of the first check of an instance, and returns whether it takes payments. */
export async function isConnected(tillway: Tillway, id: string, provider: string): Promise<boolean> {
  const instance = async () => (await tillway.providers.list()).data.find((one) => one.id === id)!;
  await holdsWithin(CHECK_MS, async () => (await instance()).checkedAt !== null);
  const { ready, reason, findings } = await instance();
  for (const { level, message, todo } of findings) say(`${level.padEnd(7)}  ${message}${todo ? `. ${todo}` : ''}`);
  if (!ready) say(`${provider} takes no payments: ${reason}`);
  return ready;
}

/** Creates a session of 10.00 and waits for your payment; undefined if you did not pay. */
export async function paidCheckout(
  tillway: Tillway,
  preferredRoute: RouteKind,
  advice: string,
): Promise<Payment | undefined> {
  const customer = 'buyer@example.com';
  const session = await tillway.sessions.create({ product: 'Live test', amount: AMOUNT, customer, preferredRoute });
  say(`\nOpen ${session.checkoutUrl}`);
  say(`${advice}\n`);
  const status = async () => (await tillway.sessions.get(session.id)).status;
  await holdsWithin(BUYER_MS, async () => ['paid', 'failed', 'expired'].includes(await status()));
  say(`The session is ${await status()}.`);
  const [payment] = (await tillway.payments.list({ paymentId: session.id, status: 'paid' })).data;
  return payment;
}

/** Refunds a payment, and waits until the refund is no longer pending. */
export async function refunded(tillway: Tillway, payment: Payment, patienceMs = PATIENCE_MS) {
  const { id } = await tillway.refunds.create(payment.id);
  await holdsWithin(patienceMs, async () => (await tillway.refunds.get(id)).status !== 'pending');
  const refund = await tillway.refunds.get(id);
  say(`The refund is ${refund.status}${refund.failureReason === null ? '' : `: ${refund.failureReason}`}.`);
  return refund;
}

/** Prints an amount of this service beside the provider's, and returns whether they are equal. */
export function compare(name: string, ours: number | null, theirs: number, provider: string): boolean {
  const [own, other] = [ours, theirs].map((cents) => (cents === null ? 'unknown' : dollars(cents)));
  say(`${name.padEnd(8)} ${own} here, ${other} at ${provider}${ours === theirs ? '' : '  DIFFERS'}`);
  return ours === theirs;
}
