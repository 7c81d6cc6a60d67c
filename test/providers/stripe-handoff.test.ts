import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { HandoffResult } from '../../src/providers/provider.ts';
import { MINUTE, idOf } from '../fixtures/checkout-records.ts';
import type { ApiFault } from './scripted-stripe.ts';
import { handedOff, handoffOf, startStripeWorld, stripePayment } from './stripe-fixtures.ts';

/** The outcome of a handoff, with `isAnswered` of an ambiguous one. */
function outcomeOf(result: HandoffResult): string {
  if (result.outcome !== 'ambiguous') return result.outcome;
  return result.isAnswered ? 'ambiguous, answered' : 'ambiguous, no answer';
}

describe('a handoff', () => {
  test('returns the session and its page, and the same ones when it is repeated', async () => {
    await using world = await startStripeWorld();
    const payment = stripePayment();
    const results = await Promise.all([1, 2].map(() => world.provider.handoff(handoffOf(payment))));
    const [session] = world.stripe.world.sessions.values();
    const expected = { outcome: 'accepted', reference: session!.id, url: session!.url };
    for (const result of results) assert.deepEqual(result, expected);
    assert.equal(session!.amount_total, payment.fees.total);
    assert.equal(world.stripe.world.sessions.size, 1);
  });

  // Fault, outcome, and the outcome of the same request sent again: Stripe repeats a 500.
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
    test(`with the fault ${fault} is ${first}`, async () => {
      await using world = await startStripeWorld();
      const payment = stripePayment();
      world.stripe.faults.push(fault);
      assert.equal(outcomeOf(await world.provider.handoff(handoffOf(payment, 200))), first);
      // Nobody can pay at a page whose URL was not handed out.
      assert.equal(await world.provider.inquire(payment), 'unknown');
      assert.equal(await world.provider.cancel(payment), 'unknown');
      assert.equal(outcomeOf(await world.provider.handoff(handoffOf(payment))), again);
      assert.equal(world.stripe.world.sessions.size, sessions);
    });
  }

  test('is refused while nothing listens, and accepted afterwards', async () => {
    await using world = await startStripeWorld();
    await world.stripe.goDown();
    assert.equal(outcomeOf(await world.provider.handoff(handoffOf(stripePayment()))), 'refused');
    await world.stripe.listen();
    await handedOff(world);
  });

  test('waits as long as Retry-After says', async () => {
    await using world = await startStripeWorld();
    world.stripe.faults.push('rate_limited');
    for (let each = 0; each < 3; each++) await world.provider.handoff(handoffOf(stripePayment()));
    assert.equal(world.stripe.requests.length, 0);
    world.clock.ms += 2000;
    await handedOff(world);
  });

  test('with a revoked key is refused and reported at once, and no log line or message contains the key', async () => {
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

  test("is refused with Stripe's message after a clear refusal", async () => {
    await using world = await startStripeWorld();
    const small = stripePayment({ amount: 20, fees: { buyerFee: 0, gatewayFee: 1, merchantNet: 19, total: 20 } });
    const result = await world.provider.handoff(handoffOf(small));
    assert.ok(result.outcome === 'refused');
    assert.match(result.providerReason!, /at least \$0.50/);
    const foreign = stripePayment({}, 'base');
    assert.equal(outcomeOf(await world.provider.handoff(handoffOf(foreign))), 'refused');
    const { session } = handoffOf(foreign);
    const live = { ...handoffOf(stripePayment()), session: { ...session, environment: 'production' as const } };
    assert.equal(outcomeOf(await world.provider.handoff(live)), 'refused');
    assert.equal(world.stripe.requests.length, 1);
  });

  test('is refused if the payment method is turned off, because the page would offer no method', async () => {
    await using world = await startStripeWorld();
    world.stripe.methods = ['card'];
    const debit = stripePayment({ id: idOf('pay', 2) }, 'ach');
    const result = await world.provider.handoff(handoffOf(debit));
    assert.ok(result.outcome === 'refused');
    assert.match(result.reason, /us_bank_account.*dashboard/);
    await handedOff(world);
  });

  test('without permission makes the instance not ready; a query without permission only rejects', async () => {
    await using world = await startStripeWorld();
    const payment = await handedOff(world);
    world.stripe.faults.push('forbidden');
    await assert.rejects(world.provider.inquire(payment), /403/);
    assert.deepEqual(world.refusedKeys, []);
    world.stripe.faults.push('forbidden');
    await world.provider.handoff(handoffOf(stripePayment({ id: idOf('pay', 2) })));
    assert.deepEqual(world.refusedKeys, ["the key was refused (403): The key '[key]' lacks a permission"]);
  });

  test('with other parameters under the same key is ambiguous', async () => {
    await using world = await startStripeWorld();
    await handedOff(world);
    const other = { ...handoffOf(stripePayment()), returnUrl: 'https://other.example/' };
    assert.equal(outcomeOf(await world.provider.handoff(other)), 'ambiguous, answered');
  });

  test('may be sent 10 minutes late in the shortest window, and not later', async () => {
    await using world = await startStripeWorld({ buyerWindowMinutes: 40 });
    world.clock.ms += 10 * MINUTE;
    await handedOff(world);
    world.clock.ms += MINUTE;
    const late = stripePayment({ id: idOf('pay', 2) });
    assert.equal(outcomeOf(await world.provider.handoff(handoffOf(late))), 'refused');
  });

  test('whose payment is paid before the answer arrives gives the hint first', async () => {
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
