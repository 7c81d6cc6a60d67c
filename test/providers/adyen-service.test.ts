import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { cancelCheckout, chooseAnotherMethod } from '../../src/operations/leave-payment.ts';
import type { Discrepancy } from '../../sdk/src/index.ts';
import { DAY, MINUTE, SECOND } from '../fixtures/checkout-records.ts';
import { pick } from '../support/gateway.ts';
import { startTestService } from '../support/service.ts';
import { adyenVariables, openAdyenStage, stageOfSuite } from './adyen-stage.ts';
import { pageText, sendForm } from './stripe-service.ts';
import { eventsAt } from './stripe-stage.ts';

const HOUR = 60 * MINUTE;
const PAID = ['payment.provider_pending', 'payment.paid'];
const LOST = () => ({ times: 0, delayMs: 0 });

describe('a payment at Adyen', () => {
  const stageOf = stageOfSuite();

  test('a payment is paid by its notification, once, however often that is sent', async () => {
    const stage = stageOf();
    const sale = await stage.sell();
    assert.deepEqual(eventsAt(stage.merchant, sale), PAID);
    for (const item of stage.adyen.items) assert.equal(await stage.adyen.send([item, item]), 200);
    await stage.pass(DAY);
    assert.deepEqual(eventsAt(stage.merchant, sale), PAID);
    const { status, chargeReference } = await stage.payment(sale);
    assert.deepEqual([status, chargeReference], ['paid', sale.charge.psp]);
    await stage.assertBooks();
  });

  test('a notification that arrives before the answer to the handoff marks the payment paid', async () => {
    const stage = stageOf();
    stage.adyen.paysBeforeAnswer = true;
    const started = await stage.start();
    stage.adyen.paysBeforeAnswer = false;
    await stage.pass();
    assert.equal((await stage.payment(started)).status, 'paid');
    await stage.assertBooks();
  });

  test('after a refused authorisation the buyer can pay with the same link', async () => {
    const stage = stageOf();
    const started = await stage.start();
    await stage.act(started, 'decline');
    await stage.pass();
    const { status, decline } = await stage.payment(started);
    assert.deepEqual([status, decline?.code, decline?.source], ['pending', 'insufficient_funds', 'buyer']);
    await stage.act(started, 'pay');
    await stage.pass();
    assert.equal((await stage.payment(started)).status, 'paid');
    assert.deepEqual(eventsAt(stage.merchant, started), PAID);
    await stage.assertBooks();
  });

  test('a link that expires after a refused authorisation fails the payment with the reason of the refusal', async () => {
    const stage = stageOf();
    const started = await stage.start();
    await stage.act(started, 'decline');
    await stage.pass();
    stage.adyen.expire(started.link);
    await stage.pass(31_000);
    const { status, failureCode } = await stage.payment(started);
    assert.deepEqual([status, failureCode], ['failed', 'insufficient_funds']);
  });

  test('if a payment was refused before the buyer chooses another method, the refusal is the cause of the failure', async () => {
    const stage = stageOf();
    const started = await stage.start();
    stage.adyen.decline(started.link);
    await stage.pass();
    await chooseAnotherMethod(stage.tillway.service.deps, started.sessionId, 1);
    const { status, failureCode, failureSource } = await stage.payment(started);
    assert.deepEqual([status, failureCode, failureSource], ['failed', 'declined', 'issuer']);
    await stage.assertBooks();
  });

  test('an expired offer does not end a payment whose link can still be paid', async () => {
    const stage = stageOf();
    const started = await stage.start();
    stage.adyen.expire(started.link);
    Object.assign(stage.adyen.links.get(started.link)!, { status: 'active' });
    await stage.pass(31_000);
    assert.equal((await stage.payment(started)).status, 'pending');
  });

  test('the cancellation of a payment whose link was used ends, and its money is applied', async () => {
    const stage = stageOf();
    const started = await stage.start();
    stage.adyen.pay(started.link);
    await cancelCheckout(stage.tillway.service.deps, started.sessionId, 1);
    await stage.pass();
    assert.equal((await stage.payment(started)).status, 'paid');
    const tasks = await stage.tillway.service.deps.store.tasksDue(Number.MAX_SAFE_INTEGER, 10);
    assert.deepEqual(
      tasks.filter(({ paymentId }) => paymentId === started.paymentId),
      [],
    );
  });

  test('a second authorisation of one payment is listed as a discrepancy', async () => {
    await using stage = await openAdyenStage();
    const sale = await stage.sell();
    Object.assign(stage.adyen.links.get(sale.link)!, { status: 'active' });
    stage.adyen.pay(sale.link);
    await stage.pass();
    const listed = (await stage.api.list<Discrepancy>('discrepancies')).filter(
      ({ paymentId }) => paymentId === sale.paymentId,
    );
    assert.equal(listed.length, 1);
  });

  test('a bank debit is in progress for days, and is then paid', async () => {
    const stage = stageOf();
    const started = await stage.start();
    await stage.act(started, 'debit');
    await stage.pass();
    const { timeoutAt, expectedBy } = await stage.payment(started);
    assert.ok(expectedBy! > stage.tillway.clock.now() + 6 * DAY && timeoutAt >= expectedBy!);
    assert.match(await pageText(stage.tillway, `/checkout/${started.sessionId}`), /in progress .* business days/);
    await stage.pass(3 * DAY);
    assert.equal((await stage.payment(started)).status, 'pending');
    stage.adyen.finishDebit(started.link);
    await stage.pass();
    assert.deepEqual(eventsAt(stage.merchant, started), PAID);
    await stage.assertBooks();
  });

  test('a bank debit that the bank refuses fails once its link has expired', async () => {
    const stage = stageOf();
    const started = await stage.start();
    await stage.act(started, 'debit');
    await stage.pass(2 * DAY);
    stage.adyen.finishDebit(started.link, 'Closed account');
    for (let hour = 0; hour < 8; hour++) await stage.pass(HOUR);
    const { status, failureSource } = await stage.payment(started);
    assert.deepEqual([status, failureSource], ['failed', 'buyer']);
    await stage.assertBooks();
  });

  test('a payment that the buyer cancels can no longer be paid at Adyen, and a debit in progress cannot be cancelled', async () => {
    const stage = stageOf();
    const cancel = ({ sessionId }: { sessionId: string }) => sendForm(stage.tillway, sessionId, 'cancel');
    const started = await stage.start();
    await cancel(started);
    await stage.pass();
    assert.equal((await fetch(started.page)).status, 410);
    assert.equal((await stage.payment(started)).status, 'failed');
    const debit = await stage.start();
    await stage.act(debit, 'debit');
    await stage.pass();
    await cancel(debit);
    await stage.pass();
    assert.equal((await stage.payment(debit)).status, 'pending');
  });

  test('a payment with another amount than the session is a discrepancy', async () => {
    const stage = stageOf();
    const started = await stage.start();
    const about = { psp: 'PSP1', payment: '', reference: started.paymentId, cents: 100 };
    await stage.adyen.send([stage.adyen.itemOf('AUTHORISATION', about)]);
    await stage.pass();
    assert.notEqual((await stage.payment(started)).status, 'paid');
    const listed = await stage.api.list<Discrepancy>('discrepancies');
    const own = listed.filter(({ paymentId }) => paymentId === started.paymentId);
    assert.deepEqual(pick(own, 'received'), [[1]]);
  });
});

