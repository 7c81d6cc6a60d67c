import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { RouteKind } from '../../src/domain/route.ts';
import { createSession, fieldsOf, submit } from '../simulator/buyer.ts';
import { instrumentById } from '../../src/simulator/test-instruments.ts';
import { booksOf, paymentsOf } from '../support/gateway.ts';
import { ONLY_IN_FULL_RUN } from '../support/for-all.ts';
import { assertSound } from '../support/sound.ts';
import { choose, deliver, keepRoutes, lastPayment, pageText, sendForm, stripeSessionOf } from './stripe-service.ts';
import { problemsOfCheckout, runHistories } from './provider-histories.ts';
import { startTwoInHistory, startTwoProviders } from './two-providers.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const DAY = 24 * 60 * MINUTE;
const HISTORIES = 60;

let world: Awaited<ReturnType<typeof startTwoProviders>>;

before(async () => {
  world = await startTwoProviders();
  // With these routes, Stripe takes cards and bank debits, and the simulator takes wallets.
  keepRoutes(world.on, 'card_stripe_test', 'local_stripe_test_ach', 'sandbox_wallet_express');
});
after(async () => {
  assert.equal(await world.on.service.deps.store.ledgerTotal(), 0);
  await assertSound(world.on.databaseUrl);
  await world[Symbol.asyncDispose]();
});

/** Creates a session whose buyer has chosen a payment method; returns its id. */
async function started(kind: RouteKind): Promise<string> {
  const id = await createSession(world.on);
  await choose(world.on, id, kind);
  return id;
}

/** The buyer switches to another payment method; asserts that the page allows it. */
async function switchTo(id: string, kind: RouteKind): Promise<void> {
  assert.doesNotMatch(await sendForm(world.on, id, 'switch'), /notice/);
  await choose(world.on, id, kind);
}

async function payAtSimulator(page: string, instrument: string): Promise<number> {
  return (await submit(page, fieldsOf('wallet', instrumentById(instrument)!))).status;
}

async function states(id: string): Promise<string[]> {
  const payments = await paymentsOf(world.on, id);
  return payments.map(({ route, status, surplus }) => `${route.provider} ${surplus ? 'surplus' : status}`);
}

async function assertPaidOnce(id: string, expected: string[]): Promise<void> {
  assert.deepEqual(await states(id), expected);
  assert.deepEqual(await problemsOfCheckout(world, id), []);
}

