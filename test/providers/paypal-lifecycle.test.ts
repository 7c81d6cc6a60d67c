import assert from 'node:assert/strict';
import { type TestContext, describe, test } from 'node:test';
import type { Refund } from '../../sdk/src/index.ts';
import type { Payment } from '../../src/domain/records.ts';
import { chooseAnotherMethod, cancelCheckout } from '../../src/operations/leave-payment.ts';
import { createSession, submit } from '../simulator/buyer.ts';
import { type Gateway, booksOf, gatewayOf, pick } from '../support/gateway.ts';
import { assertSound } from '../support/sound.ts';
import { type PaypalService, startPaypalService } from './paypal-service.ts';
import { checkoutOf, choose, lastPayment, pageText } from './stripe-service.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const DAY = 24 * 60 * MINUTE;

/** A service with PayPal, and the actions of one buyer. */
interface Stage extends PaypalService {
  api: Gateway;
  id: string;
  order: string;
  page: string;
  payment(): Promise<Payment>;
  /** Id of the capture at PayPal. */
  capture(): string;
  /** The buyer approves the payment on PayPal's page and follows its redirect. */
  approve(): Promise<void>;
  text(): Promise<string>;
  /** Asserts that the money in the ledger is the balance at PayPal, and that all invariants hold. */
  assertBooks(): Promise<void>;
}

/** Starts a service and a payment of 49.99 by PayPal. */
async function stageOf(context: TestContext): Promise<Stage> {
  const world = await startPaypalService();
  context.after(() => world[Symbol.asyncDispose]());
  const { on, paypal } = world;
  const id = await createSession(on);
  await choose(on, id, 'wallet');
  const payment = () => lastPayment(on, id);
  const { providerReference, providerUrl } = await payment();
  const order = providerReference!;
  return Object.assign(world, {
    api: gatewayOf(on),
    id,
    order,
    page: providerUrl!,
    payment,
    capture: () => paypal.world.orders.get(order)!.captureId!,
    async approve() {
      const { headers } = await submit(providerUrl!, { act: 'approve' });
      assert.equal((await fetch(headers.get('location')!)).status, 200);
    },
    text: () => pageText(on, `/checkout/${id}?returned=1`),
    async assertBooks() {
      let held = 0;
      for (const { id: paymentId } of (await checkoutOf(on, id)).payments) {
        held += (await booksOf(on, paymentId))['provider_clearing'] ?? 0;
        held += (await on.service.deps.store.settlement(paymentId))?.amount ?? 0;
      }
      assert.equal(held, paypal.balance());
      await assertSound(on.databaseUrl);
    },
  });
}

/** A payment that the buyer has approved and the service has captured. */
async function soldStage(context: TestContext): Promise<Stage> {
  const stage = await stageOf(context);
  await stage.approve();
  await stage.deliver();
  assert.equal((await stage.payment()).status, 'paid');
  return stage;
}

function loseCallbacks({ paypal }: PaypalService): void {
  paypal.sendingOf = () => ({ times: 0, delayMs: 0 });
}

