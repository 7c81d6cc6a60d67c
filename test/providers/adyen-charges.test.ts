import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Discrepancy } from '../../sdk/src/index.ts';
import { chooseAnotherMethod } from '../../src/operations/leave-payment.ts';
import { leftOf } from '../../src/domain/refund-record.ts';
import { DAY, MINUTE } from '../fixtures/checkout-records.ts';
import { booksOf, pick } from '../support/gateway.ts';
import { type AdyenStage, stageOfSuite } from './adyen-stage.ts';
import { pageText } from './stripe-service.ts';

interface Started {
  paymentId: string;
}

describe('charges and refusals of one payment at Adyen', () => {
  const stageOf = stageOfSuite();

  /** The notification of a charge of a payment. */
  function chargeOf(stage: AdyenStage, { paymentId }: Started, psp: string, cents: number) {
    return stage.adyen.itemOf('AUTHORISATION', { psp, payment: '', reference: paymentId, cents });
  }

  async function listed(stage: AdyenStage, { paymentId }: Started) {
    const all = await stage.api.list<Discrepancy>('discrepancies');
    return all.filter((one) => one.paymentId === paymentId);
  }

  async function amounts(stage: AdyenStage, started: Started) {
    return pick(await listed(stage, started), 'status', 'expected', 'received', 'actions');
  }

  /** Paths of the requests for refunds. */
  function refundPaths(stage: AdyenStage): string[] {
    return stage.adyen.requests.map(({ path }) => path).filter((path) => path.endsWith('/refunds'));
  }

  test('every further charge of a paid payment adds to a discrepancy that can be refunded', async () => {
    const stage = stageOf();
    const sale = await stage.sell();
    const [second, third] = [chargeOf(stage, sale, 'SECOND1', 4999), chargeOf(stage, sale, 'THIRD1', 4999)];
    const actions = ['refund', 'accept'];
    await stage.adyen.send([second]);
    assert.deepEqual(await amounts(stage, sale), [['open', 0, 49.99, actions]]);
    await stage.adyen.send([third]);
    assert.deepEqual(await amounts(stage, sale), [['open', 0, 99.98, actions]]);
    for (const item of [second, third, chargeOf(stage, sale, sale.charge.psp, 4999)]) await stage.adyen.send([item]);
    assert.deepEqual(await amounts(stage, sale), [['open', 0, 99.98, actions]]);

    const [{ id } = assert.fail()] = await listed(stage, sale);
    await stage.api.post(`discrepancies/${id}/resolve`, { action: 'accept' });
    assert.deepEqual(
      (await listed(stage, sale)).map(({ resolution }) => resolution),
      ['accepted'],
    );
  });

  test('a refund of an accepted further charge, made at Adyen, is a refund of the payment', async () => {
    const stage = stageOf();
    const sale = await stage.sell();
    const second = stage.adyen.payAgain(sale.link);
    await stage.pass();
    const [{ id } = assert.fail()] = await listed(stage, sale);
    await stage.api.post(`discrepancies/${id}/resolve`, { action: 'accept' });
    stage.adyen.refundInCustomerArea(second, second.cents);
    await stage.pass();
    assert.deepEqual(pick(await listed(stage, sale), 'kind', 'resolution'), [['amount_mismatch', 'accepted']]);
    const payment = await stage.payment(sale);
    assert.deepEqual([payment.refunded, leftOf(payment).total], [4999, 4999]);
  });

  test('refunds of further charges, made at Adyen, resolve their money and leave the paid order as it is', async () => {
    const stage = stageOf();
    const sale = await stage.sell();
    const books = () => booksOf(stage.tillway, sale.paymentId);
    const [before, asked] = [await books(), refundPaths(stage).length];
    const [second, third] = [stage.adyen.payAgain(sale.link), stage.adyen.payAgain(sale.link)];
    await stage.pass();
    stage.adyen.refundInCustomerArea(third, third.cents);
    await stage.pass();
    const resolutions = async () =>
      (await listed(stage, sale)).map((one) => `${one.kind} ${one.resolution} ${one.received}`).toSorted();
    const [open, refunded] = ['amount_mismatch null 49.99', 'amount_mismatch refunded 49.99'];
    assert.deepEqual(await resolutions(), [open, refunded]);
    // Adyen repeats its reports on all charges.
    for (const { psp } of [third, second, sale.charge]) await stage.adyen.send([chargeOf(stage, sale, psp, 4999)]);
    assert.deepEqual(await resolutions(), [open, refunded]);
    const { psp } = stage.adyen.refundInCustomerArea(second, second.cents);
    await stage.pass();
    assert.deepEqual(await resolutions(), [refunded, refunded]);
    assert.equal((await stage.payment(sale)).refunded, 0);
    assert.equal(refundPaths(stage).length, asked);
    assert.deepEqual(await books(), before);

    stage.adyen.returnRefund(psp);
    await stage.pass();
    assert.deepEqual(await resolutions(), [open, refunded]);
  });

  test('a refund of a first wrong amount, made at Adyen, resolves it and leaves the order unpaid', async () => {
    const stage = stageOf();
    const started = await stage.start();
    await stage.adyen.send([chargeOf(stage, started, 'WRONG3', 4000)]);
    const refund = { psp: 'REFUND3', payment: 'WRONG3', reference: started.paymentId, cents: 4000 };
    await stage.adyen.send([stage.adyen.itemOf('REFUND', refund)]);
    assert.deepEqual(pick(await listed(stage, started), 'kind', 'resolution'), [['amount_mismatch', 'refunded']]);
    assert.equal((await stage.payment(started)).status, 'pending');
  });

  test('a refund at Adyen of more than the money of the further charges is listed', async () => {
    const stage = stageOf();
    const sale = await stage.sell();
    await stage.adyen.send([chargeOf(stage, sale, 'SECOND2', 1000)]);
    const refund = { psp: 'REFUND2', payment: 'SECOND2', reference: sale.paymentId, cents: 1001 };
    await stage.adyen.send([stage.adyen.itemOf('REFUND', refund)]);
    const kinds = (await listed(stage, sale)).map(({ kind }) => kind);
    assert.deepEqual(kinds.toSorted(), ['amount_mismatch', 'refund_excess']);
  });

  test('a wrong amount is refunded from its own charge', async () => {
    const stage = stageOf();
    const started = await stage.start();
    await stage.adyen.send([chargeOf(stage, started, 'WRONG1', 4000)]);
    const [{ id } = assert.fail()] = await listed(stage, started);
    await stage.api.post(`discrepancies/${id}/resolve`, { action: 'refund' });
    await stage.pass(MINUTE);
    assert.ok(
      refundPaths(stage).some((path) => path.includes('/payments/WRONG1/')),
      refundPaths(stage).join(),
    );
  });

  test('the charge of the total after a smaller one leaves the money of both to the operator', async () => {
    const stage = stageOf();
    const started = await stage.start();
    await stage.adyen.send([chargeOf(stage, started, 'PART1', 1000)]);
    await stage.adyen.send([chargeOf(stage, started, 'WHOLE1', 4999)]);
    const expected = [['open', 49.99, 59.99, ['refund', 'accept']]];
    assert.deepEqual(await amounts(stage, started), expected);
    await stage.adyen.send([chargeOf(stage, started, 'PART1', 1000)]);
    assert.deepEqual(await amounts(stage, started), expected);
  });

  test('after a refused bank debit the buyer can choose another method', async () => {
    const stage = stageOf();
    const started = await stage.start();
    await stage.act(started, 'debit');
    await stage.pass(DAY);
    stage.adyen.finishDebit(started.link, `Closed\u{202e}account ${'x'.repeat(1000)}`);
    await stage.pass();
    const { status, expectedBy, decline } = await stage.payment(started);
    assert.deepEqual([status, expectedBy], ['pending', null]);
    assert.match(decline!.reason!, /^Closed account x{185}$/);
    assert.doesNotMatch(await pageText(stage.tillway, `/checkout/${started.sessionId}`), /You have done your part/);
    await chooseAnotherMethod(stage.tillway.service.deps, started.sessionId, 1);
    assert.equal((await stage.payment(started)).status, 'failed');
  });

  test('a pending debit that is reported after its own refusal does not stop the buyer, and another debit does', async () => {
    const stage = stageOf();
    const started = await stage.start();
    const { deps } = stage.tillway.service;
    const tryOf = (psp: string, eventCode: string, success: string) =>
      stage.adyen.itemOf(eventCode, { psp, payment: '', reference: started.paymentId, cents: 4999 }, { success });
    const page = () => pageText(stage.tillway, `/checkout/${started.sessionId}`);

    await stage.adyen.send([tryOf('DEBIT1', 'AUTHORISATION', 'false'), tryOf('DEBIT1', 'PENDING', 'true')]);
    assert.equal((await stage.payment(started)).expectedBy, null);
    assert.match(await page(), /Adyen has reported a declined try.* Continue at Adyen Choose another way to pay/);

    await stage.adyen.send([tryOf('DEBIT2', 'PENDING', 'true')]);
    assert.match(await page(), /Your payment is in progress You have done your part/);
    assert.doesNotMatch(await page(), /another way to pay/);
    await chooseAnotherMethod(deps, started.sessionId, 1);
    assert.equal((await stage.payment(started)).status, 'pending');

    await stage.adyen.send([tryOf('DEBIT2', 'AUTHORISATION', 'false')]);
    await chooseAnotherMethod(deps, started.sessionId, 1);
    assert.equal((await stage.payment(started)).status, 'failed');
  });
});
