import assert from 'node:assert/strict';
import { type TestContext, describe, test } from 'node:test';
import type { Discrepancy, Refund } from '../../sdk/src/index.ts';
import { DAY } from '../fixtures/checkout-records.ts';
import { pick } from '../support/gateway.ts';
import { type StartedAtStripe, eventsAt, openStripeStage } from './stripe-stage.ts';

const SECOND = 1000;

describe('a refund at Stripe', () => {
  async function refunded(context: TestContext, status: 'pending' | 'succeeded') {
    const stage = await openStripeStage(context);
    const sale = await stage.sell();
    stage.stripe.nextRefundStatus = status;
    const { id } = await stage.api.post<Refund>(`payments/${sale.paymentId}/refunds`, { amount: 20 });
    await stage.pass();
    const state = async (): Promise<string> => (await stage.api.get<Refund>(`refunds/${id}`)).status;
    return { stage, sale, state, atStripe: [...stage.stripe.world.refunds.keys()][0]! };
  }

  test('a refund that is pending at Stripe succeeds later, and is announced then', async (context) => {
    const { stage, sale, state, atStripe } = await refunded(context, 'pending');
    assert.equal(await state(), 'pending');
    await stage.assertBooks();
    await stage.pass(DAY);
    stage.stripe.finishRefund(atStripe, 'succeeded');
    await stage.pass();
    assert.equal(await state(), 'succeeded');
    assert.equal(stage.stripe.world.refunds.size, 1);
    assert.deepEqual(eventsAt(stage.named, sale), ['payment.refunded']);
    await stage.assertBooks();
  });

  test('a refund that is pending at Stripe fails later, and no event is sent', async (context) => {
    const { stage, sale, state, atStripe } = await refunded(context, 'pending');
    await stage.assertBooks();
    await stage.pass(DAY);
    stage.stripe.finishRefund(atStripe, 'failed', 'expired_or_canceled_card');
    await stage.pass();
    assert.equal(await state(), 'failed');
    assert.deepEqual(eventsAt(stage.named, sale), []);
    await stage.assertBooks();
  });

  test('a refund that fails days after its success is announced again and taken out of the books', async (context) => {
    const { stage, sale, state, atStripe } = await refunded(context, 'succeeded');
    assert.equal(await state(), 'succeeded');
    await stage.assertBooks();
    await stage.pass(3 * DAY);
    stage.stripe.finishRefund(atStripe, 'failed', 'lost_or_stolen_card');
    await stage.pass();
    assert.equal(await state(), 'failed');
    assert.deepEqual(eventsAt(stage.named, sale), ['payment.refunded', 'payment.refunded']);
    assert.equal((await stage.payment(sale)).refunded, 0);
    await stage.assertBooks();
  });

  test("a refund made in Stripe's dashboard is recorded as a refund of the payment", async (context) => {
    const stage = await openStripeStage(context);
    const sale = await stage.sell();
    const refunds = async () =>
      pick(await stage.api.list<Refund>(`refunds?paymentId=${sale.paymentId}`), 'amount', 'status', 'reason');
    stage.stripe.nextRefundStatus = 'pending';
    const { id } = stage.stripe.refundInDashboard(sale.intent, 500);
    await stage.pass();
    assert.deepEqual(await refunds(), [[5, 'pending', 'other']]);
    await stage.assertBooks();
    stage.stripe.finishRefund(id, 'succeeded');
    await stage.pass();
    assert.deepEqual(await refunds(), [[5, 'succeeded', 'other']]);
    // Every event about the refund gets the same answer.
    stage.stripe.refundInDashboard(sale.intent, 700);
    await stage.pass();
    await stage.stripe.send({ ...stage.stripe.events.at(-1)!, id: 'evt_again' });
    await stage.pass();
    assert.deepEqual(await stage.api.list<Discrepancy>('discrepancies'), []);
    assert.deepEqual(eventsAt(stage.named, sale), ['payment.refunded']);
    await stage.assertBooks();
  });

  test('a dashboard refund of more than the rest is stored as a discrepancy, and the refund of the merchant fails', async (context) => {
    const stage = await openStripeStage(context);
    const sale = await stage.sell();
    await stage.stripe.goDown();
    const { id } = await stage.api.post<Refund>(`payments/${sale.paymentId}/refunds`, {});
    await stage.pass(0);
    await stage.stripe.listen();
    stage.stripe.nextRefundStatus = 'pending';
    const { id: excess } = stage.stripe.refundInDashboard(sale.intent, 1000);
    await stage.pass(0);
    // The refund has a second report, and still one discrepancy.
    stage.stripe.finishRefund(excess, 'succeeded');
    await stage.pass(0);
    const found = await stage.api.list<Discrepancy>('discrepancies');
    assert.deepEqual(pick(found, 'kind', 'received', 'status'), [['refund_excess', 10, 'open']]);
    await stage.assertBooks(1000);
    await stage.pass(10 * SECOND);
    // The refund of the merchant is 49.99, but only 39.99 are left to refund at Stripe.
    assert.equal((await stage.api.get<Refund>(`refunds/${id}`)).status, 'failed');
    await stage.assertBooks(1000);
  });
});