describe('a payment by PayPal', () => {
  test('an approved order is captured, paid with the actual fee, and settled', async (context) => {
    const stage = await soldStage(context);
    const { fees, actualCost, chargeReference, ledgerStatus } = await stage.payment();
    const { cents, feeCents } = stage.paypal.world.captures.get(stage.capture())!;
    assert.deepEqual([cents, actualCost, chargeReference], [fees.total, feeCents, stage.capture()]);
    assert.equal(ledgerStatus, 'settled');
    assert.match(await stage.text(), /Payment received/);
    await stage.assertBooks();
    const problems = stage.paypal.requests.flatMap((request) => request.problems);
    assert.deepEqual(problems, []);
  });

  for (const [finder, find] of [
    ['the return of the buyer', (stage: Stage) => stage.approve()],
    ['an inquiry', async ({ paypal, order, on }: Stage) => (paypal.approve(order), on.pass(31 * SECOND))],
  ] as const) {
    test(`without callbacks, ${finder} finds the approval, and the payment is captured`, async (context) => {
      const stage = await stageOf(context);
      loseCallbacks(stage);
      await find(stage);
      await stage.deliver();
      assert.equal((await stage.payment()).status, 'paid');
      await stage.assertBooks();
    });
  }

  test('after a declined instrument the buyer can approve the payment again, and it is captured', async (context) => {
    const stage = await stageOf(context);
    stage.paypal.nextCapture = 'decline';
    await stage.approve();
    await stage.deliver();
    const { status, decline } = await stage.payment();
    assert.deepEqual([status, decline?.reason], ['pending', 'INSTRUMENT_DECLINED']);
    assert.match(await stage.text(), /PayPal has reported a declined try\. .*Continue at PayPal/);
    await stage.approve();
    await stage.deliver();
    assert.equal((await stage.payment()).status, 'paid');
    await stage.assertBooks();
  });

  test('an order that stays approved after a decline is not captured again and again', async (context) => {
    const stage = await stageOf(context);
    Object.assign(stage.paypal, { nextCapture: 'decline', keepsApproval: true });
    loseCallbacks(stage);
    await stage.approve();
    await stage.deliver();
    for (const wait of [SECOND, 31 * SECOND, MINUTE, 5 * MINUTE]) await stage.deliver(wait);
    const captures = stage.paypal.requests.filter(({ operation }) => operation.endsWith('/capture'));
    assert.ok(captures.length <= 2, `${captures.length} captures`);
    await stage.assertBooks();
  });

  for (const [outcome, failure] of [
    ['compliance', { code: 'declined', source: 'route' }],
    ['refused', { code: 'declined', source: 'issuer' }],
    ['declined', { code: 'declined', source: 'issuer' }],
  ] as const) {
    test(`a capture with the result "${outcome}" fails the payment, and a completed order is not money`, async (context) => {
      const stage = await stageOf(context);
      stage.paypal.nextCapture = outcome;
      await stage.approve();
      await stage.deliver();
      const { status, failureCode: code, failureSource: source } = await stage.payment();
      assert.deepEqual([status, { code, source }], ['failed', failure]);
      await stage.assertBooks();
    });
  }

  for (const [end, status] of [
    ['COMPLETED', 'paid'],
    ['DECLINED', 'failed'],
  ] as const) {
    test(`a pending capture keeps the payment in progress for days, then ${end} makes it ${status}`, async (context) => {
      const stage = await stageOf(context);
      stage.paypal.nextCapture = 'pending';
      await stage.approve();
      await stage.deliver();
      assert.match(await stage.text(), /in progress.*up to 14 days/);
      const { deps } = stage.on.service;
      await chooseAnotherMethod(deps, stage.id, 1);
      await stage.deliver(4 * DAY);
      assert.equal((await stage.payment()).status, 'pending');
      stage.paypal.finishPending(stage.capture(), end);
      await stage.deliver();
      assert.equal((await stage.payment()).status, status);
      await stage.assertBooks();
    });
  }

  for (const [end, status] of [
    ['COMPLETED', 'paid'],
    ['DECLINED', 'failed'],
  ] as const) {
    test(`a pending capture whose order PayPal has removed is in progress, then ${end} makes it ${status}`, async (context) => {
      const stage = await stageOf(context);
      const { paypal, on } = stage;
      paypal.nextCapture = 'pending';
      await stage.approve();
      await stage.deliver();
      const capture = stage.capture();
      paypal.removedOrders.add(stage.order);
      await stage.deliver(DAY);
      await chooseAnotherMethod(on.service.deps, stage.id, 1);
      assert.equal((await stage.payment()).status, 'pending');
      paypal.finishPending(capture, end);
      for (const wait of [SECOND, DAY]) await stage.deliver(wait);
      assert.equal((await stage.payment()).status, status);
      await stage.assertBooks();
    });
  }

  test('a dispute about a pending capture is booked once the payment is known as paid', async (context) => {
    const stage = await stageOf(context);
    const { paypal } = stage;
    paypal.nextCapture = 'pending';
    await stage.approve();
    await stage.deliver();
    const { sendingOf } = paypal;
    loseCallbacks(stage);
    paypal.finishPending(stage.capture(), 'COMPLETED');
    await stage.deliver();
    paypal.sendingOf = sendingOf;
    const dispute = paypal.openDispute(stage.capture());
    paypal.takeDispute(dispute.id);
    await stage.deliver();
    assert.equal((await stage.payment()).status, 'pending');
    for (const wait of [DAY, DAY]) await stage.deliver(wait);
    const { status, reversed } = await stage.payment();
    assert.deepEqual([status, reversed], ['paid', dispute.cents]);
    await stage.assertBooks();
  });

  test('a buyer who leaves before the capture is not charged, although the order is approved later', async (context) => {
    const stage = await stageOf(context);
    const { on, paypal } = stage;
    await chooseAnotherMethod(on.service.deps, stage.id, 1);
    paypal.approve(stage.order);
    await stage.deliver();
    for (const wait of [31 * SECOND, MINUTE, DAY]) await stage.deliver(wait);
    assert.equal(paypal.world.captures.size, 0);
    assert.equal((await stage.payment()).failureCode, 'abandoned');
  });

  test('a capture without an answer is repeated, and PayPal captures the order once', async (context) => {
    const stage = await stageOf(context);
    loseCallbacks(stage);
    await stage.approve();
    // The query of the return, then the capture.
    stage.paypal.faults = [undefined, 'drop_after'];
    await stage.deliver();
    assert.equal((await stage.payment()).status, 'pending');
    await stage.deliver(10 * SECOND);
    assert.equal((await stage.payment()).status, 'paid');
    assert.equal(stage.paypal.world.captures.size, 1);
    await stage.assertBooks();
  });

  test('money of a capture that was on its way when the buyer left pays the session', async (context) => {
    const stage = await stageOf(context);
    const { on, paypal } = stage;
    loseCallbacks(stage);
    await stage.approve();
    paypal.faults = [undefined, 'drop_after'];
    await stage.deliver();
    assert.equal(paypal.world.captures.size, 1);
    await cancelCheckout(on.service.deps, stage.id, 1);
    await stage.deliver();
    const { session } = await checkoutOf(on, stage.id);
    assert.equal(session.status, 'paid');
    await stage.assertBooks();
  });

  test('a capture that PayPal executes late is found, although the first check of it fails', async (context) => {
    const stage = await stageOf(context);
    const { on, paypal } = stage;
    loseCallbacks(stage);
    paypal.nextCapture = 'decline';
    await stage.approve();
    await stage.deliver();
    await stage.deliver(80 * MINUTE);
    await stage.approve();
    // The queries of the return and before the capture are answered, and the capture is not.
    paypal.faults = [undefined, undefined, 'drop_before'];
    await stage.deliver();
    await cancelCheckout(on.service.deps, stage.id, 1);
    await stage.deliver(0);
    paypal.captureOrder(stage.order, true);
    paypal.faults = ['error_500_after'];
    for (const wait of [21 * SECOND, MINUTE, 5 * MINUTE, 60 * MINUTE]) await stage.deliver(wait);
    assert.equal((await stage.payment()).status, 'paid');
    await stage.assertBooks();
  });

  test('a voided or expired order fails the payment', async (context) => {
    for (const end of ['voidOrder', 'expireOrder'] as const) {
      const stage = await stageOf(context);
      stage.paypal[end](stage.order);
      await stage.deliver(31 * SECOND);
      const { status, failureCode: code, failureSource: source } = await stage.payment();
      assert.deepEqual([status, code, source], ['failed', 'cancelled', 'buyer'], end);
    }
  });
});

