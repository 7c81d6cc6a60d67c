import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Hint, centsOfUnits } from '../../src/domain/provider-report.ts';
import type { Provider, RefundRequest, Signal } from '../../src/providers/provider.ts';
import { DAY, MINUTE, NOW, idOf } from '../fixtures/checkout-records.ts';
import { type StripeWorld, handedOff, paidPayment, startStripeWorld, stripePayment } from './stripe-fixtures.ts';
import type { Payment } from '../../src/domain/records.ts';

/** All signals of the answer to a hint, from all its pages. */
async function signalsOf(provider: Provider, hint: Hint): Promise<Signal[]> {
  const signals: Signal[] = [];
  for (let page: string | null | undefined; page !== null;) {
    const answer = await provider.query!(hint, page ?? null);
    signals.push(...answer.signals);
    page = answer.next;
  }
  return signals;
}

async function reportOf({ provider }: StripeWorld, payment: Payment) {
  const [signal] = await signalsOf(provider, { about: 'payment', id: payment.providerReference! });
  assert.ok(signal?.about === 'payment');
  return signal.report;
}

async function reversalOf({ provider }: StripeWorld, id: string) {
  const [signal] = await signalsOf(provider, { about: 'reversal', id });
  assert.ok(signal?.about === 'reversal');
  return { ref: signal.ref, ...signal.reversal };
}

function refundOf(payment: Payment, fields: Partial<RefundRequest> = {}): RefundRequest {
  return { refundId: idOf('ref', 1), payment, amount: 1000, reference: null, created: NOW, ...fields };
}

describe('a payment at Stripe', () => {
  test('the inquiry reports a card payment as waiting, declined, then paid with its cost; a later cancellation is `cancelled`', async () => {
    await using world = await startStripeWorld();
    const payment = await handedOff(world);
    const reference = payment.providerReference!;
    assert.equal((await reportOf(world, payment)).state, 'awaiting_buyer');
    assert.deepEqual(world.provider.returnHint!(payment), { about: 'payment', id: reference });
    assert.equal(world.provider.returnHint!(stripePayment()), undefined);

    world.stripe.decline(reference, 'insufficient_funds');
    const declined = await world.provider.inquire(payment);
    assert.ok(typeof declined === 'object' && declined.url === payment.providerUrl);
    assert.equal(declined.report.decline?.code, 'insufficient_funds');

    world.stripe.pay(reference);
    const paid = await world.provider.inquire(payment);
    assert.ok(typeof paid === 'object' && paid.url === null && paid.reference === reference);
    assert.deepEqual([paid.report.state, paid.report.received?.units, paid.report.cost?.units], ['paid', 5024n, 176n]);
    assert.equal(await world.provider.cancel(payment), 'cancelled');
  });

  test('the answer about a paid payment is incomplete until Stripe knows the fee', async () => {
    await using world = await startStripeWorld();
    world.stripe.delaysFees = true;
    const payment = await paidPayment(world);
    const hint = { about: 'payment', id: payment.providerReference! } as const;
    assert.equal((await world.provider.query!(hint, null)).isIncomplete, true);
    world.stripe.settleFees();
    assert.equal((await world.provider.query!(hint, null)).isIncomplete, false);
    assert.equal((await reportOf(world, payment)).cost?.units, 176n);
  });

  test('a bank debit is in progress for days, cannot be cancelled meanwhile, and is then paid or failed', async () => {
    await using world = await startStripeWorld();
    for (const failure of [undefined, 'insufficient_funds']) {
      const payment = await handedOff(world, stripePayment({ id: idOf('pay', failure === undefined ? 1 : 2) }, 'ach'));
      world.stripe.startDebit(payment.providerReference!);
      const { state, expectedBy } = await reportOf(world, payment);
      assert.deepEqual([state, expectedBy], ['processing', NOW + 10 * DAY]);
      await assert.rejects(world.provider.cancel(payment), /cannot cancel/);
      world.stripe.finishDebit(payment.providerReference!, failure);
      const report = await reportOf(world, payment);
      assert.equal(report.state, failure === undefined ? 'paid' : 'failed');
      assert.equal(report.decline?.source, failure === undefined ? undefined : 'buyer');
      if (failure === undefined) assert.equal(report.cost?.units, 40n);
    }
  });

  test('a payment that is cancelled has failed, and its page at Stripe is closed', async () => {
    await using world = await startStripeWorld();
    const payment = await handedOff(world);
    assert.equal(await world.provider.cancel(payment), 'cancelled');
    assert.equal(await world.provider.cancel(payment), 'cancelled');
    assert.equal((await reportOf(world, payment)).state, 'failed');
    assert.equal((await fetch(payment.providerUrl!)).status, 410);
  });

  test('the inquiry about a payment whose session Stripe does not find returns `cannot_tell`, not `unknown`', async () => {
    await using world = await startStripeWorld();
    const payment = stripePayment({ providerReference: 'cs_test_of_another_account' });
    assert.equal(await world.provider.inquire(payment), 'cannot_tell');
    await assert.rejects(world.provider.cancel(payment), /404/);
    const known = await handedOff(world);
    assert.equal(await world.provider.inquire({ ...known, id: idOf('pay', 9) }), 'cannot_tell');
  });

  test('an inquiry rejects while the API is down or faulty, and reports the payment as paid afterwards', async () => {
    await using world = await startStripeWorld();
    const payment = await paidPayment(world);
    await world.stripe.goDown();
    await assert.rejects(reportOf(world, payment));
    await world.stripe.listen();
    for (const fault of ['error_500_before', 'garbage_after', 'empty_after', 'drop_after', 'rate_limited'] as const) {
      world.stripe.faults.push(fault);
      await assert.rejects(reportOf(world, payment), fault);
    }
    world.clock.ms += MINUTE;
    assert.equal((await reportOf(world, payment)).state, 'paid');
  });
});

