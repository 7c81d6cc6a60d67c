import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import type { Payment } from '../../src/domain/records.ts';
import { createSession } from '../simulator/buyer.ts';
import { queryRows } from '../support/database.ts';
import { gatewayOf, paymentsOf } from '../support/gateway.ts';
import { ONLY_IN_FULL_RUN } from '../support/for-all.ts';
import { standings } from '../support/routing.ts';
import { assertSound } from '../support/sound.ts';
import type { ApiFault } from './scripted-party.ts';
import type { Forgery, ScriptedStripe } from './scripted-stripe.ts';
import { runHandoffFaults } from './stripe-faults.ts';
import {
  type StripeService,
  choose,
  deliver,
  keepLive,
  keepRoutes,
  lastPayment,
  pageText,
  sendForm,
  startStripeService,
  stripeSessionOf,
} from './stripe-service.ts';
import { payAtSimulator } from './history-parties.ts';
import { startTwoProviders } from './two-providers.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const BUYERS = 60;
const LOST = { times: 0, delayMs: 0 };
const SENT = { times: 1, delayMs: 0 };

/** A service and a scripted Stripe for all tests of a suite. After the suite, the database must satisfy all invariants. */
function suiteWorld(start: () => Promise<StripeService>): () => StripeService {
  let world: StripeService;
  before(async () => {
    world = await start();
  });
  beforeEach(() => {
    world.stripe.sendingOf = () => SENT;
  });
  after(async () => {
    assert.equal(await world.on.service.deps.store.ledgerTotal(), 0);
    await assertSound(world.on.databaseUrl);
    await world[Symbol.asyncDispose]();
  });
  return () => world;
}

/** A service whose only route is Stripe's card route, which stays live. */
const startCardsOnly = async (): Promise<StripeService> => {
  const world = await startStripeService();
  keepRoutes(world.on, 'card_stripe_test');
  await keepLive(world.on);
  return world;
};

function sessionsOf({ world }: ScriptedStripe, { id }: Payment): number {
  return [...world.sessions.values()].filter(({ metadata }) => metadata?.['payment'] === id).length;
}