describe('a refund at PayPal', () => {
  const refundsOf = async ({ api, payment }: Stage) =>
    pick(await api.list<Refund>(`refunds?paymentId=${(await payment()).id}`), 'amount', 'status', 'reason');

  async function refund(stage: Stage, amount?: number): Promise<void> {
    const body = amount === undefined ? {} : { amount };
    await stage.api.post<Refund>(`payments/${(await stage.payment()).id}/refunds`, body);
    await stage.deliver();
  }

  test('a refund succeeds, and PayPal keeps its fee', async (context) => {
    const stage = await soldStage(context);
    await refund(stage, 20);
    assert.deepEqual(await refundsOf(stage), [[20, 'succeeded', null]]);
    await stage.assertBooks();
    await refund(stage);
    assert.equal((await stage.payment()).ledgerStatus, 'refunded');
    await stage.assertBooks();
  });

  for (const [end, status] of [
    ['COMPLETED', 'succeeded'],
    ['FAILED', 'failed'],
  ] as const) {
    test(`a pending refund is deducted at once, and ${end} makes it ${status}`, async (context) => {
      const stage = await soldStage(context);
      stage.paypal.nextRefundStatus = 'PENDING';
      await refund(stage, 20);
      assert.deepEqual(await refundsOf(stage), [[20, 'pending', null]]);
      await stage.assertBooks();
      stage.paypal.finishRefund([...stage.paypal.world.refunds.keys()][0]!, end);
      await stage.deliver();
      assert.deepEqual(await refundsOf(stage), [[20, status, null]]);
      await stage.assertBooks();
    });
  }

  test('a refund without an answer is found in the order and not made twice', async (context) => {
    const stage = await soldStage(context);
    stage.paypal.faults = ['drop_after'];
    await refund(stage, 20);
    await stage.deliver(10 * SECOND);
    assert.deepEqual(await refundsOf(stage), [[20, 'succeeded', null]]);
    assert.equal(stage.paypal.world.refunds.size, 1);
    await stage.assertBooks();
  });

  test('a refund that PayPal refuses for good has failed', async (context) => {
    const stage = await soldStage(context);
    stage.paypal.refundIssue = 'REFUND_NOT_ALLOWED';
    await refund(stage, 20);
    assert.deepEqual(await refundsOf(stage), [[20, 'failed', null]]);
    await stage.assertBooks();
  });

  test("a refund made in PayPal's dashboard is recorded as a refund of the payment", async (context) => {
    const stage = await soldStage(context);
    stage.paypal.refundInDashboard(stage.capture(), 500);
    await stage.deliver();
    assert.deepEqual(await refundsOf(stage), [[5, 'succeeded', 'other']]);
    await stage.assertBooks();
  });
});

