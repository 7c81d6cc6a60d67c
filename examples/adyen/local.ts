/**
 * Tillway with a scripted Adyen, a local server that imitates Adyen: no account, no network, no real money. Prints each step, and
 * after it the accounts of the ledger and the balance at Adyen. Exits with 1 if they differ; WRONG_CENT=1 makes them differ.
 */
import { startScriptedAdyen } from '../../test/providers/scripted-adyen.ts';
import { createDemo } from '../provider-demo.ts';
import { say, startTemporaryService } from '../temporary-service.ts';

await using adyen = await startScriptedAdyen();
// The variables with which a merchant connects Adyen. ADYEN_API_BASE names the scripted Adyen instead of the real API.
await using service = await startTemporaryService({
  ADYEN_API_KEY: adyen.apiKey,
  ADYEN_MERCHANT_ACCOUNT: adyen.merchantAccount,
  ADYEN_HMAC_KEY: adyen.hmacKey,
  ADYEN_CALLBACK_USER: adyen.callbackUser,
  ADYEN_CALLBACK_PASSWORD: adyen.callbackPassword,
  ADYEN_API_BASE: adyen.url,
});
adyen.callbackUrl = `${service.url}/api/providers/adyen_test/callbacks`;
const demo = createDemo(service, { name: 'Adyen', balance: adyen.balance });
const { tillway, buy, act, reached, shown, holds, report } = demo;

const instance = async () => (await tillway.providers.list()).data.find(({ id }) => id === 'adyen_test')!;
await holds('the first check', async () => (await instance()).checkedAt !== null);
say(`Adyen is in standby: ${(await instance()).reason}.`);
await adyen.sendTest();
await holds('readiness', async () => (await instance()).ready);
await report('The operator tests the webhook in the Customer Area, and Adyen is ready.');

const first = await buy('local', 49.99);
await act(first, 'decline');
await holds('the decline', async () => (await service.deps.store.payment(first.paymentId))?.decline !== null);
await report('A bank refuses a debit of 49.99, and the buyer can try again.');
await act(first, 'pay');
if (process.env['WRONG_CENT']) adyen.movements[0]!.net -= 1;
await reached(first, 'paid');
await report('The buyer pays.');

const debit = await buy('local', 200);
await act(debit, 'debit');
await shown(debit, 'Your payment is in progress');
await report('A buyer pays 200.00 by bank debit. The page says that it is in progress.');
adyen.finishDebit(debit.reference);
await reached(debit, 'paid');
await report('Days later, the bank pays.');

const left = await buy('local', 30);
const attempt = new URLSearchParams({ attempt: '1' });
await fetch(`${service.url}/checkout/${left.sessionId}/switch`, { method: 'POST', body: attempt });
const { failure } = await reached(left, 'failed');
await report(`A buyer chooses another method, and the link is expired. The payment has failed: ${failure?.message}`);

const chargeOf = (paymentId: string) => [...adyen.payments.values()].findLast((one) => one.reference === paymentId)!;
const dispute = adyen.openDispute(chargeOf(first.paymentId));
adyen.chargeBack(dispute);
await report('The buyer of the first payment disputes it, and Adyen takes the money.');
adyen.reverseChargeback(dispute);
await report('The merchant defends the payment, and Adyen returns the money.');

const refund = await tillway.refunds.create(debit.paymentId, { amount: 20 });
await holds('the refund at Adyen', async () => adyen.refunds.size === 1);
await report('The merchant refunds 20.00 of the second payment. The refund is pending until its notification.');
const [psp] = adyen.refunds.keys();
adyen.finishRefund(psp!);
await holds('the refund', async () => (await tillway.refunds.get(refund.id)).status === 'succeeded');
await report('Adyen has sent the refund.');
adyen.returnRefund(psp!);
await holds('the failure', async () => (await tillway.refunds.get(refund.id)).status === 'failed');
await report(`The bank returns the refund: ${(await tillway.refunds.get(refund.id)).failureReason}.`);

const settlements = await fetch(`${service.url}/api/gateway/settlements/import`, {
  method: 'POST',
  headers: { 'content-type': 'text/csv' },
  body: adyen.payOut(),
});
const { message } = (await settlements.json()) as { message: string };
for (const { paymentId } of [first, debit]) {
  await holds('the settlement', async () => (await tillway.payments.get(paymentId)).ledgerStatus === 'settled');
}
await report(`Adyen pays out its balance, and the operator imports the settlement report: ${message}`);

say('Adyen and the ledger agree after every step.');
