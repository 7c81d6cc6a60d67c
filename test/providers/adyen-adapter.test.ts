import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { DAY, MINUTE, NOW, SECOND, idOf } from '../fixtures/checkout-records.ts';
import { type AdyenWorld, adyenPayment, handedOff, handoffOf, paidPayment, startAdyenWorld } from './adyen-fixtures.ts';
import type { ApiFault } from './scripted-party.ts';

describe('the handoff to Adyen', () => {
  test('a handoff creates a link whose parameters do not depend on the time', async () => {
    await using world = await startAdyenWorld();
    const { adyen, provider, clock } = world;
    const payment = adyenPayment();
    const handed = await handedOff(world, payment);
    clock.ms += 5 * SECOND;
    const again = await provider.handoff(handoffOf(payment));
    assert.deepEqual(again, { outcome: 'accepted', reference: handed.providerReference, url: handed.providerUrl });
    assert.equal(adyen.links.size, 1);
    const [link] = adyen.links.values();
    assert.deepEqual(link!.amount, { currency: 'USD', value: payment.fees.total });
    assert.equal(Date.parse(link!.expiresAt), payment.created + DAY);
    assert.deepEqual(link!.allowedPaymentMethods, ['scheme']);
  });

  test('each fault of a handoff has its result, and a repeat after an ambiguous result finds the same link', async () => {
    const results: [ApiFault, string][] = [
      ['error_500_before', 'ambiguous'],
      ['error_500_after', 'ambiguous'],
      ['garbage_after', 'ambiguous'],
      ['empty_after', 'ambiguous'],
      ['other_amount_after', 'ambiguous'],
      ['other_payment_after', 'ambiguous'],
      ['drop_after', 'ambiguous'],
      ['hang_after', 'ambiguous'],
      ['forbidden', 'refused'],
    ];
    await using world = await startAdyenWorld();
    for (const [index, [fault, expected]] of results.entries()) {
      const payment = adyenPayment({ id: idOf('pay', index + 1) });
      world.adyen.faults = [fault];
      const result = await world.provider.handoff(handoffOf(payment, 200));
      assert.equal(result.outcome, expected, fault);
      if (fault === 'empty_after')
        assert.match('reason' in result ? result.reason : '', /201 without the required fields/);
      assert.equal((await world.provider.handoff(handoffOf(payment))).outcome, 'accepted', fault);
    }
    assert.equal(world.adyen.links.size, results.length);
    assert.equal(world.notReady.length, 1);
  });

  test('a handoff of an unknown network, with a refused key or without a connection is refused', async () => {
    await using world = await startAdyenWorld();
    const { adyen, provider, notReady } = world;
    const outcome = async (network = 'ach') => (await provider.handoff(handoffOf(adyenPayment({}, network)))).outcome;
    assert.equal(await outcome('crypto'), 'refused');
    assert.equal(adyen.requests.length, 0);
    adyen.isKeyRevoked = true;
    assert.equal(await outcome(), 'refused');
    assert.match(notReady.join(), /the key was refused \(401\)/);
    await adyen.goDown();
    assert.equal(await outcome(), 'refused');
    await adyen.listen();
  });
});

describe('inquiries and cancellations at Adyen', () => {
  test('a link reports its state, and a used link is never money', async () => {
    await using world = await startAdyenWorld();
    const { adyen, provider, clock, counted } = world;
    assert.equal(await provider.inquire(adyenPayment()), 'unknown');
    const payment = await handedOff(world);
    const link = adyen.links.get(payment.providerReference!)!;
    const state = async (status: string) => {
      link.status = status;
      const answer = await provider.inquire(payment);
      assert.ok(typeof answer === 'object');
      return answer;
    };
    assert.deepEqual([(await state('active')).report.state, (await state('active')).url], ['awaiting_buyer', link.url]);
    const expired = await state('expired');
    assert.deepEqual([expired.report.state, expired.report.decline?.code, expired.url], ['failed', 'cancelled', null]);
    assert.equal((await state('paymentPending')).report.expectedBy, NOW + 7 * DAY);
    for (const used of ['completed', 'paid', 'on_the_moon'])
      assert.equal((await state(used)).report.state, 'processing', used);
    clock.ms += 15 * MINUTE;
    for (const status of ['active', 'paymentPending', 'on_the_moon']) await state(status);
    assert.equal(counted.lost, 0);
    await state('completed');
    await state('paid');
    assert.equal(counted.lost, 2);
    assert.ok(world.log.some((line) => line.includes(payment.id) && line.includes('has not arrived')));
  });

  test('a link of another payment or account is not reported', async () => {
    await using world = await startAdyenWorld();
    const payment = await handedOff(world);
    assert.equal(await world.provider.inquire({ ...payment, id: idOf('pay', 9) }), 'cannot_tell');
    assert.equal(await world.provider.inquire({ ...payment, providerReference: 'PLofAnother' }), 'cannot_tell');
    world.adyen.links.get(payment.providerReference!)!.merchantAccount = 'Other';
    assert.equal(await world.provider.inquire(payment), 'cannot_tell');
  });

  test('a cancelled link cannot be paid, and a used link cannot be cancelled', async () => {
    await using world = await startAdyenWorld();
    const { adyen, provider } = world;
    assert.equal(await provider.cancel(adyenPayment()), 'unknown');
    const payment = await handedOff(world);
    assert.deepEqual([await provider.cancel(payment), await provider.cancel(payment)], ['cancelled', 'cancelled']);
    assert.equal((await fetch(payment.providerUrl!)).status, 410);
    const debit = await handedOff(world, adyenPayment({ id: idOf('pay', 2) }, 'ach'));
    adyen.startDebit(debit.providerReference!);
    await assert.rejects(provider.cancel(debit), /its link is paymentPending/);
    adyen.faults = ['error_500_before'];
    await assert.rejects(provider.cancel(debit), /500/);
  });
});

