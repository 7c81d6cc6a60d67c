// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { type TestContext, describe, test } from 'node:test';
import type { DeliveryResource } from '../../src/contract/delivery-contract.ts';
import type { ProviderStatus } from '../../src/domain/records.ts';
import { replayDelivery } from '../../src/operations/redeliver.ts';
import { type Merchant, WAITS, openMerchant } from '../support/merchant.ts';
import { providerSays } from '../support/money-arrives.ts';
import { receiver } from '../webhooks/fixtures.ts';
import { refused } from '../support/refusal.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;

type Shop = Merchant & { answer: number };

/** A merchant whose server answers with the status `answer`. */
async function openShop(context: TestContext, answer: number): Promise<Shop> {
  const shop: Shop = Object.assign(await openMerchant(context, () => shop.answer), { answer });
  return shop;
}

/** A merchant with one delivery that is dead because every scheduled attempt failed. */
async function openShopWithDead(context: TestContext, statuses: readonly ProviderStatus[] = ['paid']) {
  const shop = await openShop(context, 500);
  const sessionId = await shop.sell(statuses);
  await shop.exhaust();
  const [dead] = await shop.deliveries('status=dead');
  return { shop, sessionId, dead: dead! };
}

test('a dead delivery is listed, replayed and delivered, and its log contains every attempt', async (context) => {
  const shop = await openShop(context, 500);
  const { tillway } = shop;
  const sessionId = await shop.sell(['paid']);
  const created = shop.now();
  const [waiting] = await shop.deliveries();
  assert.deepEqual(waiting, {
    id: waiting!.id,
    object: 'delivery',
    eventId: `evt_${sessionId}_paid`,
    endpointId: waiting!.endpointId,
    sessionId,
    environment: 'sandbox',
    type: 'payment.paid',
    status: 'pending',
    attempts: 0,
    nextAttemptAt: created,
    lastAttempt: null,
    created,
  });
  assert.match(`${waiting.id} ${waiting.endpointId}`, /^dlv_\w+ whe_\w+$/);

  await shop.exhaust();
  const [dead, ...others] = await shop.deliveries('status=dead');
  const { lastAttempt } = dead!;
  assert.deepEqual(dead, { ...waiting, status: 'dead', attempts: 5, nextAttemptAt: null, lastAttempt });
  assert.deepEqual([lastAttempt!.statusCode, lastAttempt!.failure], [500, 'answered 500']);
  assert.equal(others.length, 0);
  await tillway.pass(24 * 60 * MINUTE);
  assert.equal(shop.received.length, 5);

  shop.answer = 200;
  const replayed = await shop.replay(dead.id);
  const now = shop.now();
  assert.deepEqual(replayed, { ...dead, status: 'pending', nextAttemptAt: now });
  await tillway.pass(0);
  const { log, payload, ...rest } = await shop.delivery(dead.id);
  const { started: at, durationMs } = log.at(-1)!;
  const last = { at, durationMs, statusCode: 200, failure: null };
  assert.deepEqual(rest, { ...dead, status: 'delivered', attempts: 6, lastAttempt: last });
  assert.deepEqual(
    log.map(({ number, statusCode, failure, responseBody }) => [number, statusCode, failure, responseBody]),
    [
      ...[1, 2, 3, 4, 5].map((number) => [number, 500, 'answered 500', 'from the shop']),
      [6, 200, null, 'from the shop'],
    ],
  );
  assert.deepEqual([log[0]!.started, log[5]!.started], [created, now]);
  assert.equal(payload.id, waiting.eventId);
  assert(shop.received.every(({ body }) => body === JSON.stringify(payload)));
  assert.equal(shop.received.length, 6);
});