describe('faults of a handoff', () => {
  const world = suiteWorld(startTwoProviders);

  /** Faults of the requests of one handoff, and the expected result. */
  interface Row {
    faults: ApiFault[];
    /** Provider to which the buyer is redirected. */
    goesTo: 'stripe_test' | 'sandbox';
    /** Number of Checkout Sessions that Stripe has for the payment. */
    sessions: number;
  }
  const ROWS: Record<string, Row> = {
    'a time-out before the session exists': { faults: ['hang_before'], goesTo: 'stripe_test', sessions: 1 },
    'a time-out after the session exists': { faults: ['hang_after'], goesTo: 'stripe_test', sessions: 1 },
    'two time-outs before the session exists': {
      faults: ['hang_before', 'hang_before'],
      goesTo: 'sandbox',
      sessions: 0,
    },
    'two time-outs after the session exists': { faults: ['hang_after', 'hang_after'], goesTo: 'sandbox', sessions: 1 },
    'a connection reset before the session exists': { faults: ['drop_before'], goesTo: 'stripe_test', sessions: 1 },
    'a connection reset after the session exists': { faults: ['drop_after'], goesTo: 'stripe_test', sessions: 1 },
    'two connection resets': { faults: ['drop_after', 'drop_after'], goesTo: 'sandbox', sessions: 1 },
    'a 500 before the session exists': { faults: ['error_500_before'], goesTo: 'sandbox', sessions: 0 },
    'a 500 after the session exists': { faults: ['error_500_after'], goesTo: 'sandbox', sessions: 1 },
    'a 429 with Retry-After': { faults: ['rate_limited'], goesTo: 'sandbox', sessions: 0 },
    'a 200 without the needed fields': { faults: ['empty_after'], goesTo: 'sandbox', sessions: 1 },
    'a 200 that is not JSON': { faults: ['garbage_after'], goesTo: 'sandbox', sessions: 1 },
    'a 200 with another amount': { faults: ['other_amount_after'], goesTo: 'sandbox', sessions: 1 },
  };
  for (const [name, { faults, goesTo, sessions }] of Object.entries(ROWS)) {
    it(`a handoff to Stripe with ${name} leads the buyer to one payable page, at ${goesTo}`, async () => {
      const { on, stripe } = world();
      await on.pass(3 * SECOND);
      const id = await createSession(on);
      stripe.faults = [...faults];
      // Only requests that hang get a short time limit.
      const [handoffMs, againMs] = [faults[0], faults[1]].map((each) => (each?.startsWith('hang') ? 250 : 60 * SECOND));
      const { deps } = on.service;
      deps.handoffLimits = { ...deps.handoffLimits, totalMs: HOUR, handoffMs: handoffMs!, againMs: againMs! };
      const location = await choose(on, id, 'card');
      const [first, second] = await paymentsOf(on, id);
      assert.equal(sessionsOf(stripe, first!), sessions);
      const taken = goesTo === 'stripe_test' ? first! : second!;
      assert.equal(taken.route.provider, goesTo);
      assert.match(await pageText(on, location), /Taking you to the provider/);
      if (goesTo === 'sandbox') {
        // The service has not redirected the buyer to the page that Stripe may have created.
        const { status, failureCode, providerUrl } = first!;
        assert.deepEqual([status, failureCode, providerUrl], ['failed', 'handoff_refused', null]);
        await payAtSimulator(taken, 'paid');
      } else stripe.pay(taken.providerReference!);
      await deliver(world());
      assert.match(await pageText(on, `/checkout/${id}`), /Payment received/);
      // The cancellation of the first payment is repeated while its handoff request may still arrive at Stripe.
      await on.pass(2 * HOUR);
      assert.deepEqual(await deps.store.tasksDue(Number.MAX_SAFE_INTEGER, 10), []);
    });
  }

  it('after a handoff with status 429 the service sends Stripe no request until Retry-After has passed', async () => {
    const { on, stripe } = world();
    await on.pass(3 * SECOND);
    stripe.faults = ['rate_limited'];
    await choose(on, await createSession(on), 'card');
    const count = stripe.requests.length;
    const id = await createSession(on);
    await choose(on, id, 'card');
    assert.equal(stripe.requests.length, count);
    assert.equal((await lastPayment(on, id)).route.provider, 'sandbox');
    await on.pass(3 * SECOND);
    const later = await createSession(on);
    await choose(on, later, 'card');
    assert.equal((await lastPayment(on, later)).route.provider, 'stripe_test');
  });

  it('the checkout page reports a refused handoff if no other route is left, and the buyer can try again', async () => {
    const { on, stripe } = world();
    await on.pass(3 * SECOND);
    const id = await createSession(on);
    stripe.faults = ['error_500_before'];
    const { deps } = on.service;
    const { routes } = deps;
    keepRoutes(on, 'card_stripe_test');
    const refused = await choose(on, id, 'card');
    assert.match(await pageText(on, refused), /Try again or pay another way You have not been charged/);
    deps.routes = routes;
    await choose(on, id, 'wallet');
    await payAtSimulator(await lastPayment(on, id), 'paid');
    await deliver(world());
    assert.match(await pageText(on, `/checkout/${id}`), /Payment received/);
  });
});