describe('a dispute at Stripe', () => {
  async function disputed(context: TestContext) {
    const stage = await openStripeStage(context);
    const sale = await stage.sell();
    const { id } = stage.stripe.openDispute(sale.intent);
    await stage.pass();
    const discrepancy = async () =>
      pick(await stage.api.list<Discrepancy>('discrepancies'), 'kind', 'status', 'received');
    return { stage, sale, id, discrepancy };
  }

  test('a dispute of a wrong amount that was accepted is booked', async (context) => {
    const stage = await openStripeStage(context);
    const started = await stage.start('card');
    stage.stripe.pay(started.reference);
    stage.stripe.world.sessions.get(started.reference)!.amount_total = 4500;
    await stage.pass();
    const [{ id } = assert.fail()] = await stage.api.list<Discrepancy>('discrepancies');
    await stage.api.post(`discrepancies/${id}/resolve`, { action: 'accept' });
    stage.stripe.withdrawFunds(stage.stripe.openDispute(stage.intentOf(started)).id);
    await stage.pass(DAY);
    assert.equal((await stage.payment(started)).reversed, 4999);
  });

  test('a dispute withdraws the money and a fee of 15.00, and a won dispute returns the money', async (context) => {
    const { stage, sale, id, discrepancy } = await disputed(context);
    assert.deepEqual(eventsAt(stage.named, sale), ['payment.disputed']);
    assert.deepEqual(await discrepancy(), [['reversal', 'open', 0]]);
    await stage.assertBooks();

    stage.stripe.withdrawFunds(id);
    await stage.pass(DAY);
    assert.deepEqual(await discrepancy(), [['reversal', 'open', 49.99]]);
    assert.equal((await stage.payment(sale)).reversed, 4999);
    assert.equal(stage.stripe.balance(), -175 - 1500);
    await stage.assertBooks();
    const refusal = await stage.api.refused('409 invalid_state', `POST payments/${sale.paymentId}/refunds`, {});
    assert.match(refusal.message, /49\.99 USD is disputed/);

    stage.stripe.closeDispute(id, 'won');
    await stage.pass(DAY);
    assert.deepEqual(await discrepancy(), [['reversal', 'resolved', 0]]);
    assert.equal((await stage.payment(sale)).reversed, 0);
    await stage.assertBooks();
    const types = eventsAt(stage.named, sale);
    assert.ok(types.length >= 3 && types.every((type) => type === 'payment.disputed'));
    assert.deepEqual(eventsAt(stage.usual, sale), ['payment.provider_pending', 'payment.paid']);
  });

  test('the money of a won dispute that the bank takes again is booked while the dispute is open', async (context) => {
    const { stage, sale, id, discrepancy } = await disputed(context);
    stage.stripe.withdrawFunds(id);
    stage.stripe.closeDispute(id, 'won');
    await stage.pass();
    assert.equal((await stage.payment(sale)).reversed, 0);
    stage.stripe.world.disputes.get(id)!.status = 'under_review';
    stage.stripe.withdrawFunds(id);
    await stage.pass();
    assert.equal((await stage.payment(sale)).reversed, 4999);
    assert.deepEqual(await discrepancy(), [['reversal', 'open', 49.99]]);
    await stage.assertBooks();
  });

  test('a payment whose dispute is lost cannot be refunded', async (context) => {
    const { stage, sale, id, discrepancy } = await disputed(context);
    stage.stripe.withdrawFunds(id);
    stage.stripe.closeDispute(id, 'lost');
    await stage.pass(DAY);
    assert.deepEqual(await discrepancy(), [['reversal', 'open', 49.99]]);
    await stage.api.refused('409 invalid_state', `POST payments/${sale.paymentId}/refunds`, {});
    await stage.pass(DAY);
    assert.equal(stage.stripe.world.refunds.size, 0);
    assert.equal((await stage.payment(sale)).status, 'paid');
    await stage.assertBooks();
  });
});

