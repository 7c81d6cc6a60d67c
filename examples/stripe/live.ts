/**
 * One real test checkout at Stripe: checks the connection, creates a session, waits until you have paid it with a test card,
 * compares the total, the fee and the balance with Stripe's records, and refunds the payment. Exits with 0 if all amounts are equal,
 * with 1 if not, and with 2 if it cannot start.
 */
import { randomBytes } from 'node:crypto';
import { type Payment, Tillway } from '../../sdk/src/index.ts';
import { STRIPE_API_VERSION } from '../../src/providers/stripe-api.ts';
import { PATIENCE_MS, compare, isConnected, paidCheckout, refunded } from '../live-checkout.ts';
import { holdsWithin, say, startTemporaryService } from '../temporary-service.ts';

const ADVICE = 'Choose "Card", and pay with 4242 4242 4242 4242, any later date and any security code.';

const { STRIPE_SECRET_KEY: key, STRIPE_WEBHOOK_SECRET, STRIPE_API_BASE } = process.env;
const refusal = refusalOf(key);
if (refusal !== undefined || key === undefined) {
  process.stderr.write(`${refusal}\n`);
  process.exit(2);
}

await using service = await startTemporaryService({
  STRIPE_SECRET_KEY: key,
  // Without "stripe listen", no callback arrives. Your return from Stripe and the inquiries of the service are enough here.
  STRIPE_WEBHOOK_SECRET: STRIPE_WEBHOOK_SECRET ?? `whsec_${randomBytes(24).toString('hex')}`,
  PORT: process.env['PORT'] ?? '0',
  ...(STRIPE_API_BASE !== undefined && { STRIPE_API_BASE }),
});
const tillway = new Tillway({ baseUrl: service.url });
const isReady = await isConnected(tillway, 'stripe_test', 'Stripe');
process.exitCode = isReady && (await isRight(await paidCheckout(tillway, 'card', ADVICE))) ? 0 : 1;

function refusalOf(given: string | undefined): string | undefined {
  if (!given)
    return 'Set STRIPE_SECRET_KEY to a key of the test mode (sk_test_...), from https://dashboard.stripe.com/test/apikeys';
  if (!/^[sr]k_test_/.test(given))
    return 'STRIPE_SECRET_KEY must be a key of the test mode: this command never uses a live key';
  return undefined;
}

/** Compares a payment and its refund with Stripe's own records. */
async function isRight(payment: Payment | undefined): Promise<boolean> {
  if (!payment) return false;
  const { providerReference } = (await service.deps.store.payment(payment.id))!;
  const atStripe = await checkoutSession(providerReference!);
  const charge = atStripe.payment_intent.latest_charge;
  let isEqual = compare('total', Math.round(payment.fees.total * 100), atStripe.amount_total, 'Stripe');
  const booked = charge.balance_transaction;
  if (booked === null) say('fee      not known at Stripe yet: the service asks again after an hour');
  else {
    const hasCost = async () => (await costOf(payment)) !== null;
    await holdsWithin(PATIENCE_MS, hasCost);
    isEqual = compare('fee', await costOf(payment), booked.fee, 'Stripe') && isEqual;
    isEqual = compare('balance', await clearing(), booked.net, 'Stripe') && isEqual;
  }
  await refunded(tillway, payment);
  const after = await checkoutSession(providerReference!);
  return (
    compare(
      'refunded',
      Math.round(payment.fees.total * 100),
      after.payment_intent.latest_charge.amount_refunded,
      'Stripe',
    ) && isEqual
  );
}

async function costOf({ id }: Payment): Promise<number | null> {
  return (await service.deps.store.payment(id))!.actualCost;
}

async function clearing(): Promise<number> {
  const [sandbox] = (await tillway.ledger.balances({ environment: 'sandbox' })).environments;
  return Math.round(sandbox!.accounts.find(({ account }) => account === 'provider_clearing')!.balance * 100);
}

interface CheckoutSession {
  amount_total: number;
  payment_intent: {
    latest_charge: { amount_refunded: number; balance_transaction: { fee: number; net: number } | null };
  };
}

/** Reads a Checkout Session from Stripe directly, without the adapter. */
async function checkoutSession(reference: string): Promise<CheckoutSession> {
  const expand = 'expand[0]=payment_intent.latest_charge.balance_transaction';
  const url = `${STRIPE_API_BASE ?? 'https://api.stripe.com'}/v1/checkout/sessions/${reference}?${expand}`;
  const headers = { authorization: `Bearer ${key}`, 'stripe-version': STRIPE_API_VERSION };
  const answer = await fetch(url, { headers });
  if (!answer.ok) throw new Error(`Stripe answered ${answer.status}`);
  return (await answer.json()) as CheckoutSession;
}