describe('callbacks of Stripe', () => {
  const world = suiteWorld(startCardsOnly);

  /** A session whose buyer was sent to Stripe. */
  async function started(): Promise<{ id: string; page: string; session: string }> {
    const { on } = world();
    const id = await createSession(on);
    await choose(on, id, 'card');
    return { id, page: `/checkout/${id}`, session: await stripeSessionOf(on, id) };
  }

  const isPaid = async (page: string) => /Payment received/.test(await pageText(world().on, page));

  it('a callback that arrives before the answer to the handoff marks the session paid', async () => {
    const { on, stripe } = world();
    stripe.paysBeforeAnswer = true;
    const id = await createSession(on);
    await choose(on, id, 'card');
    stripe.paysBeforeAnswer = false;
    await deliver(world());
    assert.ok(await isPaid(`/checkout/${id}`));
    assert.equal((await paymentsOf(on, id)).length, 1);
  });

  it('a callback that arrives several times causes one query and one payment.paid event', async () => {
    const { on, stripe } = world();
    const { id, page, session } = await started();
    stripe.sendingOf = () => ({ times: 3, delayMs: 0 });
    const count = stripe.requests.length;
    stripe.pay(session);
    await deliver(world());
    await deliver(world());
    assert.ok(await isPaid(page));
    assert.equal(stripe.requests.length, count + 1);
    const events = await on.service.deps.store.eventsOfSession(id);
    assert.deepEqual(events.map(({ type }) => type).toSorted(), ['payment.paid', 'payment.provider_pending']);
  });

  it('after a lost callback the payment is paid by an inquiry after 30 s, or by the query on the return of the buyer', async () => {
    const { on, stripe } = world();
    stripe.sendingOf = () => LOST;
    const [first, second] = [await started(), await started()];
    for (const { session } of [first, second]) stripe.pay(session);
    assert.match(await pageText(on, `${first.page}/back`), /confirm/i);
    await deliver(world());
    assert.deepEqual([await isPaid(first.page), await isPaid(second.page)], [true, false]);
    await on.pass(30 * SECOND);
    assert.ok(await isPaid(second.page));
  });

  for (const forgery of ['other_secret', 'changed_body', 'old', 'future', 'other_scheme', 'unsigned'] as Forgery[]) {
    it(`a forged callback (${forgery}) gets 401, causes no query and is not stored`, () =>
      assertWithoutEffect(forgery, 401));
  }
  for (const [forgery, outcome] of [
    ['live', 'environment_mismatch'],
    ['account', 'account_mismatch'],
  ] as const) {
    it(`a callback of another ${forgery === 'live' ? 'environment' : forgery} gets 200, is stored and flagged, and causes no query`, async () => {
      const flagged = `SELECT event_id FROM provider_inbox WHERE flagged = 1 AND state = 'done' AND outcome = '${outcome}'`;
      const before = await queryRows(world().on.databaseUrl, flagged);
      await assertWithoutEffect(forgery, 200);
      assert.equal((await queryRows(world().on.databaseUrl, flagged)).length, before.length + 1);
    });
  }
  async function assertWithoutEffect(forgery: Forgery, status: number): Promise<void> {
    const { on, stripe } = world();
    stripe.sendingOf = () => LOST;
    const { id, page, session } = await started();
    stripe.pay(session);
    const count = stripe.requests.length;
    assert.equal(await stripe.send(stripe.events.at(-1)!, forgery), status);
    await deliver(world());
    assert.equal(stripe.requests.length, count);
    assert.deepEqual(await on.service.deps.store.providerMessages(id), []);
    assert.match(await pageText(on, page), /Waiting for your payment/);
    await on.pass(30 * SECOND);
    assert.ok(await isPaid(page));
  }

  it('a signed callback that claims that an unpaid session is paid does not mark the payment paid', async () => {
    const { on, stripe } = world();
    const { id, page, session } = await started();
    const object = { ...stripe.world.sessions.get(session)!, status: 'complete', payment_status: 'paid' };
    const event = {
      id: 'evt_of_a_thief',
      object: 'event',
      type: 'checkout.session.completed',
      livemode: false,
    } as const;
    const created = Math.floor(on.clock.now() / 1000);
    assert.equal(await stripe.send({ ...event, created, data: { object } }), 200);
    await deliver(world());
    assert.match(await pageText(on, page), /Waiting for your payment/);
    assert.equal((await lastPayment(on, id)).status, 'pending');
  });
});