describe('events of another environment, account or program', () => {
  test('an event of another environment or account gives a hint with a mismatch; an event of another program gives none', async () => {
    await using world = await startStripeWorld();
    await paidPayment(world);
    const [event] = world.stripe.events;
    for (const [forgery, mismatch] of [
      ['live', 'environment_mismatch'],
      ['account', 'account_mismatch'],
    ] as const) {
      const { body, headers } = world.stripe.callbackOf(event!, forgery);
      const { hints } = await world.provider.readCallback(Buffer.from(body), headers);
      assert.deepEqual(
        hints.map((hint) => hint.mismatch),
        [mismatch],
      );
    }
    const own = world.stripe.callbackOf(Object.assign({}, event!, { account: null }));
    const { hints } = await world.provider.readCallback(Buffer.from(own.body), own.headers);
    assert.equal(hints[0]!.mismatch, undefined);
    const foreign = {
      ...event!,
      data: { object: { id: 'cs_test_foreign', metadata: {}, client_reference_id: 'order-7' } },
    };
    const { body, headers } = world.stripe.callbackOf(foreign);
    assert.deepEqual(await world.provider.readCallback(Buffer.from(body), headers), { signals: [], hints: [] });
  });

  test('an answer about an unknown object, or one of the other environment, gives no signal', async () => {
    await using world = await startStripeWorld();
    for (const about of ['payment', 'refund', 'reversal', 'payout'] as const) {
      assert.deepEqual(await signalsOf(world.provider, { about, id: 'unknown' }), []);
    }
    const payment = await paidPayment(world);
    const session = world.stripe.world.sessions.get(payment.providerReference!)!;
    session.metadata = {};
    assert.deepEqual(await signalsOf(world.provider, { about: 'payment', id: session.id }), []);
    session.metadata = { payment: payment.id };
    session.livemode = true;
    assert.deepEqual(await signalsOf(world.provider, { about: 'payment', id: session.id }), []);
    assert.ok(world.log.at(-1)!.includes('other environment'));
  });
});