test('a payout of Stripe settles exactly the payments that it contains', async (context) => {
  const stage = await openStripeStage(context);
  const [plain, returned, lost] = [await stage.sell(), await stage.sell(), await stage.sell()];
  await stage.api.post(`payments/${returned.paymentId}/refunds`, { amount: 20 });
  const dispute = stage.stripe.openDispute(lost.intent);
  stage.stripe.withdrawFunds(dispute.id);
  await stage.pass();
  const payout = stage.stripe.payOut();
  await stage.pass();
  assert.equal(stage.stripe.balance(), 0);
  await stage.assertBooks();
  const later = await stage.sell();
  const settled = async (sale: StartedAtStripe) =>
    (await stage.tillway.service.deps.store.settlement(sale.paymentId))?.reference;
  assert.deepEqual(await Promise.all([plain, returned, later].map(settled)), [payout, payout, undefined]);

  stage.stripe.closeDispute(dispute.id, 'won');
  await stage.pass();
  await stage.assertBooks();
  const second = stage.stripe.payOut();
  await stage.pass();
  assert.equal(await settled(later), second);
  await stage.assertBooks();
});

test('a payout whose payments Stripe does not list yet settles them an hour later', async (context) => {
  const stage = await openStripeStage(context);
  const { paymentId } = await stage.sell();
  const reference = stage.stripe.payOut();
  const payout = stage.stripe.world.payouts.get(reference)!;
  payout.reconciliation_status = 'in_progress';
  await stage.pass();
  const settlement = () => stage.tillway.service.deps.store.settlement(paymentId);
  assert.equal(await settlement(), undefined);
  payout.reconciliation_status = 'completed';
  await stage.pass(3600 * SECOND);
  assert.equal((await settlement())?.reference, reference);
  await stage.assertBooks();
});

test("`assertBooks` detects a cent that is missing in Stripe's balance", async (context) => {
  const stage = await openStripeStage(context);
  await stage.sell();
  const [movement] = stage.stripe.world.movements.values();
  movement!.net -= 1;
  await assert.rejects(stage.assertBooks(), /Expected values to be strictly deep-equal/);
});

describe('a bank debit that is paid after its time-out, without a callback about the payment', () => {
  async function paidLate(context: TestContext) {
    const stage = await openStripeStage(context);
    const debit = await stage.start('local');
    stage.stripe.startDebit(debit.reference);
    await stage.pass();
    stage.stripe.sendingOf = () => ({ times: 0, delayMs: 0 });
    for (let day = 0; day <= 14; day++) await stage.pass(DAY);
    assert.equal((await stage.payment(debit)).status, 'failed');
    stage.stripe.finishDebit(debit.reference);
    stage.stripe.sendingOf = () => ({ times: 1, delayMs: 0 });
    return { stage, debit, intent: stage.intentOf(debit) };
  }

  test('a dispute of it is booked', async (context) => {
    const { stage, debit, intent } = await paidLate(context);
    stage.stripe.withdrawFunds(stage.stripe.openDispute(intent).id);
    await stage.pass();
    const { status, reversed } = await stage.payment(debit);
    assert.deepEqual([status, reversed], ['paid', 4999]);
    await stage.assertBooks();
  });

  test("a refund of it in Stripe's dashboard is recorded", async (context) => {
    const { stage, debit, intent } = await paidLate(context);
    stage.stripe.refundInDashboard(intent, 1000);
    await stage.pass();
    const { status, refunded } = await stage.payment(debit);
    assert.deepEqual([status, refunded], ['paid', 1000]);
    assert.deepEqual(await stage.api.list<Discrepancy>('discrepancies'), []);
    await stage.assertBooks();
  });
});