/** The two requests that send a delivery again: a replay of the delivery, or a resend of its event. */
const REQUESTS = {
  replay: (shop: Merchant, { id }: DeliveryResource) => shop.replay(id),
  async resend(shop: Merchant, { eventId }: DeliveryResource) {
    const [resent, ...others] = await shop.resend(eventId);
    assert.deepEqual(others, []);
    return resent!;
  },
};
for (const [how, sendAgain] of Object.entries(REQUESTS)) {
  describe(`${how} of a delivery`, () => {
    test(`the ${how} of a delivered delivery sends the same bytes again, and that of a dead delivery starts a new retry schedule`, async (context) => {
      const shop = await openShop(context, 200);
      const { tillway } = shop;
      await shop.sell(['paid']);
      await tillway.pass(0);
      const [delivered] = await shop.deliveries('status=delivered');
      const pending = { ...delivered, status: 'pending', nextAttemptAt: shop.now() };
      assert.deepEqual(await sendAgain(shop, delivered!), pending);
      await tillway.pass(0);
      assert.deepEqual(await shop.deliveries(), [{ ...delivered!, attempts: 2 }]);
      assert.equal(shop.received[0]!.body, shop.received[1]!.body);
      shop.answer = 500;
      await sendAgain(shop, delivered!);
      await shop.exhaust();
      const [dead] = await shop.deliveries();
      assert.deepEqual([dead!.status, dead!.attempts], ['dead', 7]);
      shop.answer = 200;
      await sendAgain(shop, dead!);
      await tillway.pass(0);
      assert.equal((await shop.deliveries())[0]!.status, 'delivered');
      assert.equal(shop.received.length, 8);
    });

    test(`the ${how} of a pending delivery makes it due immediately, and its retry schedule continues`, async (context) => {
      const shop = await openShop(context, 500);
      const { tillway } = shop;
      await shop.sell(['paid']);
      for (const wait of WAITS.slice(0, 4)) await tillway.pass(wait);
      const [waiting] = await shop.deliveries();
      const now = shop.now();
      assert(waiting!.nextAttemptAt! > now);
      // A repeated request makes no further change.
      for (let time = 0; time < 2; time++)
        assert.deepEqual(await sendAgain(shop, waiting!), { ...waiting, nextAttemptAt: now });
      await tillway.pass(0);
      const { status, attempts } = await shop.delivery(waiting!.id);
      assert.deepEqual([status, attempts], ['dead', 5]);
    });

    test(`after the ${how} of a delivery, later pending events of its session wait for this delivery`, async (context) => {
      const { shop, sessionId, dead: first } = await openShopWithDead(context, ['provider_pending']);
      await providerSays(shop.tillway, sessionId, 'paid');
      shop.received.length = 0;
      await sendAgain(shop, first);
      await shop.tillway.pass(0);
      shop.answer = 200;
      await shop.tillway.pass(7 * SECOND);
      // The payment timed out before it was paid, so the session has a failed event too.
      const types = ['provider_pending', 'provider_pending', 'failed', 'paid'].map((status) => `payment.${status}`);
      assert.deepEqual(shop.types(), types);
    });

    test(`the ${how} of a delivery makes an earlier pending event of its session due too, and both are sent in order`, async (context) => {
      const shop = await openShop(context, 500);
      const { first, behind } = await holdUp(shop);
      shop.answer = 200;
      const now = shop.now();
      assert.deepEqual(await sendAgain(shop, behind), { ...behind, nextAttemptAt: now });
      assert.equal((await shop.delivery(first.id)).nextAttemptAt, now);
      await shop.tillway.pass(0);
      assert.deepEqual(shop.types(), ['payment.provider_pending', 'payment.paid']);
      assert.equal((await shop.delivery(first.id)).attempts, 3);
    });
  });
}

/** Deliveries of the two events of a session: `first` has failed and waits for its retry, `behind` waits for `first`. */
async function holdUp(shop: Merchant) {
  const { tillway } = shop;
  const sessionId = await shop.sell(['provider_pending', 'paid']);
  await tillway.pass(0);
  await tillway.pass(7 * SECOND);
  shop.received.length = 0;
  const [behind, first] = await shop.deliveries(`sessionId=${sessionId}`);
  assert(first && behind);
  assert(Date.parse(first.nextAttemptAt!) > tillway.clock.now());
  return { first, behind };
}

