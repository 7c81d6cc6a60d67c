/**
 * Tillway with a scripted Stripe, a local server that imitates Stripe: no account, no network, no real money. Prints each step,
 * and after it the accounts of the ledger and the balance at Stripe. Exits with 1 if they differ; WRONG_CENT=1 makes them differ.
 */
import { startScriptedStripe } from '../../test/providers/scripted-stripe.ts';
import { type Purchase, createDemo } from '../provider-demo.ts';
import { say, startTemporaryService } from '../temporary-service.ts';

await using stripe = await startScriptedStripe();
// The variables with which a merchant connects Stripe. STRIPE_API_BASE names the scripted Stripe instead of the real API.
await using service = await startTemporaryService({
  STRIPE_SECRET_KEY: stripe.secretKey,
  STRIPE_WEBHOOK_SECRET: stripe.webhookSecret,
  STRIPE_API_BASE: stripe.url,
});
stripe.callbackUrl = `${service.url}/api/providers/stripe_test/callbacks`;
const { tillway, buy, act, reached, shown, holds, report } = createDemo(service, {
  name: 'Stripe',
  balance: stripe.balance,
});

const card = await buy('card', 49.99);
await act(card, 'pay');
if (process.env['WRONG_CENT']) [...stripe.world.movements.values()][0]!.net -= 1;
await reached(card, 'paid');
await report('A buyer pays 49.99 by card.');

const debit = await buy('local', 200);
await act(debit, 'debit');
await shown(debit, 'Your payment is in progress');
await report('A buyer pays 200.00 by bank debit. The page says that it is in progress, for up to 4 business days.');
stripe.finishDebit(debit.reference);
await reached(debit, 'paid');
await report('Days later, the bank pays.');

const declined = await buy('card', 30);
await act(declined, 'decline');
stripe.expire(declined.reference);
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

function intentOf({ reference }: Purchase): string {
  return stripe.world.sessions.get(reference)!.payment_intent!;
}
