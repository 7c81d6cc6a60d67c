import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { HandoffResult } from '../../src/providers/provider.ts';
import { MINUTE, idOf } from '../fixtures/checkout-records.ts';
import type { ApiFault } from './scripted-party.ts';
import { handedOff, handoffOf, startStripeWorld, stripePayment } from './stripe-fixtures.ts';

/** The outcome of a handoff as text; an ambiguous outcome includes whether Stripe answered. */
function outcomeOf(result: HandoffResult): string {
  if (result.outcome !== 'ambiguous') return result.outcome;
  return result.isAnswered ? 'ambiguous, answered' : 'ambiguous, no answer';
}

describe('a handoff to Stripe', () => {
  test('a handoff returns the id and URL of a Checkout Session, and a repeated handoff returns the same session', async () => {
    await using world = await startStripeWorld();
    const payment = stripePayment();
    const results = await Promise.all([1, 2].map(() => world.provider.handoff(handoffOf(payment))));
    const [session] = world.stripe.world.sessions.values();
    const expected = { outcome: 'accepted', reference: session!.id, url: session!.url };
    for (const result of results) assert.deepEqual(result, expected);
    assert.equal(session!.amount_total, payment.fees.total);
    assert.equal(world.stripe.world.sessions.size, 1);
  });

  // Fault of the first request, its outcome, the outcome of the repeated request, and the number of sessions. Stripe repeats a 500.
  const ROWS: [fault: ApiFault, first: string, again: string, sessions: number][] = [
    ['drop_before', 'ambiguous, no answer', 'accepted', 1],
    ['drop_after', 'ambiguous, no answer', 'accepted', 1],
    ['hang_before', 'ambiguous, no answer', 'accepted', 1],
    ['hang_after', 'ambiguous, no answer', 'accepted', 1],
    ['error_500_before', 'ambiguous, answered', 'ambiguous, answered', 0],
    ['error_500_after', 'ambiguous, answered', 'ambiguous, answered', 1],
    ['garbage_after', 'ambiguous, answered', 'accepted', 1],
    ['empty_after', 'ambiguous, answered', 'accepted', 1],
    ['other_amount_after', 'ambiguous, answered', 'accepted', 1],
    ['other_payment_after', 'ambiguous, answered', 'accepted', 1],
    ['forbidden', 'refused', 'accepted', 1],
    ['rate_limited', 'refused', 'refused', 0],
  ];
  for (const [fault, first, again, sessions] of ROWS) {
    test(`a handoff with the fault ${fault} is "${first}", and the repeated handoff is "${again}"`, async () => {
      await using world = await startStripeWorld();
      const payment = stripePayment();
      world.stripe.faults.push(fault);
      assert.equal(outcomeOf(await world.provider.handoff(handoffOf(payment, 200))), first);
      // The payment has no reference yet. `unknown` is safe: no buyer can pay at a page whose URL nobody has received.
      assert.equal(await world.provider.inquire(payment), 'unknown');
      assert.equal(await world.provider.cancel(payment), 'unknown');
      assert.equal(outcomeOf(await world.provider.handoff(handoffOf(payment))), again);
      assert.equal(world.stripe.world.sessions.size, sessions);
    });
  }

  test('a handoff is refused while Stripe accepts no connection, and accepted afterwards', async () => {
    await using world = await startStripeWorld();
    await world.stripe.goDown();
    assert.equal(outcomeOf(await world.provider.handoff(handoffOf(stripePayment()))), 'refused');
    await world.stripe.listen();
    await handedOff(world);
  });

  test('after a 429 the adapter sends no handoff until Retry-After has passed', async () => {
    await using world = await startStripeWorld();
    world.stripe.faults.push('rate_limited');
    for (let each = 0; each < 3; each++) await world.provider.handoff(handoffOf(stripePayment()));
    assert.equal(world.stripe.requests.length, 0);
    world.clock.ms += 2000;
    await handedOff(world);
  });

  test('a handoff with a revoked key is refused and reported at once, and no log line or message contains the key', async () => {
    await using world = await startStripeWorld();
    world.stripe.isKeyRevoked = true;
    const result = await world.provider.handoff(handoffOf(stripePayment()));
    assert.equal(result.outcome, 'refused');
    assert.equal(world.refusedKeys.length, 1);
    assert.match(world.refusedKeys[0]!, /^the key was refused \(401\): Invalid API Key provided: \[key\]/);
    const written = JSON.stringify([result, world.log, world.refusedKeys]);
    assert.ok(world.log.some((line) => line.includes('api_key_expired') && line.includes('req_')));
    for (const secret of [world.stripe.secretKey, world.stripe.webhookSecret, 'sk_test_'])
      assert.ok(!written.includes(secret));
  });

  test("a handoff that Stripe rejects is refused with Stripe's message; a network that Stripe does not serve is refused without a request", async () => {
    await using world = await startStripeWorld();
    const small = stripePayment({ amount: 20, fees: { buyerFee: 0, gatewayFee: 1, merchantNet: 19, total: 20 } });
    const result = await world.provider.handoff(handoffOf(small));
    assert.ok(result.outcome === 'refused');
    assert.match(result.providerReason!, /at least \$0.50/);
    const foreign = stripePayment({}, 'base');
    assert.equal(outcomeOf(await world.provider.handoff(handoffOf(foreign))), 'refused');
    assert.equal(world.stripe.requests.length, 1);
  });

  test('a handoff is refused if its payment method is turned off at Stripe, because the page would offer no method', async () => {
    await using world = await startStripeWorld();
    world.stripe.methods = ['card'];
    const debit = stripePayment({ id: idOf('pay', 2) }, 'ach');
    const result = await world.provider.handoff(handoffOf(debit));
    assert.ok(result.outcome === 'refused');
    assert.match(result.reason, /us_bank_account.*dashboard/);
    await handedOff(world);
  });

  test('a 403 to a handoff makes the instance not ready; a 403 to an inquiry only rejects the inquiry', async () => {
    await using world = await startStripeWorld();
    const payment = await handedOff(world);
    world.stripe.faults.push('forbidden');
    await assert.rejects(world.provider.inquire(payment), /403/);
    assert.deepEqual(world.refusedKeys, []);
    world.stripe.faults.push('forbidden');
    await world.provider.handoff(handoffOf(stripePayment({ id: idOf('pay', 2) })));
    assert.deepEqual(world.refusedKeys, ["the key was refused (403): The key '[key]' lacks a permission"]);
  });

  test('a handoff that repeats an idempotency key with other parameters is ambiguous', async () => {
    await using world = await startStripeWorld();
    await handedOff(world);
    const other = { ...handoffOf(stripePayment()), returnUrl: 'https://other.example/' };
    assert.equal(outcomeOf(await world.provider.handoff(other)), 'ambiguous, answered');
  });

  test('with the shortest buyer window a handoff is accepted 10 minutes after its payment started, and refused after 11 minutes', async () => {
    await using world = await startStripeWorld({ buyerWindowMinutes: 40 });
    world.clock.ms += 10 * MINUTE;
    await handedOff(world);
    world.clock.ms += MINUTE;
    const late = stripePayment({ id: idOf('pay', 2) });
    assert.equal(outcomeOf(await world.provider.handoff(handoffOf(late))), 'refused');
  });

  test('the hint of a payment that is paid before the handoff is answered identifies this payment', async () => {
    await using world = await startStripeWorld();
    world.stripe.paysBeforeAnswer = true;
    const payment = await handedOff(world);
    const [event] = world.stripe.events;
    const { body, headers } = world.stripe.callbackOf(event!);
    const { hints, signals } = await world.provider.readCallback(Buffer.from(body), headers);
    assert.deepEqual([hints, signals], [[{ about: 'payment', id: payment.providerReference, eventId: event!.id }], []]);
    const { signals: answered } = await world.provider.query!(hints[0]!, null);
    assert.deepEqual(answered[0]?.ref, { paymentId: payment.id, reference: payment.providerReference });
  });
});