describe('a replay of a delivery that waits for an earlier event of its session', () => {
  test('a replayed delivery waits for the next retry of an earlier event of its session if the earlier event fails again', async (context) => {
    const shop = await openShop(context, 500);
    const { first, behind } = await holdUp(shop);
    await shop.replay(behind.id);
    await shop.tillway.pass(0);
    assert.deepEqual(shop.types(), ['payment.provider_pending']);
    const { nextAttemptAt, attempts } = await shop.delivery(first.id);
    assert(Date.parse(nextAttemptAt!) > shop.tillway.clock.now() + MINUTE);
    assert.equal(attempts, 3);
    const later = await shop.delivery(behind.id);
    assert.deepEqual([later.nextAttemptAt, later.attempts], [nextAttemptAt, 0]);
  });

  test('a replayed delivery is sent after an earlier pending event of its session, even if it already had attempts', async (context) => {
    const { shop, sessionId, dead: first } = await openShopWithDead(context, ['provider_pending']);
    const { tillway } = shop;
    await tillway.pass(0);
    await tillway.pass(7 * SECOND);
    const [later] = await shop.deliveries(`sessionId=${sessionId}&status=pending`);
    assert(later && later.attempts > 0);
    await shop.replay(first.id);
    await tillway.pass(0);
    await tillway.pass(7 * SECOND);
    await shop.replay(later.id);
    await tillway.pass(0);
    const earlier = await shop.delivery(first.id);
    assert.equal(earlier.attempts, 8);
    assert.equal((await shop.delivery(later.id)).nextAttemptAt, earlier.nextAttemptAt);
    shop.answer = 200;
    shop.received.length = 0;
    await shop.replay(later.id);
    await tillway.pass(0);
    assert.equal(shop.types()[0], 'payment.provider_pending');
    assert.equal((await shop.delivery(later.id)).status, 'delivered');
  });

  test('a replayed delivery is not counted in the backlog while it waits for an earlier event of its session', async (context) => {
    const shop = await openShop(context, 500);
    const { behind } = await holdUp(shop);
    const { store, now } = shop.tillway.service.deps;
    const delivery = (await store.delivery(behind.id))!;
    const due = now() - 1;
    await store.commit([{ type: 'delivery_replayed', delivery: { ...delivery, dueAt: due }, from: 'pending' }]);
    assert.equal((await store.backlog('sandbox', now())).deliveryDueSince, null);
    const { dueAt } = (await store.deliveriesOfSession(delivery.sessionId))[0]!;
    assert.equal((await store.backlog('sandbox', dueAt - 1)).deliveryDueSince, null);
    assert.equal((await store.backlog('sandbox', dueAt)).deliveryDueSince, dueAt);
  });
});

describe('a replay that races the dispatcher', () => {
  test('a delivery replay that races the dispatcher does not interrupt an attempt in progress, and that attempt’s result is recorded', async (context) => {
    let shop: Merchant | undefined;
    let raced: DeliveryResource | undefined;
    let due: unknown;
    const { url, received } = await receiver(context, (_, __, response) => {
      void (async () => {
        // The receiver has not answered the request yet, so its delivery attempt is in progress.
        const [inProgress] = await shop!.deliveries();
        raced = await shop!.replay(inProgress!.id);
        const { store, now } = shop!.tillway.service.deps;
        due = await store.deliveriesDue(inProgress!.endpointId, now(), 5);
        response.writeHead(200).end();
      })();
    });
    shop = await openMerchant(context);
    await changeEndpoint(shop, { url });
    await shop.sell(['paid']);
    await shop.tillway.pass(0);
    assert.deepEqual([raced?.status, raced?.attempts, due], ['pending', 1, []]);
    await shop.tillway.pass(2 * MINUTE);
    const [delivered] = await shop.deliveries();
    assert.deepEqual([delivered!.status, delivered!.attempts, received.length], ['delivered', 1, 1]);
  });

  test('a delivery replay that races the dispatcher reads and decides again if an attempt began after the first read', async (context) => {
    const shop = await openShop(context, 500);
    await shop.sell(['paid']);
    await shop.tillway.pass(0);
    const [waiting] = await shop.deliveries();
    const { store, now } = shop.tillway.service.deps;
    let reads = 0;
    const slow = {
      ...store,
      async deliveryAttempts(id: string) {
        const log = await store.deliveryAttempts(id);
        if (reads++ > 0) return log;
        shop.answer = 200;
        await shop.replay(id);
        await shop.tillway.pass(0);
        return log;
      },
    };
    const replayed = await replayDelivery({ ...shop.tillway.service.deps, store: slow, now }, waiting!.id);
    // The event was delivered after the first read, so this request replays a delivered delivery.
    assert.deepEqual([reads, replayed.status, replayed.attempts, replayed.scheduleStart], [2, 'pending', 2, 2]);
    await shop.tillway.pass(0);
    const { status, log } = await shop.delivery(waiting!.id);
    assert.deepEqual([status, log.map(({ statusCode }) => statusCode)], ['delivered', [500, 200, 200]]);
  });

  test('a delivery replay that races the dispatcher is applied once for many simultaneous requests, and the event is sent once', async (context) => {
    const { shop, dead } = await openShopWithDead(context);
    shop.answer = 200;
    const replays = await Promise.all(Array.from({ length: 10 }, () => shop.replay(dead.id)));
    assert(replays.every(({ status, attempts }) => status === 'pending' && attempts === 5));
    await shop.tillway.pass(0);
    assert.equal(shop.received.length, 6);
  });
});

