import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Discrepancy, Refund } from '../../sdk/src/index.ts';
import { DAY } from '../fixtures/checkout-records.ts';
import { pick } from '../support/gateway.ts';
import { type StartedAtAdyen, stageOfSuite } from './adyen-stage.ts';

const LOST = () => ({ times: 0, delayMs: 0 });

describe('a refund at Adyen', () => {
  const stageOf = stageOfSuite();

  async function refunded() {
    const stage = stageOf();
    const asked = stage.adyen.requests.length;
    const sale = await stage.sell();
    const { id } = await stage.api.post<Refund>(`payments/${sale.paymentId}/refunds`, { amount: 20 });
    await stage.pass();
    const state = async () => (await stage.api.get<Refund>(`refunds/${id}`)).status;
    assert.equal(await state(), 'pending');
    await stage.assertBooks();
    // The service neither asks about the refund nor requests it again.
    await stage.pass(8 * DAY);
    assert.equal(stage.adyen.requests.slice(asked).filter(({ path }) => path.endsWith('/refunds')).length, 1);
    return { stage, sale, state, psp: [...stage.adyen.refunds.keys()].at(-1)! };
  }

  test('a refund is pending until its notification, and may fail after its success', async () => {
    const { stage, state, psp } = await refunded();
    stage.adyen.finishRefund(psp);
    await stage.pass();
    assert.equal(await state(), 'succeeded');
    await stage.assertBooks();
    stage.adyen.returnRefund(psp);
    await stage.pass(3 * DAY);
    assert.equal(await state(), 'failed');
    await stage.assertBooks();
  });

  test('a refund that Adyen cannot make has failed', async () => {
    const { stage, state, sale, psp } = await refunded();
    stage.adyen.finishRefund(psp, 'Insufficient balance on the account');
    await stage.pass();
    assert.equal(await state(), 'failed');
    assert.equal((await stage.payment(sale)).refunded, 0);
    await stage.assertBooks();
  });

  test('a refund in the Customer Area is recorded as a refund of the payment, and may fail later', async () => {
    const stage = stageOf();
    const sale = await stage.sell();
    const { psp } = stage.adyen.refundInCustomerArea(sale.charge, 1500);
    await stage.pass();
    await stage.adyen.send([stage.adyen.items.at(-1)!]);
    assert.deepEqual(await stage.api.list<Discrepancy>('discrepancies'), []);
    const refunds = () => stage.api.list<Refund>(`refunds?paymentId=${sale.paymentId}`);
    assert.deepEqual(pick(await refunds(), 'status', 'amount'), [['succeeded', 15]]);
    await stage.assertBooks();
    stage.adyen.returnRefund(psp, 'REFUNDED_REVERSED');
    await stage.pass();
    assert.deepEqual(pick(await refunds(), 'status', 'amount'), [['failed', 15]]);
    await stage.assertBooks();
  });
});

describe('a payment that is cancelled after its authorisation', () => {
  const stageOf = stageOfSuite();
  let unbooked = 0;

  for (const code of ['CANCELLATION', 'TECHNICAL_CANCEL', 'CANCEL_OR_REFUND'] as const) {
    test(`${code} of a paid payment is a refund of it`, async () => {
      const stage = stageOf();
      const before = stage.adyen.balance();
      const sale = await stage.sell();
      const fee = before + sale.charge.cents - stage.adyen.balance();
      const item = stage.adyen.endAuthorised(sale.charge, code);
      await stage.pass();
      await stage.adyen.send([item]);
      const refunds = await stage.api.list<Refund>(`refunds?paymentId=${sale.paymentId}`);
      assert.deepEqual(pick(refunds, 'status', 'amount'), [['succeeded', 49.99]]);
      const events = await stage.api.list<{ type: string }>(`events?sessionId=${sale.sessionId}`);
      assert.ok(events.some(({ type }) => type === 'payment.refunded'));
      // The ledger has the estimated cost of a payment that Adyen did not charge for.
      unbooked += fee;
      await stage.assertBooks(-unbooked);
    });
  }

  test('the cancellation of a further charge leaves the paid order as it is', async () => {
    const stage = stageOf();
    const sale = await stage.sell();
    const second = stage.adyen.payAgain(sale.link);
    stage.adyen.endAuthorised(second, 'CANCELLATION');
    await stage.pass();
    assert.equal((await stage.payment(sale)).refunded, 0);
    const listed = (await stage.api.list<Discrepancy>('discrepancies')).filter(
      (one) => one.paymentId === sale.paymentId,
    );
    assert.deepEqual(pick(listed, 'kind', 'resolution'), [['amount_mismatch', 'refunded']]);
    await stage.assertBooks(-unbooked);
  });

  test('the cancellation of an unpaid payment fails it and refunds nothing', async () => {
    const stage = stageOf();
    const started = await stage.start();
    stage.adyen.endAuthorised(stage.adyen.startDebit(started.link), 'CANCELLATION');
    await stage.pass();
    assert.equal((await stage.payment(started)).status, 'failed');
    assert.deepEqual(await stage.api.list<Refund>(`refunds?paymentId=${started.paymentId}`), []);
    const listed = await stage.api.list<Discrepancy>('discrepancies');
    assert.ok(listed.every(({ paymentId }) => paymentId !== started.paymentId));
  });
});