describe('the notifications of Adyen', () => {
  const stageOf = stageOfSuite();

  test('an instance is in standby until the first signed notification, and ready at once after it', async () => {
    await using stage = await openAdyenStage({ isNotified: false });
    const { adyen, api, tillway } = stage;
    await stage.pass();
    const adyenOf = async () =>
      (await api.list<{ id: string; ready: boolean; reason: string | null }>('providers')).find(
        ({ id }) => id === 'adyen_test',
      );
    assert.deepEqual(
      [(await adyenOf())?.ready, (await adyenOf())?.reason],
      [false, 'no signed notification has arrived yet'],
    );
    assert.equal(
      await adyen.send(
        [adyen.itemOf('REPORT_AVAILABLE', { psp: 'A', payment: '', reference: '', cents: 0 })],
        'other_key',
      ),
      401,
    );
    await stage.pass(0);
    assert.equal((await adyenOf())?.ready, false);
    assert.equal(await adyen.sendTest(), 200);
    await stage.pass(0);
    assert.equal((await adyenOf())?.ready, true);
    // Another process knows it from the database.
    await using beside = await startTestService({ variables: adyenVariables(adyen), beside: tillway });
    await beside.pass(0);
    assert.equal(beside.service.deps.readiness.reasonOf('adyen_test', 'ach'), null);
  });

  test('3 callbacks with a wrong signature take the instance out of service, until a right one arrives', async () => {
    const stage = stageOf();
    const { adyen, tillway } = stage;
    const reason = () => tillway.service.deps.readiness.reasonOf('adyen_test', 'ach');
    const item = adyen.itemOf('REPORT_AVAILABLE', { psp: 'A', payment: '', reference: '', cents: 0 });
    for (let each = 0; each < 3; each++) assert.equal(await adyen.send([item], 'other_key'), 401);
    assert.match(reason() ?? '', /wrong signature/);
    await stage.pass(10 * SECOND);
    assert.match(reason() ?? '', /wrong signature/);
    assert.equal(await adyen.send([item]), 200);
    await stage.pass(0);
    assert.equal(reason(), null);
  });

  test('a lost notification is an error and a metric after 15 minutes, and never marks the payment paid', async () => {
    await using stage = await openAdyenStage({ variables: { METRICS_PORT: '0' } });
    const { adyen, tillway } = stage;
    const started = await stage.start();
    adyen.sendingOf = LOST;
    await stage.act(started, 'pay');
    const errors = () =>
      tillway.logged.filter((line) => line.includes('has not arrived') && line.includes(started.paymentId));
    for (let minute = 0; minute < 14; minute++) await stage.pass(MINUTE);
    assert.deepEqual(errors(), []);
    for (let minute = 0; minute < 11; minute++) await stage.pass(MINUTE);
    assert.ok(errors().length >= 1);
    const metrics = await (await fetch(`${tillway.service.metricsUrl}/metrics`)).text();
    assert.match(metrics, /^tillway_provider_lost_callbacks_total\{provider="adyen_test"\} [1-9]/m);
    // The buyer may have paid, so the payment stays pending after its time-out, and nobody pays twice.
    for (let day = 0; day < 4; day++) await stage.pass(DAY);
    assert.equal((await stage.payment(started)).status, 'pending');
    // Adyen sends it later, or a person sends it again in the Customer Area.
    assert.equal(await adyen.send([adyen.items.at(-1)!]), 200);
    await stage.pass();
    assert.equal((await stage.payment(started)).status, 'paid');
    await stage.assertBooks();
  });

  test('a used link without the time of its use is overdue too, and its payment does not time out', async () => {
    await using stage = await openAdyenStage();
    const { adyen, tillway } = stage;
    const started = await stage.start();
    adyen.sendingOf = LOST;
    adyen.pay(started.link);
    delete (adyen.links.get(started.link) as { updatedAt?: string }).updatedAt;
    for (let hour = 0; hour < 26; hour++) await stage.pass(HOUR);
    assert.ok(tillway.logged.some((line) => line.includes('has not arrived')));
    assert.equal((await stage.payment(started)).status, 'pending');
  });

  test('a batch with a forged item changes nothing, and a genuine batch applies every item', async () => {
    const stage = stageOf();
    const { adyen } = stage;
    adyen.sendingOf = LOST;
    const sales = [await stage.start(), await stage.start()];
    for (const { link } of sales) adyen.pay(link);
    const statuses = () => Promise.all(sales.map(async (sale) => (await stage.payment(sale)).status));
    for (const forgery of ['other_key', 'unsigned', 'changed_amount', 'changed_reference', 'no_password'] as const) {
      assert.equal(await adyen.send(adyen.items, forgery), 401, forgery);
      // A right callback in between, as the instance would otherwise be taken out of service.
      await adyen.sendTest();
    }
    await stage.pass();
    assert.deepEqual(await statuses(), ['pending', 'pending']);
    assert.equal(await adyen.send(adyen.items), 200);
    assert.deepEqual(await statuses(), ['paid', 'paid']);
    await stage.assertBooks();
  });

  test('a link whose status is unknown stays pending', async () => {
    const stage = stageOf();
    const started = await stage.start();
    stage.adyen.links.get(started.link)!.status = 'on_the_moon';
    await stage.pass(HOUR);
    assert.equal((await stage.payment(started)).status, 'pending');
  });
});