async function changeEndpoint({ tillway }: Merchant, fields: { url?: string; status?: 'active' }): Promise<void> {
  const { store } = tillway.service.deps;
  const [endpoint] = await store.endpoints();
  await store.commit([{ type: 'endpoint_saved', endpoint: { ...endpoint!, ...fields } }]);
}

test('a 410 response disables the endpoint; missed events are sent by a resend once the endpoint is active again', async (context) => {
  const shop = await openShop(context, 410);
  const sessionId = await shop.sell(['provider_pending', 'paid']);
  await shop.tillway.pass(0);
  const deliveries = await shop.deliveries();
  assert.deepEqual(
    deliveries.map(({ status }) => status),
    ['pending', 'dead'],
  );
  for (const { id } of deliveries) {
    const { suggestion } = await refused([409, 'invalid_state'], 'POST', `${shop.gateway}/deliveries/${id}/replay`);
    assert.match(suggestion, /tillway endpoints enable whe_/);
  }
  await refused([409, 'invalid_state'], 'POST', `${shop.gateway}/events/evt_${sessionId}_paid/resend`);
  assert.deepEqual(await shop.deliveries(), deliveries);

  const missed = await shop.sell(['paid']);
  await shop.tillway.pass(0);
  assert.deepEqual(await shop.deliveries(`sessionId=${missed}`), []);
  shop.answer = 200;
  await changeEndpoint(shop, { status: 'active' });
  await shop.resend(`evt_${missed}_paid`);
  await shop.tillway.pass(0);
  assert.equal((await shop.deliveries(`sessionId=${missed}`))[0]!.status, 'delivered');
});

// test/api/lists.test.ts tests the rules common to all lists.
test('deliveries are filtered by status, environment, session and event', async (context: TestContext) => {
  const shop = await openMerchant(context);
  const sessions: string[] = [];
  for (let index = 0; index < 3; index++) {
    shop.tillway.clock.advance(SECOND);
    sessions.push(await shop.sell(['provider_pending', 'paid']));
    if (index === 1) await shop.tillway.pass(0);
  }
  const all = await shop.deliveries();
  assert.deepEqual(
    all.map(({ status }) => status),
    ['pending', 'pending', 'delivered', 'delivered', 'delivered', 'delivered'],
  );
  const [sessionId] = sessions;
  for (const [query, expected] of [
    ['status=pending', all.slice(0, 2)],
    ['status=delivered', all.slice(2)],
    ['status=dead', []],
    ['status=unheard-of', []],
    [`sessionId=${sessionId}`, all.slice(-2)],
    [`sessionId=chk_${'0'.repeat(36)}`, []],
    [`eventId=evt_${sessionId}_paid`, all.slice(-2, -1)],
    [`eventId=evt_${sessionId}_pai`, []],
    [`eventId=evt_${sessionId}_paid&sessionId=${sessions[1]}`, []],
    [`sessionId=${sessionId}&status=delivered&environment=sandbox&limit=1`, all.slice(-2, -1)],
  ] as const)
    assert.deepEqual(await shop.deliveries(query), expected, query);
  await refused([400, 'invalid_input'], 'GET', `${shop.gateway}/deliveries?sessionId=evt_x`);
});
