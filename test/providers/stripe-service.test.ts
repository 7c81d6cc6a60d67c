import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { DAY, MINUTE } from '../fixtures/checkout-records.ts';
import { submit } from '../simulator/buyer.ts';
import { type StartedAtStripe, type StripeStage, eventsAt, openStripeStage } from './stripe-stage.ts';

const SECOND = 1000;
const HOUR = 60 * MINUTE;
const PAID = ['payment.provider_pending', 'payment.paid'];

/** Sends a form of the checkout page as the buyer of the first attempt. */
function send({ tillway }: StripeStage, { sessionId }: StartedAtStripe, step: 'switch' | 'cancel') {
  return submit(`${tillway.url}/checkout/${sessionId}/${step}`, { attempt: '1' });
}

async function startDebit(stage: StripeStage): Promise<StartedAtStripe> {
  const debit = await stage.start('local');
  await stage.act(debit, 'debit');
  await stage.pass();
  return debit;
}

describe('a card payment at Stripe', () => {
  test('a card payment sends one payment.paid, even if its callbacks repeat, and the page shows "Payment received"', async (context) => {
    const stage = await openStripeStage(context);
    const sale = await stage.sell();
    assert.deepEqual(eventsAt(stage.usual, sale), PAID);
    assert.match((await stage.look(sale.sessionId)).text, /Payment received/);
    for (const event of stage.stripe.events) assert.equal(await stage.stripe.send(event), 200);
    await stage.pass(DAY);
    assert.deepEqual(eventsAt(stage.usual, sale), PAID);
    await stage.assertBooks();
  });

  test('a declined card payment stays pending, and the buyer can pay in the same session of Stripe', async (context) => {
    const stage = await openStripeStage(context);
    const sale = await stage.start('card');
    await stage.act(sale, 'decline');
    await stage.pass(30 * SECOND);
    const { status, decline } = await stage.payment(sale);
    assert.deepEqual([status, decline?.code], ['pending', 'insufficient_funds']);
    await stage.act(sale, 'pay');
    await stage.pass();
    const paid = await stage.payment(sale);
    assert.deepEqual([paid.status, paid.failureCode], ['paid', null]);
    assert.deepEqual(eventsAt(stage.usual, sale), PAID);
    await stage.assertBooks();
  });

  test('a payment whose session expires after a decline fails with the cause of the decline', async (context) => {
    const stage = await openStripeStage(context);
    const sale = await stage.start('card');
    await stage.act(sale, 'decline');
    await stage.pass(30 * SECOND);
    stage.stripe.expire(sale.reference);
    await stage.pass();
    const { status, failureCode, failureSource } = await stage.payment(sale);
    assert.deepEqual([status, failureCode, failureSource], ['failed', 'insufficient_funds', 'buyer']);
    await stage.assertBooks();
  });

  test('a card payment that the buyer cancels can no longer be paid at Stripe', async (context) => {
    const stage = await openStripeStage(context);
    const sale = await stage.start('card');
    assert.equal((await send(stage, sale, 'cancel')).status, 303);
    await stage.pass();
    assert.equal((await fetch(sale.page)).status, 410);
    assert.match((await stage.look(sale.sessionId)).text, /was not completed/);
    assert.deepEqual(eventsAt(stage.usual, sale), ['payment.provider_pending', 'payment.failed']);
  });

  test('the Stripe page of a card payment is closed before the buyer can use another payment method', async (context) => {
    const stage = await openStripeStage(context);
    const sale = await stage.start('card');
    await send(stage, sale, 'switch');
    assert.equal((await fetch(sale.page)).status, 410);
    const second = await stage.start('wallet', sale.sessionId);
    await stage.act(second, 'pay');
    await stage.pass();
    assert.deepEqual(eventsAt(stage.usual, sale), PAID);
    await stage.assertBooks();
  });

  test('if the card was declined before the buyer chooses another method, the decline is the cause of the failure, and the card is known', async (context) => {
    const stage = await openStripeStage(context);
    const sale = await stage.start('card');
    stage.stripe.card.country = 'DE';
    stage.stripe.decline(sale.reference, 'card_declined');
    await send(stage, sale, 'switch');
    assert.equal((await fetch(sale.page)).status, 410);
    const { failureCode, failureSource, card } = await stage.payment(sale);
    assert.deepEqual([failureCode, failureSource], ['declined', 'issuer']);
    assert.deepEqual(card, { country: 'DE', group: 'visa credit' });
    const second = await stage.start('wallet', sale.sessionId);
    await stage.act(second, 'pay');
    await stage.pass();
    assert.deepEqual(eventsAt(stage.usual, sale), PAID);
    await stage.assertBooks();
  });

  test("a card payment has Stripe's actual fee beside the estimated cost", async (context) => {
    const stage = await openStripeStage(context);
    stage.stripe.cardRate = 0.044;
    const { actualCost, providerCost } = await stage.payment(await stage.sell());
    assert.deepEqual([actualCost, providerCost], [250, 175]);
    await stage.assertBooks();
  });

  test('a card payment gets its fee an hour later if Stripe does not know the fee at first', async (context) => {
    const stage = await openStripeStage(context);
    Object.assign(stage.stripe, { delaysFees: true, cardRate: 0.044 });
    const sale = await stage.sell();
    assert.equal((await stage.payment(sale)).actualCost, null);
    // Stripe has not booked the charge yet.
    await stage.assertBooks(4999 - 175);
    stage.stripe.settleFees();
    await stage.pass(HOUR);
    assert.equal((await stage.payment(sale)).actualCost, 250);
    assert.deepEqual(eventsAt(stage.usual, sale), PAID);
    await stage.assertBooks();
  });

  test('a card payment whose callbacks are lost gets its fee an hour after the inquiry', async (context) => {
    const stage = await openStripeStage(context);
    Object.assign(stage.stripe, { delaysFees: true, cardRate: 0.044, sendingOf: () => ({ times: 0, delayMs: 0 }) });
    const sale = await stage.start('card');
    stage.stripe.pay(sale.reference);
    await stage.pass(MINUTE);
    const { status, actualCost } = await stage.payment(sale);
    assert.deepEqual([status, actualCost], ['paid', null]);
    stage.stripe.settleFees();
    await stage.pass(HOUR);
    assert.equal((await stage.payment(sale)).actualCost, 250);
    await stage.assertBooks();
  });
});