describe('a buyer with two providers', () => {
  it('after a switch from Stripe to the simulator the page at Stripe is closed', async () => {
    const { on, stripe } = world;
    const id = await started('card');
    const { providerUrl, providerReference } = await lastPayment(on, id);
    await switchTo(id, 'wallet');
    assert.equal(stripe.world.sessions.get(providerReference!)!.status, 'expired');
    assert.equal((await fetch(providerUrl!)).status, 410);
    await payAtSimulator((await lastPayment(on, id)).providerUrl!, 'paid');
    await deliver(world);
    await assertPaidOnce(id, ['stripe_test failed', 'sandbox paid']);
  });

  it('after a switch from the simulator to Stripe the buyer cannot pay on the old page of the simulator', async () => {
    const { on, stripe } = world;
    const id = await started('wallet');
    const { providerUrl: oldTab } = await lastPayment(on, id);
    await switchTo(id, 'card');
    await payAtSimulator(oldTab!, 'paid');
    await deliver(world);
    assert.deepEqual(await states(id), ['sandbox failed', 'stripe_test pending']);
    stripe.pay(await stripeSessionOf(on, id));
    await deliver(world);
    await assertPaidOnce(id, ['sandbox failed', 'stripe_test paid']);
  });

  it('a buyer who pays at Stripe before the switch has paid, and cannot start another payment', async () => {
    const { on, stripe } = world;
    const id = await started('card');
    stripe.sendingOf = () => ({ times: 0, delayMs: 0 });
    stripe.pay(await stripeSessionOf(on, id));
    const location = await sendForm(on, id, 'switch');
    stripe.sendingOf = () => ({ times: 1, delayMs: 0 });
    assert.match(await pageText(on, location), /Payment received/);
    await choose(on, id, 'wallet');
    await assertPaidOnce(id, ['stripe_test paid']);
  });

  it('a buyer cannot switch while a bank debit is in progress, and the page says so', async () => {
    const { on, stripe } = world;
    const id = await started('local');
    const debit = await stripeSessionOf(on, id);
    stripe.sendingOf = () => ({ times: 0, delayMs: 0 });
    stripe.startDebit(debit);
    const location = await sendForm(on, id, 'switch');
    stripe.sendingOf = () => ({ times: 1, delayMs: 0 });
    assert.match(await pageText(on, location), /cannot be stopped right now/);
    await choose(on, id, 'wallet');
    assert.deepEqual(await states(id), ['stripe_test pending']);
    // After the inquiry has found the debit, the page no longer offers the switch.
    await on.pass(31 * SECOND);
    assert.doesNotMatch(await pageText(on, `/checkout/${id}`), /Choose another way/);
    await sendForm(on, id, 'switch');
    assert.deepEqual(await states(id), ['stripe_test pending']);
    await on.pass(4 * DAY);
    stripe.finishDebit(debit);
    await deliver(world);
    await assertPaidOnce(id, ['stripe_test paid']);
  });

  it('a buyer cannot switch while Stripe does not answer, because its page could still be paid', async () => {
    const { on, stripe } = world;
    const id = await started('card');
    await stripe.goDown();
    const location = await sendForm(on, id, 'switch');
    await stripe.listen();
    assert.match(await pageText(on, location), /cannot be stopped right now/);
    assert.deepEqual(await states(id), ['stripe_test pending']);
    await switchTo(id, 'wallet');
    await payAtSimulator((await lastPayment(on, id)).providerUrl!, 'paid');
    await deliver(world);
    await assertPaidOnce(id, ['stripe_test failed', 'sandbox paid']);
  });

  it('late money of a declined payment at the simulator is a surplus and is refunded if Stripe has been paid meanwhile', async () => {
    const { on, stripe } = world;
    const id = await started('wallet');
    await payAtSimulator((await lastPayment(on, id)).providerUrl!, 'late_success');
    await deliver(world);
    await choose(on, id, 'card');
    stripe.pay(await stripeSessionOf(on, id));
    await deliver(world);
    await on.pass(MINUTE);
    await assertPaidOnce(id, ['sandbox surplus', 'stripe_test paid']);
    const [surplus] = await paymentsOf(on, id);
    assert.equal(surplus!.refunded, surplus!.fees.total);
    assert.match(
      await pageText(on, `/checkout/${id}`),
      /A second payment of \$50\.24 arrived too. It has been refunded/,
    );
  });

  for (const isRefunded of [true, false]) {
    const end = isRefunded ? 'refunded to the cent' : 'a discrepancy if the refund fails';
    it(`a payment at Stripe after the late money of the simulator is a surplus, which is ${end}`, async () => {
      const { on, stripe } = world;
      const id = await started('wallet');
      await payAtSimulator((await lastPayment(on, id)).providerUrl!, 'late_success');
      await deliver(world);
      await choose(on, id, 'card');
      const tab = await stripeSessionOf(on, id);
      // The service cannot close the page at Stripe during the outage, and the buyer pays there.
      await stripe.goDown();
      await on.pass(31 * SECOND);
      await stripe.listen();
      stripe.nextRefundStatus = isRefunded ? 'succeeded' : 'pending';
      stripe.pay(tab);
      await deliver(world, 10 * SECOND);
      const refund = [...stripe.world.refunds.values()].at(-1)!;
      if (!isRefunded) stripe.finishRefund(refund.id, 'failed', 'lost_or_stolen_card');
      stripe.nextRefundStatus = 'succeeded';
      await deliver(world, MINUTE);
      await assertPaidOnce(id, ['sandbox paid', 'stripe_test surplus']);
      const [, surplus] = await paymentsOf(on, id);
      const books = await booksOf(on, surplus!.id);
      assert.equal(books['buyer_refunds_payable'], isRefunded ? undefined : -surplus!.fees.total);
    });
  }

  it('a late failure report of the first attempt does not change the second attempt, neither pending nor paid', async () => {
    const { on, stripe } = world;
    const id = await started('card');
    const first = await stripeSessionOf(on, id);
    stripe.decline(first, 'insufficient_funds');
    stripe.sendingOf = () => ({ times: 0, delayMs: 0 });
    await switchTo(id, 'card');
    stripe.sendingOf = () => ({ times: 1, delayMs: 0 });
    const expired = stripe.events.at(-1)!;
    assert.equal(expired.type, 'checkout.session.expired');
    await stripe.send(expired);
    await deliver(world);
    assert.deepEqual(await states(id), ['stripe_test failed', 'stripe_test pending']);
    stripe.pay(await stripeSessionOf(on, id));
    await deliver(world);
    await stripe.send({ ...expired, id: 'evt_repeated_much_later' });
    await deliver(world);
    await assertPaidOnce(id, ['stripe_test failed', 'stripe_test paid']);
  });
});

describe('random histories of two providers', ONLY_IN_FULL_RUN, () => {
  it('random histories of two providers end with at most one paid payment, one paid event, and a refund or discrepancy for the rest', async () => {
    const seed = Math.floor(performance.now() * 1000);
    assert.deepEqual(await runHistories(startTwoInHistory, HISTORIES, seed), []);
  });

  it('the random histories detect providers that acknowledge refunds without making them', async () => {
    assert.notDeepEqual(await runHistories(startTwoInHistory, HISTORIES, 1, true), []);
  });
});