describe('a dispute at Adyen', () => {
  const stageOf = stageOfSuite();
  const reversals = async ({ paymentId }: StartedAtAdyen) =>
    (await stageOf().api.list<Discrepancy>('discrepancies')).filter((one) => one.paymentId === paymentId);

  test('a dispute is opened, taken, returned and taken again', async () => {
    const stage = stageOf();
    const { adyen } = stage;
    const sale = await stage.sell();
    const dispute = adyen.openDispute(sale.charge);
    await stage.pass();
    assert.deepEqual(pick(await reversals(sale), 'kind', 'status', 'received'), [['reversal', 'open', 0]]);
    await stage.assertBooks();
    adyen.chargeBack(dispute);
    await stage.pass();
    assert.equal((await stage.payment(sale)).reversed, sale.charge.cents);
    await stage.assertBooks();
    adyen.reverseChargeback(dispute);
    await stage.pass();
    assert.equal((await stage.payment(sale)).reversed, 0);
    assert.deepEqual(pick(await reversals(sale), 'status'), [['resolved']]);
    await stage.assertBooks();
    adyen.chargeBack(dispute, { again: true });
    await stage.pass();
    assert.equal((await stage.payment(sale)).reversed, sale.charge.cents);
    assert.deepEqual(pick(await reversals(sale), 'status'), [['open']]);
    await stage.assertBooks();
  });

  test('the events of a dispute have the same result in the opposite order', async () => {
    const stage = stageOf();
    const { adyen } = stage;
    const sale = await stage.sell();
    adyen.sendingOf = LOST;
    const dispute = adyen.openDispute(sale.charge);
    adyen.chargeBack(dispute);
    adyen.reverseChargeback(dispute);
    for (const item of adyen.items.slice(-3).toReversed()) assert.equal(await adyen.send([item]), 200);
    await stage.pass();
    assert.equal((await stage.payment(sale)).reversed, 0);
    assert.deepEqual(pick(await reversals(sale), 'kind', 'status'), [['reversal', 'resolved']]);
    await stage.assertBooks();
  });

  test('a part of a chargeback that is returned and taken again is booked to the cent, in any order', async () => {
    const stage = stageOf();
    const { adyen } = stage;
    const orders = [
      [0, 1, 2, 3],
      [0, 2, 1, 3],
      [3, 2, 1, 0],
    ];
    const { sendingOf } = adyen;
    for (const order of orders) {
      adyen.sendingOf = sendingOf;
      const sale = await stage.sell();
      adyen.sendingOf = LOST;
      const dispute = adyen.openDispute(sale.charge);
      adyen.chargeBack(dispute);
      adyen.reverseChargeback(dispute, 2000);
      adyen.chargeBack(dispute, { again: true, cents: 1500 });
      const items = adyen.items.slice(-4);
      for (const index of order) {
        for (let times = 0; times < 2; times++) assert.equal(await adyen.send([items[index]!]), 200);
      }
      const taken = sale.charge.cents - 2000 + 1500;
      assert.equal((await stage.payment(sale)).reversed, taken, order.join());
      assert.deepEqual(pick(await reversals(sale), 'kind', 'status', 'received'), [['reversal', 'open', taken / 100]]);
      await stage.assertBooks();
    }
  });

  test('a dispute of which a part was returned is lost, and its record stays open', async () => {
    const stage = stageOf();
    const { adyen } = stage;
    const sale = await stage.sell();
    const dispute = adyen.openDispute(sale.charge);
    adyen.chargeBack(dispute);
    adyen.reverseChargeback(dispute, 2000);
    await stage.pass();
    assert.equal((await stage.payment(sale)).reversed, sale.charge.cents - 2000);
    assert.deepEqual(pick(await reversals(sale), 'status', 'received'), [['open', 29.99]]);
    const reversal = await stage.tillway.service.deps.store.reversalOfReference(sale.paymentId, dispute.psp);
    assert.equal(reversal!.status, 'lost');
    await stage.assertBooks();
  });

  test('a debit whose capture fails is taken back', async () => {
    const stage = stageOf();
    const sale = await stage.sell();
    // The charge of this debit was not paid out, and neither was its fee.
    const { net } = stage.adyen.movements.at(-1)!;
    const fee = sale.charge.cents - net;
    stage.adyen.endAuthorised(sale.charge, 'CAPTURE_FAILED');
    await stage.pass();
    assert.equal((await stage.payment(sale)).reversed, sale.charge.cents);
    await stage.assertBooks(-fee);
  });
});
