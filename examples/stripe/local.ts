/**
 * Tillway with a scripted Stripe, a local server that imitates Stripe: no account, no network, no real money. Prints each step,
 * and after it the accounts of the ledger and the balance at Stripe. Exits with 1 if they differ; WRONG_CENT=1 makes them differ.
 */
import { type Payment, Tillway } from '../../sdk/src/index.ts';
import { startScriptedStripe } from '../../test/providers/scripted-stripe.ts';
import { dollars, holdsWithin, say, startTemporaryService } from '../temporary-service.ts';

const PATIENCE_MS = 10_000;

await using stripe = await startScriptedStripe();
// The variables with which a merchant connects Stripe. STRIPE_API_BASE names the scripted Stripe instead of the real API.
await using service = await startTemporaryService({
  STRIPE_SECRET_KEY: stripe.secretKey,
  STRIPE_WEBHOOK_SECRET: stripe.webhookSecret,
  STRIPE_API_BASE: stripe.url,
});
stripe.callbackUrl = `${service.url}/api/providers/stripe_test/callbacks`;
const tillway = new Tillway({ baseUrl: service.url });

const card = await buy('card', 49.99);
await act(card, 'pay');
if (process.env['WRONG_CENT']) [...stripe.world.movements.values()][0]!.net -= 1;
await reached(card, 'paid');
await report('A buyer pays 49.99 by card.');

const debit = await buy('local', 200);
await act(debit, 'debit');
await shown(debit, 'Your payment is in progress');
await report('A buyer pays 200.00 by bank debit. The page says that it is in progress, for up to 4 business days.');
stripe.finishDebit(debit.stripeSession);
await reached(debit, 'paid');
await report('Days later, the bank pays.');

const declined = await buy('card', 30);
await act(declined, 'decline');
stripe.expire(declined.stripeSession);
const { failure } = await reached(declined, 'failed');
await report(`A card is declined, and the buyer leaves. The payment has failed: ${failure?.message}`);

const dispute = stripe.openDispute(intentOf(card));
stripe.withdrawFunds(dispute.id);
await report('The buyer of the card payment disputes it. Stripe takes the money and a fee of 15.00.');
stripe.closeDispute(dispute.id, 'won');
await report('The merchant wins the dispute, and Stripe returns the money.');

stripe.nextRefundStatus = 'pending';
const refund = await tillway.refunds.create(debit.paymentId, { amount: 20 });
await holds('the refund at Stripe', async () => stripe.world.refunds.size === 1);
await report(
  'The merchant refunds 20.00 of the bank debit. The refund is pending, and Stripe has deducted it already.',
);
stripe.finishRefund([...stripe.world.refunds.keys()][0]!, 'failed', 'declined');
await holds('the failure', async () => (await tillway.refunds.get(refund.id)).status === 'failed');
await report(`The refund fails: ${(await tillway.refunds.get(refund.id)).failureReason}.`);

stripe.payOut();
for (const { paymentId } of [card, debit]) {
  await holds('the settlement', async () => (await tillway.payments.get(paymentId)).ledgerStatus === 'settled');
}
await report('Stripe pays out its balance, which settles both payments.');

say('Stripe and the ledger agree after every step.');

interface Purchase {
  sessionId: string;
  paymentId: string;
  /** Id of the Checkout Session at Stripe; `page` is its URL. */
  stripeSession: string;
  page: string;
}

/** A merchant creates a session, and the buyer chooses a payment method on its page, which leads to Stripe. */
async function buy(kind: 'card' | 'local', amount: number): Promise<Purchase> {
  const { id } = await tillway.sessions.create({ product: 'Field guide', amount, customer: 'buyer@example.com' });
  const form = new URLSearchParams({ kind, [`total_${kind}`]: String(Math.round(amount * 100)) });
  await fetch(`${service.url}/checkout/${id}/pay`, { method: 'POST', body: form, redirect: 'manual' });
  const redirect = await (await fetch(`${service.url}/checkout/${id}/continue`)).text();
  const page = /href="([^"]*\/c\/pay\/[^"]*)"/.exec(redirect)![1]!;
  const { data } = await tillway.payments.list({ paymentId: id });
  return { sessionId: id, paymentId: data[0]!.id, page, stripeSession: page.split('/').at(-1)! };
}

/** The buyer presses a button of the page at Stripe, and follows the redirect to the checkout. */
async function act({ page }: Purchase, act: 'pay' | 'debit' | 'decline'): Promise<void> {
  await fetch(page, { method: 'POST', body: new URLSearchParams({ act }) });
}

function intentOf({ stripeSession }: Purchase): string {
  return stripe.world.sessions.get(stripeSession)!.payment_intent!;
}

async function reached({ paymentId }: Purchase, status: Payment['status']): Promise<Payment> {
  await holds(`status ${status}`, async () => (await tillway.payments.get(paymentId)).status === status);
  return tillway.payments.get(paymentId);
}

function shown({ sessionId }: Purchase, text: string): Promise<void> {
  const page = async () => (await fetch(`${service.url}/checkout/${sessionId}`)).text();
  return holds(`"${text}" on the page`, async () => (await page()).includes(text));
}

async function holds(what: string, condition: () => Promise<boolean>): Promise<void> {
  if (!(await holdsWithin(PATIENCE_MS, condition))) throw new Error(`${what}: not reached in time`);
}

/** Waits until ledger and Stripe agree, and prints `what` with both balances. Throws if they do not agree in time. */
async function report(what: string): Promise<void> {
  const agree = await holdsWithin(PATIENCE_MS, async () => {
    const { clearing, sum } = await books();
    return sum === 0 && clearing === stripe.balance();
  });
  const { accounts, sum } = await books();
  say(`${what}\n  ledger   ${accounts.join('  ')}  sum ${dollars(sum)}`);
  say(`  Stripe   balance ${dollars(stripe.balance())}\n`);
  if (!agree) throw new Error('Stripe and the ledger differ');
}

/** The accounts of the ledger; amounts in cents. */
async function books() {
  const [sandbox] = (await tillway.ledger.balances({ environment: 'sandbox' })).environments;
  const cents = (amount: number): number => Math.round(amount * 100);
  const used = sandbox!.accounts.filter(({ debits, credits }) => debits + credits > 0);
  return {
    accounts: used.map(({ account, balance }) => `${account} ${balance.toFixed(2)}`),
    clearing: cents(used.find(({ account }) => account === 'provider_clearing')?.balance ?? 0),
    sum: cents(sandbox!.total),
  };
}