describe('a bank debit at Stripe', () => {
  test('a bank debit stays pending for days, cannot be cancelled meanwhile, and is then paid', async (context) => {
    const stage = await openStripeStage(context);
    const { clock } = stage.tillway;
    const debit = await startDebit(stage);
    const { text, forms } = await stage.look(debit.sessionId);
    assert.match(text, /Your payment is in progress .* up to 4 business days/);
    assert.deepEqual(forms, []);
    // A page that the buyer opened earlier still has the forms, so the service must reject their requests.
    for (const step of ['switch', 'cancel'] as const) assert.equal((await send(stage, debit, step)).status, 303);
    const { status, timeoutAt, expectedBy } = await stage.payment(debit);
    assert.equal(status, 'pending');
    assert.ok(expectedBy! > clock.now() + 9 * DAY && timeoutAt >= expectedBy!);
    const asked = stage.stripe.requests.length;
    for (let hour = 0; hour < 24; hour++) await stage.pass(HOUR);
    const isInquiry = ({ operation }: { operation: string }) => operation.endsWith('/{session}');
    const inquiries = stage.stripe.requests.slice(asked).filter(isInquiry);
    assert.ok(inquiries.length >= 3 && inquiries.length <= 6, `${inquiries.length} inquiries in a day`);
    await stage.assertBooks();

    await stage.pass(2 * DAY);
    stage.stripe.finishDebit(debit.reference);
    await stage.pass();
    assert.deepEqual(eventsAt(stage.usual, debit), PAID);
    await stage.assertBooks();
  });

  test('a bank debit that the bank returns has failed, and the buyer can use another payment method', async (context) => {
    const stage = await openStripeStage(context);
    const debit = await startDebit(stage);
    await stage.pass(2 * DAY);
    stage.stripe.finishDebit(debit.reference, 'insufficient_funds');
    await stage.pass();
    const { status, failureSource } = await stage.payment(debit);
    assert.deepEqual([status, failureSource], ['failed', 'buyer']);
    assert.match((await stage.look(debit.sessionId)).text, /did not go through/);
    await stage.act(await stage.start('card', debit.sessionId), 'pay');
    await stage.pass();
    assert.deepEqual(eventsAt(stage.usual, debit), PAID);
    await stage.assertBooks();
  });

  test('a buyer cannot switch to another method after the bank debit has started, even before its callback arrives', async (context) => {
    const stage = await openStripeStage(context);
    const debit = await stage.start('local');
    stage.stripe.sendingOf = () => ({ times: 0, delayMs: 0 });
    stage.stripe.startDebit(debit.reference);
    const left = await send(stage, debit, 'switch');
    assert.match(left.headers.get('location')!, /notice=not_stopped/);
    await stage.pass(30 * SECOND);
    assert.match((await stage.look(debit.sessionId)).text, /in progress/);
  });
});

