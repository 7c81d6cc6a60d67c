/**
 * Tillway with a scripted PayPal, a local server that imitates PayPal: no account, no network, no real money. Prints each step, and
 * after it the accounts of the ledger and the balance at PayPal. Exits with 1 if they differ; WRONG_CENT=1 makes them differ.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { startScriptedPaypal } from '../../test/providers/scripted-paypal.ts';
import { type Purchase, createDemo } from '../provider-demo.ts';
import { say, startTemporaryService } from '../temporary-service.ts';

await using paypal = await startScriptedPaypal();
// The variables with which a merchant connects PayPal. PAYPAL_API_BASE names the scripted PayPal instead of the real API.
await using service = await startTemporaryService({
  PAYPAL_CLIENT_ID: paypal.clientId,
  PAYPAL_CLIENT_SECRET: paypal.clientSecret,
  PAYPAL_WEBHOOK_ID: paypal.webhookId,
  PAYPAL_API_BASE: paypal.url,
});
paypal.callbackUrl = `${service.url}/api/providers/paypal_test/callbacks`;
const demo = createDemo(service, { name: 'PayPal', balance: paypal.balance, isMerchants: true });
const { tillway, buy, act, reached, shown, holds, report } = demo;

const first = await buy('wallet', 49.99);
await act(first, 'approve');
await reached(first, 'paid');
if (process.env['WRONG_CENT']) paypal.world.movements[0]!.cents -= 1;
await report('A buyer approves 49.99 at PayPal, and the service captures it.');

paypal.nextCapture = 'decline';
const declined = await buy('wallet', 30);
await act(declined, 'approve');
await holds('the decline', async () => (await service.deps.store.payment(declined.paymentId))?.decline !== null);
await report(
  'PayPal declines the card of a buyer at the capture of 30.00. The buyer can choose another one at PayPal.',
);
// The time of an order, which distinguishes the two approvals, has a resolution of one second.
await sleep(1100);
await act(declined, 'approve');
await reached(declined, 'paid');
await report('The buyer approves the payment again, and it is captured.');

paypal.nextCapture = 'pending';
const check = await buy('wallet', 200);
await act(check, 'approve');
await shown(check, 'Your payment is in progress');
await report('A buyer pays 200.00 by e-check. The order is completed, but its money is not there yet.');
paypal.finishPending(captureOf(check), 'COMPLETED');
await reached(check, 'paid');
await report('Days later, the bank pays.');

const left = await buy('wallet', 15);
await fetch(`${service.url}/checkout/${left.sessionId}/switch`, {
  method: 'POST',
  body: new URLSearchParams({ attempt: '1' }),
});
paypal.approve(left.reference);
await reached(left, 'failed');
await report('A buyer chooses another method and then approves 15.00 in the old tab. Nothing is captured.');

paypal.nextRefundStatus = 'PENDING';
const refund = await tillway.refunds.create(check.paymentId, { amount: 20 });
await holds('the refund at PayPal', async () => paypal.world.refunds.size === 1);
await report('The merchant refunds 20.00 of the e-check. The refund is pending, and PayPal has deducted it already.');
paypal.finishRefund([...paypal.world.refunds.keys()][0]!, 'FAILED');
await holds('the failure', async () => (await tillway.refunds.get(refund.id)).status === 'failed');
await report(`The refund fails: ${(await tillway.refunds.get(refund.id)).failureReason}.`);

const dispute = paypal.openDispute(captureOf(first));
paypal.takeDispute(dispute.id);
await report('The buyer of the first payment disputes it. PayPal takes the money and a fee of 15.00.');
paypal.closeDispute(dispute.id, 'seller');
await report('The merchant wins the dispute, and PayPal returns the money.');

say('PayPal and the ledger agree after every step.');

function captureOf({ reference }: Purchase): string {
  return paypal.world.orders.get(reference)!.captureId!;
}