describe('an outage of Stripe for an hour', () => {
  const world = suiteWorld(startCardsOnly);

  it('during an outage of Stripe a paid checkout shows "Not confirmed yet"; after the outage it is paid', async () => {
    const { on, stripe } = world();
    const ids = [await createSession(on), await createSession(on)];
    for (const id of ids) await choose(on, id, 'card');
    const pages = ids.map((id) => `/checkout/${id}`);
    for (const id of ids) stripe.pay(await stripeSessionOf(on, id));
    await stripe.sent();
    await stripe.goDown();
    for (let minute = 0; minute < 59; minute++) await on.pass(MINUTE);
    for (const page of pages) assert.match(await pageText(on, page), /Not confirmed yet/);
    // A buyer who starts a payment during the outage sees that the handoff failed.
    const late = await createSession(on);
    const location = await choose(on, late, 'card');
    assert.match(await pageText(on, location), /You have not been charged/);
    await stripe.listen();
    await pageText(on, `${pages[0]}/back`);
    await on.pass(SECOND);
    assert.match(await pageText(on, pages[0]!), /Payment received/);
    await on.pass(30 * SECOND);
    assert.match(await pageText(on, pages[1]!), /Payment received/);
    assert.deepEqual(await on.service.deps.store.hintsDue(Number.MAX_SAFE_INTEGER, 10), []);
  });
});

describe('a Stripe key that is revoked while the service runs', () => {
  const world = suiteWorld(startTwoProviders);

  it("a revoked key puts Stripe's routes in standby with the reason, until the next successful check", async () => {
    const { on, stripe } = world();
    const waiting = await createSession(on);
    await choose(on, waiting, 'card');
    stripe.isKeyRevoked = true;
    stripe.pay(await stripeSessionOf(on, waiting));
    await deliver(world());
    const reason = /^standby: stripe_test: the key was refused \(401\)/;
    for (const id of ['card_stripe_test', 'local_stripe_test_ach']) {
      assert.match((await standings(on)).get(id)!.words, reason);
    }
    const { data } = await gatewayOf(on).get<{ data: { id: string; ready: boolean; reason: string | null }[] }>(
      'providers',
    );
    assert.equal(data.find(({ id }) => id === 'stripe_test')!.ready, false);
    assert.ok(on.logged.some((line) => line.includes('provider stripe_test is not ready: the key was refused (401)')));
    assert.ok(!on.logged.some((line) => line.includes(stripe.secretKey)));
    // The simulator takes card payments, and the page does not offer a bank debit.
    const other = await createSession(on);
    const page = await pageText(on, `/checkout/${other}`);
    assert.doesNotMatch(page, /Bank account/);
    await choose(on, other, 'card');
    assert.equal((await lastPayment(on, other)).route.provider, 'sandbox');
    // The payment that waits at Stripe stays pending and cannot be stopped.
    assert.match(await pageText(on, `/checkout/${waiting}`), /Not confirmed yet/);
    assert.match(await sendForm(on, waiting, 'switch'), /not_stopped/);

    stripe.isKeyRevoked = false;
    await on.pass(MINUTE);
    assert.match((await standings(on)).get('card_stripe_test')!.words, /^live/);
    assert.match(await pageText(on, `/checkout/${waiting}`), /Payment received/);
  });

  it('a handoff detects the revoked key, and the payment fails over to the next route', async () => {
    const { on, stripe } = world();
    stripe.isKeyRevoked = true;
    const id = await createSession(on);
    await choose(on, id, 'card');
    const providers = (await paymentsOf(on, id)).map(({ route }) => route.provider);
    assert.deepEqual(providers, ['stripe_test', 'sandbox']);
    assert.match((await standings(on)).get('card_stripe_test')!.words, /the key was refused \(401\)/);
    stripe.isKeyRevoked = false;
    await on.pass(MINUTE);
    assert.match((await standings(on)).get('card_stripe_test')!.words, /^live/);
  });
});

describe('random faults of handoffs', ONLY_IN_FULL_RUN, () => {
  it('random faults of handoffs never leave a buyer with two payable pages', async () => {
    const seed = Math.floor(performance.now() * 1000);
    assert.deepEqual(await runHandoffFaults(BUYERS, seed), []);
  });

  it('the random handoff faults detect a mutant adapter that reports a cancellation without sending it', async () => {
    assert.notDeepEqual(await runHandoffFaults(10, 1, true), []);
  });
});