describe('callbacks of Stripe', () => {
  test('callbacks about objects of another program get status 200, are counted, and change no session', async (context) => {
    const stage = await openStripeStage(context);
    const { stripe } = stage;
    const sale = await stage.sell();
    let counted = 0;
    stage.tillway.service.deps.countForeignSignal = () => void counted++;
    // The other program refunds a payment of its own.
    const { charge } = { charge: [...stripe.world.charges.values()][0]! };
    const intent = stripe.world.intents.get(sale.intent)!;
    stripe.world.intents.set('pi_foreign', { ...intent, id: 'pi_foreign', metadata: {}, latest_charge: 'ch_foreign' });
    stripe.world.charges.set('ch_foreign', { ...charge, id: 'ch_foreign', payment_intent: 'pi_foreign' });
    stripe.refundInDashboard('pi_foreign', 100);
    stripe.openDispute('pi_foreign');
    const foreign = { id: 'cs_test_foreign', metadata: {}, client_reference_id: 'order-7' };
    assert.equal(await stripe.send({ ...stripe.events[0]!, id: 'evt_foreign', data: { object: foreign } }), 200);
    await stage.pass();
    assert.deepEqual(stripe.undelivered, []);
    assert.equal(counted, 3);
    const { status, version } = (await stage.tillway.service.deps.store.session(sale.sessionId))!;
    await stage.pass(DAY);
    const after = (await stage.tillway.service.deps.store.session(sale.sessionId))!;
    assert.deepEqual([after.status, after.version], [status, version]);
    // Stripe's balance also includes the refund of the other program.
    await stage.assertBooks(100);
  });

  for (const [name, outage, expected] of [
    ['callbacks during a short API outage are acknowledged; the payment is paid 30 s after the outage', 2, PAID],
    ['a payment that the buyer makes in an API outage of 50 minutes is paid after the outage', 50, PAID],
    ['a payment that timed out in an API outage is paid after it', 70, [PAID[0], 'payment.failed', PAID[1]]],
  ] as const) {
    test(name, async (context) => {
      const stage = await openStripeStage(context);
      const { stripe, tillway } = stage;
      const sale = await stage.start('card');
      await stripe.goDown();
      stripe.pay(sale.reference);
      await stripe.sent();
      assert.deepEqual(stripe.undelivered, []);
      const back = await fetch(`${tillway.url}/checkout/${sale.sessionId}/back`);
      assert.match(await back.text(), /We are confirming/);
      const step = outage % 5 === 0 ? 5 : 1;
      for (let minute = 0; minute < outage; minute += step) await stage.pass(step * MINUTE);
      assert.deepEqual(eventsAt(stage.usual, sale), expected.slice(0, -1));
      await stripe.listen();
      const withinMs = Math.max(30 * SECOND, (outage * MINUTE) / 120);
      for (let passed = 0; passed < withinMs; passed += 10 * SECOND) await stage.pass(10 * SECOND);
      assert.deepEqual(eventsAt(stage.usual, sale), expected);
      await stage.assertBooks();
    });
  }

  test('after a lost callback an inquiry marks the payment paid within 30 s', async (context) => {
    const stage = await openStripeStage(context);
    const sale = await stage.start('card');
    stage.stripe.sendingOf = () => ({ times: 0, delayMs: 0 });
    stage.stripe.pay(sale.reference);
    await stage.pass(30 * SECOND);
    assert.deepEqual(eventsAt(stage.usual, sale), PAID);
    await stage.assertBooks();
  });

  test('forged callbacks get 401, callbacks of another environment or account get 200, and neither marks the payment paid', async (context) => {
    const stage = await openStripeStage(context);
    const { stripe } = stage;
    const sale = await stage.start('card');
    stripe.sendingOf = () => ({ times: 0, delayMs: 0 });
    stripe.pay(sale.reference);
    const [event] = stripe.events;
    for (const forgery of ['other_secret', 'changed_body', 'old', 'future', 'other_scheme', 'unsigned'] as const) {
      assert.equal(await stripe.send(event!, forgery), 401, forgery);
    }
    for (const forgery of ['live', 'account'] as const) assert.equal(await stripe.send(event!, forgery), 200, forgery);
    await stage.pass();
    assert.equal((await stage.payment(sale)).status, 'pending');
    assert.equal(await stripe.send(event!), 200);
    await stage.pass();
    assert.equal((await stage.payment(sale)).status, 'paid');
  });

  test("a signed callback that contradicts Stripe's answer does not mark the payment paid", async (context) => {
    const stage = await openStripeStage(context);
    const { stripe } = stage;
    const sale = await stage.start('card');
    const open = stripe.world.sessions.get(sale.reference)!;
    const paid = { ...open, status: 'complete', payment_status: 'paid' };
    const about = { object: 'event', type: 'checkout.session.completed', livemode: false } as const;
    const created = Math.floor(stage.tillway.clock.now() / SECOND);
    assert.equal(await stripe.send({ id: 'evt_leaked', ...about, created, data: { object: paid } }), 200);
    await stage.pass();
    assert.equal((await stage.payment(sale)).status, 'pending');
    await stage.assertBooks();
  });
});
