// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { type TestContext, describe, test } from 'node:test';
import { replayDelivery } from '../../src/operations/replay-delivery.ts';
import { providerSays } from '../support/money-arrives.ts';
import { type TestService, call, sessionBody, startTestService } from '../support/service.ts';
import { SECRET, receiver } from '../webhooks/fixtures.ts';
import { type Refusal } from '../support/refusal.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
// Longer than each delay of sandbox with its jitter, and shorter than the next one without.
const WAITS = [0, 7 * SECOND, 90 * SECOND, 13 * MINUTE, 73 * MINUTE];

interface DeliveryAnswer {
  id: string;
  object: string;
  eventId: string;
  endpointId: string;
  sessionId: string;
  environment: string;
  type: string;
  status: string;
  attempts: number;
  nextAttemptAt: string | null;
  lastAttempt: { statusCode: number | null; failure: string | null } | null;
  created: string;
}
interface DetailsAnswer extends DeliveryAnswer {
  log: {
    number: number;
    started: string;
    durationMs: number;
    statusCode: number | null;
    failure: string | null;
    responseBody: string;
  }[];
  payload: { id: string; type: string };
}
interface List {
  data: DeliveryAnswer[];
  hasMore: boolean;
}

interface Shop extends AsyncDisposable {
  tillway: TestService;
  /** Where the deliveries are. */
  api: string;
  received: { body: string; path: string }[];
  /** A session of which the provider has said `statuses`; answers its id. */
  sell(...statuses: ('provider_pending' | 'paid' | 'failed')[]): Promise<string>;
  list(query?: string): Promise<DeliveryAnswer[]>;
  get(id: string): Promise<DetailsAnswer>;
  replay(id: string): Promise<DeliveryAnswer>;
  /** Lets the whole schedule pass. */
  giveUp(): Promise<void>;
}

/** A service and a merchant who answers what `answer` says. */
async function openShop(context: TestContext, answer: () => number): Promise<Shop> {
  const { url, received } = await receiver(context, (_, __, response) => {
    response.writeHead(answer()).end('from the shop');
  });
  const tillway = await startTestService({ variables: { WEBHOOK_URL: url, WEBHOOK_SECRET: SECRET } });
  const api = `${tillway.url}/api/gateway/deliveries`;
  return {
    tillway,
    api,
    received,
    async sell(...statuses) {
      const { body } = await call<{ id: string }>('POST', `${tillway.url}/api/gateway/sessions`, sessionBody());
      for (const status of statuses) await providerSays(tillway, body.id, status);
      return body.id;
    },
    async list(query = '') {
      return (await call<List>('GET', `${api}${query}`)).body.data;
    },
    async get(id) {
      return (await call<DetailsAnswer>('GET', `${api}/${id}`)).body;
    },
    async replay(id) {
      const { status, body } = await call<DeliveryAnswer>('POST', `${api}/${id}/replay`);
      assert.equal(status, 200);
      return body;
    },
    async giveUp() {
      for (const wait of WAITS) await tillway.pass(wait);
    },
    [Symbol.asyncDispose]: () => tillway[Symbol.asyncDispose](),
  };
}