describe('a refund at Stripe', () => {
  test('repeated requests for the same refund make one refund at Stripe', async () => {
    await using world = await startStripeWorld();
    const payment = await paidPayment(world);
    const answers = await Promise.all([1, 2, 3].map(() => world.provider.refund(refundOf(payment))));
    assert.equal(new Set(answers.map((answer) => JSON.stringify(answer))).size, 1);
    // The adapter queries the id of the PaymentIntent if the payment does not have it.
    await world.provider.refund(refundOf({ ...payment, chargeReference: null }));
    assert.equal(world.stripe.world.refunds.size, 1);
  });

  test('the adapter finds an earlier refund by its metadata after a day, when Stripe has forgotten the idempotency key', async () => {
    await using world = await startStripeWorld();
    const payment = await paidPayment(world);
    const first = await world.provider.refund(refundOf(payment));
    for (let each = 2; each < 14; each++) world.stripe.refundInDashboard(payment.chargeReference!, 1);
    world.clock.ms += DAY;
    const requests = world.stripe.requests.length;
    assert.deepEqual(await world.provider.refund(refundOf(payment)), first);
    assert.ok(world.stripe.requests.slice(requests).every(({ operation }) => operation.startsWith('GET')));
    assert.deepEqual(await world.provider.inquireRefund(refundOf(payment)), first);
    assert.equal(await world.provider.inquireRefund(refundOf(payment, { refundId: idOf('ref', 9) })), undefined);
  });

  test('a refund request without a clear answer rejects, and the repeated request does not refund twice', async () => {
    await using world = await startStripeWorld();
    const payment = await paidPayment(world, stripePayment());
    for (const [index, fault] of (
      [
        'drop_after',
        'garbage_after',
        'other_amount_after',
        'other_payment_after',
        'empty_after',
        'drop_before',
      ] as const
    ).entries()) {
      world.stripe.faults.push(fault);
      const request = refundOf(payment, { refundId: idOf('ref', index), amount: 100 });
      await assert.rejects(world.provider.refund(request), fault);
      assert.equal((await world.provider.refund(request)) === 'unknown', false);
    }
    assert.equal(world.stripe.world.refunds.size, 6);
  });

  test('the adapter finds a refund that Stripe made before it answered 500, although Stripe repeats the 500', async () => {
    await using world = await startStripeWorld();
    const payment = await paidPayment(world);
    world.stripe.faults.push('error_500_after');
    const answer = await world.provider.refund(refundOf(payment));
    assert.ok(answer !== 'unknown' && answer.status === 'succeeded');
    assert.equal(world.stripe.world.refunds.size, 1);
  });

  test('a pending refund is reported as pending, and later as failed with a reason', async () => {
    await using world = await startStripeWorld();
    world.stripe.nextRefundStatus = 'pending';
    const payment = await paidPayment(world);
    const answer = await world.provider.refund(refundOf(payment));
    assert.ok(answer !== 'unknown' && answer.status === 'pending');
    const known = refundOf(payment, { reference: answer.reference! });
    assert.deepEqual(await world.provider.refund(known), answer);
    world.stripe.finishRefund(answer.reference!, 'failed', 'expired_or_canceled_card');
    const failed = await world.provider.inquireRefund(known);
    assert.deepEqual([failed?.status, failed?.reason], ['failed', "the buyer's card has expired or was cancelled"]);
    const [signal] = await signalsOf(world.provider, { about: 'refund', id: answer.reference! });
    assert.deepEqual(signal, {
      about: 'refund',
      ref: { reference: payment.chargeReference },
      refund: { ...failed, ours: idOf('ref', 1), amount: { units: 1000n, currency: 'USD', exponent: 2 } },
    });
  });

  test('a refund fails if it exceeds the payment or the payment is disputed, and is `unknown` for an unknown or unpaid payment', async () => {
    await using world = await startStripeWorld();
    const payment = await paidPayment(world);
    const tooMuch = await world.provider.refund(refundOf(payment, { amount: 6000 }));
    assert.ok(tooMuch !== 'unknown' && tooMuch.status === 'failed');
    const unknown = { ...payment, chargeReference: 'pi_unknown' };
    assert.equal(await world.provider.refund(refundOf(unknown, { refundId: idOf('ref', 2) })), 'unknown');
    assert.equal(
      await world.provider.refund(refundOf(await handedOff(world, stripePayment({ id: idOf('pay', 2) })))),
      'unknown',
    );
    world.stripe.openDispute(payment.chargeReference!);
    const disputed = await world.provider.refund(refundOf(payment, { refundId: idOf('ref', 3) }));
    assert.deepEqual(disputed, { status: 'failed', reason: 'the payment is disputed', reference: null });
  });

  test('the signal of a refund made in the dashboard has no refund id of this service', async () => {
    await using world = await startStripeWorld();
    const payment = await paidPayment(world);
    const { id } = world.stripe.refundInDashboard(payment.chargeReference!, 500);
    const [signal] = await signalsOf(world.provider, { about: 'refund', id });
    assert.ok(signal?.about === 'refund' && signal.refund.ours === null && signal.refund.reference === id);
    const known = refundOf(payment, { refundId: idOf('ref', 5), amount: 500, reference: id });
    assert.equal((await world.provider.inquireRefund(known))?.status, 'succeeded');
    await world.provider.refund(known);
    assert.equal(world.stripe.world.refunds.size, 1);
  });
});

