// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { resolveDiscrepancy } from '../../src/operations/discrepancies/resolve-discrepancy.ts';
import { aKnownPayment } from '../fixtures/provider-reports.ts';
import { providerSays } from '../support/money-arrives.ts';
import { startStage } from './stage.ts';

const { service, fake, stage, end } = await startStage();
const { inquire } = fake;
const { deps } = service.service;
after(end);

async function textAt(url: string): Promise<string> {
  const markup = await (await fetch(url)).text();
  return markup.replace(/<[^>]+>/g, '').replace(/\s+/g, ' ');
}

const buyerText = (id: string, query = '') => textAt(stage.url(id) + query);
const operatorText = (id: string) => textAt(`${service.url}/dashboard/sandbox/payments/${id}`);

async function versionOf(id: string): Promise<string> {
  const status = await (await fetch(`${stage.url(id)}/status`)).json();
  return (status as { version: string }).version;
}

/** Creates a checkout whose provider has reported a wrong amount. */
async function payWrongAmount(): Promise<string> {
  const id = await stage.create();
  await stage.start(id);
  await providerSays(service, id, 'paid', { amount: 100 });
  return id;
}

async function refundWrongAmount(id: string): Promise<void> {
  const [discrepancy] = (await deps.store.checkout(id))!.discrepancies;
  await resolveDiscrepancy(deps, discrepancy!.id, { action: 'refund', note: null });
  await service.service.runDue();
}

test('the pages report a wrong amount and offer the buyer no second payment', async () => {
  const id = await payWrongAmount();
  for (const query of ['', '?returned=1']) {
    const text = await buyerText(id, query);
    assert.match(text, /A different amount has arrived Ask Demo merchant about it/);
    assert.doesNotMatch(text, /Continue at|Choose another way|Cancel this payment|nothing you need to do/);
  }
  const shown = await operatorText(id);
  assert.match(shown, /A different amount has arrived\. The payment waits for the right amount/);
  assert.doesNotMatch(shown, /waits for the buyer to pay/);
});

test('the pages report the refund of a wrong amount and let the buyer pay again', async () => {
  const id = await payWrongAmount();
  const version = await versionOf(id);
  await refundWrongAmount(id);
  assert.notEqual(await versionOf(id), version, 'an open page reloads');
  for (const query of ['', '?returned=1']) {
    const text = await buyerText(id, query);
    assert.match(text, /Demo merchant has refunded the amount that arrived\. You can pay again, or choose another way/);
    assert.match(text, /Pay again or choose another way.*Cancel this payment/);
    assert.doesNotMatch(text, /Continue at/, 'the page of the provider is closed');
  }
  assert.match(await operatorText(id), /A different amount arrived and was refunded\. The buyer can pay again/);

  // The provider still reports the money that it took and refunded.
  fake.inquire = async (payment) => aKnownPayment(payment.id, { status: 'paid', amount: 100 });
  await stage.submit(id, 'switch');
  fake.inquire = inquire;
  assert.match(await buyerText(id), /Choose another way to pay.*Continue to pay/);
  await stage.start(id);
  assert.match(await buyerText(id), /Waiting for your payment.*Continue at/);
});

test('the pages of a timed-out payment with a wrong amount follow its refund', async () => {
  const id = await payWrongAmount();
  const { timeoutAt } = (await deps.store.checkout(id))!.payments[0]!;
  await service.pass(timeoutAt - service.clock.now());
  assert.match(await buyerText(id), /A different amount has arrived\. Ask Demo merchant about it/);
  await refundWrongAmount(id);
  const text = await buyerText(id);
  assert.match(text, /A different amount arrived, and Demo merchant has refunded it\. This checkout is closed/);
  assert.doesNotMatch(text, /not received any money/);
});

test('a form of an old page ends neither a payment whose wrong amount is held nor its checkout', async () => {
  const id = await payWrongAmount();
  await stage.submit(id, 'switch');
  await stage.submit(id, 'cancel');
  assert.match(await buyerText(id), /A different amount has arrived Ask Demo merchant about it before you pay again/);
  assert.equal((await deps.store.checkout(id))!.payments[0]!.status, 'pending');
});

test('the pages of later attempts report the wrong amount of an abandoned payment', async () => {
  const id = await stage.create();
  await stage.start(id);
  await stage.submit(id, 'switch');
  const version = await versionOf(id);
  const [first] = (await deps.store.checkout(id))!.payments;
  await providerSays(service, id, 'paid', { paymentId: first!.id, amount: 100 });
  assert.notEqual(await versionOf(id), version, 'an open page reloads');
  assert.match(await buyerText(id), /A different amount has arrived.*before you pay again\. You can try/);

  await stage.start(id);
  await stage.report(id, 'paid');
  assert.match(
    await buyerText(id),
    /Another payment arrived with a different amount\. Ask Demo merchant to send it back/,
  );
  await refundWrongAmount(id);
  assert.match(await buyerText(id), /Another payment arrived with a different amount\. Demo merchant has refunded it/);
});