describe('a dispute at PayPal', () => {
  test('a reversal that PayPal announces before it lists the dispute is booked once', async (context) => {
    const stage = await soldStage(context);
    const { paypal, on } = stage;
    const cents = (await stage.payment()).fees.total;
    paypal.reverseCapture(stage.capture());
    await stage.deliver();
    const dispute = paypal.openDispute(stage.capture(), { cents, stage: 'CHARGEBACK' });
    dispute.movements.push({ cents, type: 'DEBIT', reason: 'DISPUTE_SETTLEMENT', time: on.clock.now() });
    await stage.deliver();
    await stage.deliver(61 * MINUTE);
    assert.equal(await reversed(stage), cents);
    await stage.assertBooks();
  });

  test('a dispute that a refund has ended takes no more money', async (context) => {
    const stage = await soldStage(context);
    const { paypal, on } = stage;
    const dispute = paypal.openDispute(stage.capture());
    await stage.deliver();
    paypal.refundInDashboard(stage.capture(), dispute.cents);
    await stage.deliver();
    Object.assign(dispute, { status: 'RESOLVED', outcome: 'RESOLVED_BUYER_FAVOUR', updated: on.clock.now() });
    const created = paypal.events.find(({ event_type: type }) => type === 'CUSTOMER.DISPUTE.CREATED')!;
    await paypal.send({ ...created, id: 'WH-resolved', event_type: 'CUSTOMER.DISPUTE.RESOLVED' });
    await stage.deliver();
    assert.equal((await stage.payment()).refunded, dispute.cents);
    assert.equal(await reversed(stage), 0);
    await stage.assertBooks();
  });

  test('a dispute that PayPal cannot show yet is asked about again an hour later', async (context) => {
    const stage = await soldStage(context);
    const { paypal } = stage;
    const dispute = paypal.openDispute(stage.capture());
    paypal.takeDispute(dispute.id);
    paypal.world.disputes.delete(dispute.id);
    await stage.deliver();
    paypal.world.disputes.set(dispute.id, dispute);
    await stage.deliver(61 * MINUTE);
    assert.equal(await reversed(stage), dispute.cents);
    await stage.assertBooks();
  });

  const reversed = async ({ payment }: Stage) => (await payment()).reversed;

  test('a dispute takes its money and its fee, and a won dispute returns the money', async (context) => {
    const stage = await soldStage(context);
    const { fees } = await stage.payment();
    const { id } = stage.paypal.openDispute(stage.capture());
    await stage.deliver();
    assert.equal(await reversed(stage), 0);
    stage.paypal.takeDispute(id);
    await stage.deliver();
    assert.equal(await reversed(stage), fees.total);
    await stage.assertBooks();
    stage.paypal.closeDispute(id, 'seller');
    await stage.deliver();
    assert.equal(await reversed(stage), 0);
    await stage.assertBooks();
  });

  test('a lost dispute that PayPal announces as a reversal too is booked once', async (context) => {
    const stage = await soldStage(context);
    const { id } = stage.paypal.openDispute(stage.capture());
    stage.paypal.closeDispute(id, 'buyer', { announcesReversal: true });
    await stage.deliver();
    assert.equal(await reversed(stage), (await stage.payment()).fees.total);
    await stage.assertBooks();
  });

  test('a bank reversal without a dispute takes the money an hour later', async (context) => {
    const stage = await soldStage(context);
    stage.paypal.reverseCapture(stage.capture());
    await stage.deliver();
    assert.equal(await reversed(stage), 0);
    await stage.deliver(61 * MINUTE);
    assert.equal(await reversed(stage), (await stage.payment()).fees.total);
    await stage.assertBooks();
  });
});