test('a delivery is given up, listed as dead, replayed, and delivered; its log tells all of it', async (context) => {
  let answer = 500;
  await using shop = await openShop(context, () => answer);
  const { tillway } = shop;
  const sessionId = await shop.sell('paid');
  const created = new Date(tillway.clock.now()).toISOString();
  const [waiting] = await shop.list();
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
  assert.match(waiting.id, /^dlv_/);
  assert.match(waiting.endpointId, /^whe_/);

  await shop.giveUp();
  const [dead, ...others] = await shop.list('?status=dead');
  const { lastAttempt } = dead!;
  assert.deepEqual(dead, { ...waiting, status: 'dead', attempts: 5, nextAttemptAt: null, lastAttempt });
  assert.deepEqual([lastAttempt!.statusCode, lastAttempt!.failure], [500, 'answered 500']);
  assert.equal(others.length, 0);
  await tillway.pass(24 * 60 * MINUTE);
  assert.equal(shop.received.length, 5);

  answer = 200;
  const replayed = await shop.replay(dead.id);
  const now = new Date(tillway.clock.now()).toISOString();
  assert.deepEqual(replayed, { ...dead, status: 'pending', nextAttemptAt: now });
  await tillway.pass(0);
  const { log, payload, ...rest } = await shop.get(dead.id);
  const [last] = log.slice(-1);
  assert.deepEqual(rest, {
    ...dead,
    status: 'delivered',
    attempts: 6,
    lastAttempt: { at: last!.started, durationMs: last!.durationMs, statusCode: 200, failure: null },
  });
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

test('a replay goes through the whole schedule again, with the same waits', async (context) => {
  await using shop = await openShop(context, () => 500);
  const { tillway } = shop;
  await shop.sell('paid');
  await shop.giveUp();
  const [dead] = await shop.list();
  for (const round of [2, 3]) {
    await shop.replay(dead!.id);
    for (const [index, wait] of WAITS.entries()) {
      // Half of it is too early, whatever the jitter.
      if (index > 0) await tillway.pass(wait / 2);
      const before = await shop.get(dead!.id);
      assert.deepEqual([before.status, before.attempts], ['pending', (round - 1) * 5 + index]);
      await tillway.pass(index > 0 ? wait / 2 : 0);
    }
    const { status, attempts, log } = await shop.get(dead!.id);
    assert.deepEqual([status, attempts], ['dead', round * 5]);
    assert.deepEqual(
      log.map(({ number }) => number),
      Array.from({ length: round * 5 }, (_, index) => index + 1),
    );
  }
});

test('what was delivered is sent again with the same bytes', async (context) => {
  await using shop = await openShop(context, () => 200);
  await shop.sell('paid');
  await shop.tillway.pass(0);
  const [delivered] = await shop.list('?status=delivered');
  assert.equal((await shop.replay(delivered!.id)).status, 'pending');
  await shop.tillway.pass(0);
  assert.deepEqual(await shop.list(), [{ ...delivered!, attempts: 2 }]);
  const [first, second] = shop.received;
  assert.equal(first!.body, second!.body);
  assert.equal(shop.received.length, 2);
});

test('a pending delivery does not wait for its next attempt, and keeps its schedule', async (context) => {
  await using shop = await openShop(context, () => 500);
  const { tillway } = shop;
  await shop.sell('paid');
  for (const wait of WAITS.slice(0, 4)) await tillway.pass(wait);
  const [waiting] = await shop.list();
  assert(Date.parse(waiting!.nextAttemptAt!) > tillway.clock.now());
  const now = new Date(tillway.clock.now()).toISOString();
  assert.deepEqual(await shop.replay(waiting!.id), { ...waiting, nextAttemptAt: now });
  // Twice is no different from once.
  assert.deepEqual(await shop.replay(waiting!.id), { ...waiting, nextAttemptAt: now });
  await tillway.pass(0);
  const { status, attempts } = await shop.get(waiting!.id);
  assert.deepEqual([status, attempts], ['dead', 5]);
});

test('the events of a session keep their order: later pending ones wait for the replayed one', async (context) => {
  let answer = 500;
  await using shop = await openShop(context, () => answer);
  await shop.sell('provider_pending');
  await shop.giveUp();
  const [first] = await shop.list('?status=dead');
  await providerSays(shop.tillway, first!.sessionId, 'paid');
  shop.received.length = 0;
  await shop.replay(first!.id);
  await shop.tillway.pass(0);
  answer = 200;
  await shop.tillway.pass(7 * SECOND);
  // Nobody went on paying, so that the session failed meanwhile.
  const types = shop.received.map(({ body }) => (JSON.parse(body) as { type: string }).type);
  assert.deepEqual(types, ['payment.provider_pending', 'payment.provider_pending', 'payment.failed', 'payment.paid']);
});

describe('a replay of what waits behind an earlier event of its session', () => {
  /** Both events of a session, whose first one has failed and waits. */
  async function holdUp(shop: Shop) {
    const { tillway } = shop;
    const sessionId = await shop.sell('provider_pending', 'paid');
    await tillway.pass(0);
    await tillway.pass(7 * SECOND);
    shop.received.length = 0;
    const [behind, first] = await shop.list(`?sessionId=${sessionId}`);
    assert(first && behind);
    assert(Date.parse(first.nextAttemptAt!) > tillway.clock.now());
    return { first, behind };
  }

  const typesOf = ({ received }: Shop) => received.map(({ body }) => (JSON.parse(body) as { type: string }).type);

  for (const how of ['replay', 'resend'] as const) {
    test(`sends both at once, in their order (${how})`, async (context) => {
      let answer = 500;
      await using shop = await openShop(context, () => answer);
      const { first, behind } = await holdUp(shop);
      answer = 200;
      const now = new Date(shop.tillway.clock.now()).toISOString();
      const asked = { ...behind, nextAttemptAt: now };
      if (how === 'replay') assert.deepEqual(await shop.replay(behind.id), asked);
      else {
        const resend = `${shop.tillway.url}/api/gateway/events/${behind.eventId}/resend`;
        assert.deepEqual((await call<List>('POST', resend)).body.data, [asked]);
      }
      assert.equal((await shop.get(first.id)).nextAttemptAt, now);
      await shop.tillway.pass(0);
      assert.deepEqual(typesOf(shop), ['payment.provider_pending', 'payment.paid']);
      assert.equal((await shop.get(first.id)).attempts, 3);
    });
  }

  test('waits with the earlier one where that fails again, and is not late', async (context) => {
    await using shop = await openShop(context, () => 500);
    const { first, behind } = await holdUp(shop);
    await shop.replay(behind.id);
    await shop.tillway.pass(0);
    assert.deepEqual(typesOf(shop), ['payment.provider_pending']);
    const { nextAttemptAt, attempts } = await shop.get(first.id);
    assert(Date.parse(nextAttemptAt!) > shop.tillway.clock.now() + MINUTE);
    assert.equal(attempts, 3);
    assert.deepEqual(await shop.get(behind.id).then((one) => [one.nextAttemptAt, one.attempts]), [nextAttemptAt, 0]);
  });

  test('waits with the earlier one, and is sent with it, where it has begun before, too', async (context) => {
    let answer = 500;
    await using shop = await openShop(context, () => answer);
    const { tillway } = shop;
    await shop.sell('provider_pending');
    await shop.giveUp();
    const [first] = await shop.list('?status=dead');
    const sessionId = first!.sessionId;
    await tillway.pass(0);
    await tillway.pass(7 * SECOND);
    const [later] = await shop.list(`?sessionId=${sessionId}&status=pending`);
    assert(later && later.attempts > 0);
    await shop.replay(first!.id);
    await tillway.pass(0);
    await tillway.pass(7 * SECOND);
    await shop.replay(later.id);
    await tillway.pass(0);
    const held = await shop.get(first!.id);
    assert.equal(held.attempts, 8);
    assert.equal((await shop.get(later.id)).nextAttemptAt, held.nextAttemptAt);
    answer = 200;
    shop.received.length = 0;
    await shop.replay(later.id);
    await tillway.pass(0);
    assert.equal(typesOf(shop)[0], 'payment.provider_pending');
    assert.equal((await shop.get(later.id)).status, 'delivered');
  });

  test('is not counted as late while it may not begin', async (context) => {
    await using shop = await openShop(context, () => 500);
    const { behind } = await holdUp(shop);
    const { store, now } = shop.tillway.service.deps;
    const delivery = (await store.delivery(behind.id))!;
    const due = now() - 1;
    await store.commit([{ type: 'delivery_replayed', delivery: { ...delivery, dueAt: due }, from: 'pending' }]);
    assert.equal((await store.backlog('sandbox', now())).deliveryDueSince, null);
    // Its own time comes, and nobody has begun it.
    const { dueAt } = (await store.deliveriesOfSession(behind.sessionId))[0]!;
    assert.equal((await store.backlog('sandbox', dueAt - 1)).deliveryDueSince, null);
    assert.equal((await store.backlog('sandbox', dueAt)).deliveryDueSince, dueAt);
  });
});

describe('a replay that races the dispatcher', () => {
  test('leaves an attempt that is under way alone, and its outcome counts', async (context) => {
    let shop: Shop | undefined;
    let raced: DeliveryAnswer | undefined;
    let due: unknown;
    const { url, received } = await receiver(context, (_, __, response) => {
      void (async () => {
        // The request has arrived and is not answered: its delivery is under way.
        const [underWay] = await shop!.list();
        raced = await shop!.replay(underWay!.id);
        const { store: held, now } = shop!.tillway.service.deps;
        due = await held.deliveriesDue(underWay!.endpointId, now(), 5);
        response.writeHead(200).end();
      })();
    });
    shop = await openShop(context, () => 200);
    await using _ = shop;
    const { store } = shop.tillway.service.deps;
    const [endpoint] = await store.endpoints();
    await store.commit([{ type: 'endpoint_saved', endpoint: { ...endpoint!, url } }]);
    await shop.sell('paid');
    await shop.tillway.pass(0);
    assert.deepEqual([raced?.status, raced?.attempts, due], ['pending', 1, []]);
    await shop.tillway.pass(2 * MINUTE);
    const [delivered] = await shop.list();
    assert.deepEqual([delivered!.status, delivered!.attempts, received.length], ['delivered', 1, 1]);
  });

  test('decides again where an attempt began after it had read', async (context) => {
    let answer = 500;
    await using shop = await openShop(context, () => answer);
    await shop.sell('paid');
    await shop.tillway.pass(0);
    const [waiting] = await shop.list();
    const { store, now } = shop.tillway.service.deps;
    let reads = 0;
    const slow = {
      ...store,
      async deliveryAttempts(id: string) {
        const log = await store.deliveryAttempts(id);
        if (reads++ > 0) return log;
        answer = 200;
        await shop.replay(id);
        await shop.tillway.pass(0);
        return log;
      },
    };
    const replayed = await replayDelivery({ store: slow, now }, waiting!.id);
    // It was delivered meanwhile, so that this is a replay of a delivered one.
    assert.deepEqual([reads, replayed.status, replayed.attempts, replayed.scheduleStart], [2, 'pending', 2, 2]);
    await shop.tillway.pass(0);
    const { status, log } = await shop.get(waiting!.id);
    assert.deepEqual([status, log.map(({ statusCode }) => statusCode)], ['delivered', [500, 200, 200]]);
  });

  test('of many at once one begins the schedule, and the event is sent once', async (context) => {
    let answer = 500;
    await using shop = await openShop(context, () => answer);
    await shop.sell('paid');
    await shop.giveUp();
    const [dead] = await shop.list();
    answer = 200;
    const replays = await Promise.all(Array.from({ length: 10 }, () => shop.replay(dead!.id)));
    assert(replays.every(({ status, attempts }) => status === 'pending' && attempts === 5));
    await shop.tillway.pass(0);
    assert.equal(shop.received.length, 6);
  });
});

test('410 disables the endpoint: nothing can be replayed to it, whatever its status', async (context) => {
  await using shop = await openShop(context, () => 410);
  await shop.sell('provider_pending', 'paid');
  await shop.tillway.pass(0);
  const deliveries = await shop.list();
  assert.deepEqual(
    deliveries.map(({ status }) => status),
    ['pending', 'dead'],
  );
  for (const delivery of deliveries) {
    const { status, body } = await call<Refusal>('POST', `${shop.api}/${delivery.id}/replay`);
    assert.deepEqual([status, body.ok, body.error.code], [409, false, 'invalid_state']);
    assert.match(body.error.suggestion ?? '', /tillway endpoints enable whe_/);
  }
  assert.deepEqual(await shop.list(), deliveries);
});

test('a disabled endpoint gets no deliveries, and what it missed is sent once it is active again and asked for', async (context) => {
  let answer = 410;
  await using shop = await openShop(context, () => answer);
  await shop.sell('paid');
  await shop.tillway.pass(0);
  const missed = await shop.sell('paid');
  await shop.tillway.pass(0);
  assert.deepEqual(await shop.list(`?sessionId=${missed}`), []);
  answer = 200;
  const { store } = shop.tillway.service.deps;
  const [endpoint] = await store.endpoints();
  await store.commit([{ type: 'endpoint_saved', endpoint: { ...endpoint!, status: 'active' } }]);
  await call('POST', `${shop.tillway.url}/api/gateway/events/evt_${missed}_paid/resend`);
  await shop.tillway.pass(0);
  const [delivery] = await shop.list(`?sessionId=${missed}`);
  assert.equal(delivery!.status, 'delivered');
});

test('ids that do not exist are not found', async (context) => {
  await using shop = await openShop(context, () => 200);
  for (const id of [`dlv_${'0'.repeat(36)}`, 'dlv_x', 'x']) {
    for (const [method, path] of [
      ['GET', id],
      ['POST', `${id}/replay`],
    ] as const) {
      const { status, body } = await call<Refusal>(method, `${shop.api}/${path}`);
      assert.deepEqual([status, body.ok, body.error.code], [404, false, 'not_found']);
    }
  }
});

test('lists filter and page like all lists', async (context) => {
  await using shop = await openShop(context, () => 200);
  const sessions: string[] = [];
  for (let index = 0; index < 8; index++) {
    shop.tillway.clock.advance(SECOND);
    sessions.push(await shop.sell('provider_pending', 'paid'));
    if (index === 4) await shop.tillway.pass(0);
  }
  const all = await shop.list();
  const ids = all.map(({ id }) => id);
  assert.equal(ids.length, 16);
  assert.deepEqual(ids, ids.toSorted().toReversed());
  const walked: string[] = [];
  for (let cursor = '', more = true; more;) {
    const { body } = await call<List>('GET', `${shop.api}?limit=5${cursor}`);
    walked.push(...body.data.map(({ id }) => id));
    more = body.hasMore;
    cursor = `&startingAfter=${walked.at(-1)}`;
  }
  assert.deepEqual(walked, ids);
  const back = await call<List>('GET', `${shop.api}?limit=2&endingBefore=${ids[3]}`);
  assert.deepEqual([back.body.data.map(({ id }) => id), back.body.hasMore], [ids.slice(1, 3), true]);

  const [sessionId] = sessions;
  for (const [query, expected] of [
    ['status=pending', all.filter(({ status }) => status === 'pending')],
    ['status=delivered', all.filter(({ status }) => status === 'delivered')],
    ['status=dead', []],
    ['status=unheard-of', []],
    ['environment=sandbox', all],
    ['environment=production', []],
    [`sessionId=${sessionId}`, all.slice(-2)],
    [`sessionId=chk_${'0'.repeat(36)}`, []],
    [`eventId=evt_${sessionId}_paid`, all.slice(-2, -1)],
    [`eventId=evt_${sessionId}_pai`, []],
    [`eventId=evt_${sessionId}_paid&sessionId=${sessions[1]}`, []],
    [`sessionId=${sessionId}&status=delivered&environment=sandbox&limit=1`, all.slice(-2, -1)],
  ] as const) {
    assert.deepEqual(await shop.list(`?${query}`), expected, query);
  }
  assert.equal((await shop.list('?status=pending')).length, 6);
  for (const query of ['sessionId=evt_x', 'environment=test', 'limit=0', `startingAfter=${sessionId}`, 'colour=red']) {
    const { status, body } = await call<Refusal>('GET', `${shop.api}?${query}`);
    assert.deepEqual([status, body.error.code], [400, 'invalid_input'], query);
  }
});