test('the answer about a dispute reports its status, withdrawn amount, fee and revision until it is won or lost', async () => {
  await using world = await startStripeWorld();
  const payment = await paidPayment(world);
  for (const [status, expected] of [
    ['won', 'won 0 1500 5'],
    ['lost', 'lost 5024 1500 3'],
  ] as const) {
    const { id } = world.stripe.openDispute(payment.chargeReference!);
    const text = async () => {
      const { ref, status: found, taken, fee, revision } = await reversalOf(world, id);
      assert.deepEqual(ref, { reference: payment.chargeReference });
      return `${found} ${taken.units} ${fee.units} ${revision}`;
    };
    assert.equal(await text(), 'open 0 0 0');
    world.stripe.withdrawFunds(id);
    assert.equal(await text(), 'open 5024 1500 2');
    world.stripe.closeDispute(id, status);
    assert.equal(await text(), expected);
  }
});

test('the answer about a payout has one signal for each balance transaction, and their net amounts sum to the payout', async () => {
  await using world = await startStripeWorld();
  const payments: Payment[] = [];
  for (let each = 0; each < 103; each++)
    payments.push(await paidPayment(world, stripePayment({ id: idOf('pay', each) })));
  const [first, second] = payments;
  await world.provider.refund(refundOf(first!));
  world.stripe.withdrawFunds(world.stripe.openDispute(second!.chargeReference!).id);
  const balance = world.stripe.balance();
  const id = world.stripe.payOut();
  assert.equal(world.stripe.balance(), 0);

  const signals = await signalsOf(world.provider, { about: 'payout', id });
  const moved = signals.map((signal) => {
    assert.ok(signal.about === 'settlement' && signal.entry.payout === id && signal.entry.moved);
    return { ...signal.entry.moved, reference: signal.ref.reference };
  });
  assert.equal(
    moved.reduce((sum, { net }) => sum + centsOfUnits(net), 0),
    balance,
  );
  assert.equal(new Set(moved.map((each) => each.id)).size, 105);
  assert.equal(moved.filter(({ isCharge }) => isCharge).length, 103);
  assert.equal(moved.filter(({ reference }) => reference === first!.chargeReference).length, 2);

  world.stripe.failPayout(id);
  assert.deepEqual(await signalsOf(world.provider, { about: 'payout', id }), []);
  assert.ok(world.log.at(-1)!.includes('"status":"failed"'));
});
