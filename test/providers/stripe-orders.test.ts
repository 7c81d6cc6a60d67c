import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createSession, start } from '../simulator/buyer.ts';
import { booksOf } from '../support/gateway.ts';
import { ONLY_IN_FULL_RUN } from '../support/for-all.ts';
import { assertSound } from '../support/sound.ts';
import { runOrders } from './stripe-orders.ts';
import { deliver, keepRoutes, lastPayment, startStripeService, stripeSessionOf } from './stripe-service.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const SCRIPTS = 60;

/** A service with a card payment that the buyer has paid. If `isLost`, the callback is lost and the payment still pending. */
async function paidCard({ isLost }: { isLost: boolean }) {
  const world = await startStripeService();
  const { on, stripe } = world;
  keepRoutes(on, 'card_stripe_test');
  const id = await createSession(on);
  await start(on, id, 'card');
  if (isLost) stripe.sendingOf = () => ({ times: 0, delayMs: 0 });
  const session = await stripeSessionOf(on, id);
  stripe.pay(session);
  stripe.sendingOf = () => ({ times: 1, delayMs: 0 });
  await deliver(world);
  return { world, on, stripe, id, intent: stripe.world.sessions.get(session)!.payment_intent! };
}

describe('events of Stripe', () => {
  it('a refund, a dispute and a payout that arrive before the paid report are booked after the payment is paid', async () => {
    const { world, on, stripe, id, intent } = await paidCard({ isLost: true });
    await using _ = world;
    stripe.refundInDashboard(intent, 700);
    stripe.withdrawFunds(stripe.openDispute(intent).id);
    stripe.payOut();
    await deliver(world);
    assert.equal((await lastPayment(on, id)).status, 'pending');
    // The inquiry marks the payment paid; later the service queries the hints again.
    await on.pass(30_000);
    await on.pass(HOUR);
    const { status, refunded, reversed } = await lastPayment(on, id);
    assert.deepEqual([status, refunded, reversed], ['paid', 700, 4299]);
    assert.equal((await booksOf(on, (await lastPayment(on, id)).id))['provider_clearing'], undefined);
    await assertSound(on.databaseUrl);
  });

  it('a payment is settled if its dispute is won after the payout', async () => {
    const { world, on, stripe, id, intent } = await paidCard({ isLost: false });
    await using _ = world;
    const dispute = stripe.openDispute(intent);
    stripe.withdrawFunds(dispute.id);
    await deliver(world);
    stripe.payOut();
    await deliver(world);
    assert.equal((await lastPayment(on, id)).settled, false);
    stripe.closeDispute(dispute.id, 'won');
    await deliver(world);
    const { settled, ledgerStatus } = await lastPayment(on, id);
    assert.deepEqual([settled, ledgerStatus], [true, 'settled']);
    await assertSound(on.databaseUrl);
  });

  it('a refund in the dashboard and a dispute of the rest violate no invariant of `tillway doctor`', async () => {
    const { world, on, stripe, intent } = await paidCard({ isLost: false });
    await using _ = world;
    stripe.refundInDashboard(intent, 700);
    stripe.withdrawFunds(stripe.openDispute(intent).id);
    await deliver(world);
    await assertSound(on.databaseUrl);
  });

  it('the gateway fee shrinks by the share of an earlier refund whose event arrives after the dispute', async () => {
    const { world, on, stripe, id, intent } = await paidCard({ isLost: false });
    await using _ = world;
    stripe.sendingOf = () => ({ times: 0, delayMs: 0 });
    stripe.refundInDashboard(intent, 700);
    const refund = stripe.events.at(-1)!;
    stripe.sendingOf = () => ({ times: 1, delayMs: 0 });
    stripe.withdrawFunds(stripe.openDispute(intent).id);
    await deliver(world);
    await stripe.send(refund);
    await deliver(world);
    // The gateway fee of 145 cents, less its share of the refund of 7.00 of 49.99.
    assert.equal((await booksOf(on, (await lastPayment(on, id)).id))['gateway_revenue'], -125);
  });

  it('the service queries a refund of an unknown payment of the account three times, and then abandons the hint', async () => {
    const { world, on, stripe } = await paidCard({ isLost: false });
    await using _ = world;
    stripe.world.intents.set('pi_foreign', {
      ...[...stripe.world.intents.values()][0]!,
      id: 'pi_foreign',
      metadata: {},
    });
    stripe.refundInDashboard('pi_foreign', 100);
    await deliver(world);
    const { id: refund } = [...stripe.world.refunds.values()].at(-1)!;
    for (const ms of [HOUR, HOUR, DAY, DAY, 3 * DAY]) await on.pass(ms);
    assert.equal(stripe.requests.filter(({ id }) => id === refund).length, 3);
    assert.deepEqual(await on.service.deps.store.hintsDue(Number.MAX_SAFE_INTEGER, 10), []);
  });
});

describe('events of Stripe in random order', ONLY_IN_FULL_RUN, () => {
  it('events in random order, with duplicates and losses, lead to the same end state as events in order', async () => {
    const seed = Math.floor(performance.now() * 1000);
    assert.deepEqual(await runOrders(SCRIPTS, seed), []);
  });

  it('the random orders detect a mutant adapter that trusts the content of a callback', async () => {
    assert.notDeepEqual(await runOrders(30, 4, true), []);
  });
});