describe('refunds at Adyen', () => {
  const requestOf = async (world: AdyenWorld) => {
    const payment = await paidPayment(world);
    return { refundId: idOf('ref', 1), payment, amount: 1000, reference: null, created: world.clock.ms };
  };

  test('a refund is requested once, and its result is not asked for', async () => {
    await using world = await startAdyenWorld();
    const { adyen, provider } = world;
    const request = await requestOf(world);
    assert.equal(await provider.inquireRefund(request), undefined);
    adyen.faults = ['drop_after'];
    await assert.rejects(provider.refund(request));
    const first = await provider.refund(request);
    assert.deepEqual(await provider.refund(request), first);
    assert.equal(adyen.refunds.size, 1);
    assert.ok(typeof first === 'object' && first.status === 'pending' && first.reference);
    const named = { ...request, reference: first.reference, created: 0 };
    assert.deepEqual(await provider.inquireRefund(named), first);
    assert.deepEqual(await provider.refund(named), first);
  });

  test('a refund without an answer is not repeated after Adyen may have forgotten its key', async () => {
    await using world = await startAdyenWorld();
    const request = await requestOf(world);
    world.clock.ms += 7 * DAY;
    await assert.rejects(world.provider.refund(request), /Customer Area/);
    assert.equal(world.adyen.refunds.size, 0);
  });

  test('a refused refund fails, an unclear answer rejects, and an unpaid payment is unknown', async () => {
    await using world = await startAdyenWorld();
    const { adyen, provider, notReady } = world;
    const request = await requestOf(world);
    const unpaid = { ...request, payment: { ...request.payment, chargeReference: null } };
    assert.equal(await provider.refund(unpaid), 'unknown');
    const foreign = { ...request, payment: { ...request.payment, chargeReference: 'PSPofAnother' } };
    assert.deepEqual(await provider.refund(foreign), {
      status: 'failed',
      reason: 'Adyen does not know the payment',
      reference: null,
    });
    for (const fault of [
      'error_500_before',
      'empty_after',
      'other_amount_after',
      'other_payment_after',
      'forbidden',
    ] as const) {
      adyen.faults = [fault];
      await assert.rejects(provider.refund({ ...request, refundId: idOf('ref', 2) }), fault);
    }
    // The key may lack a role for refunds only.
    assert.deepEqual(notReady, []);
  });
});

describe('the check of Adyen', () => {
  test('a check names missing payment methods, a refused key and a missing connection', async () => {
    await using world = await startAdyenWorld();
    const { adyen, provider } = world;
    adyen.methods = ['scheme'];
    const found = await provider.check();
    assert.deepEqual([found.ready, Object.keys(found.unavailable!)], [true, ['ach', 'cashapp']]);
    // Without a database, the check cannot know whether callbacks arrive.
    assert.deepEqual(
      found.findings.map(({ level }) => level),
      ['ok', 'warning'],
    );
    assert.match(found.findings[1]!.todo!, /tillway providers list/);
    adyen.faults = ['forbidden'];
    assert.match((await provider.check()).findings[0]!.message, /the key was refused \(403\)/);
    assert.deepEqual(world.notReady, []);
    await adyen.goDown();
    assert.match((await provider.check()).findings[0]!.message, /cannot be reached/);
    await adyen.listen();
  });
});
