// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { resendEvent } from '../../src/operations/resend-event.ts';
import { INVARIANTS } from '../../src/store/invariants.ts';
import { examineDatabase } from '../../src/store/open.ts';
import { settingsOf } from '../support/database.ts';
import { providerSays } from '../support/money-arrives.ts';
import { type TestService, call, sessionBody, startTestService } from '../support/service.ts';
import { SECRET, receiver } from '../webhooks/fixtures.ts';
import { type Refusal } from '../support/refusal.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
// Longer than each delay of sandbox with its jitter, and shorter than the next one without.
const WAITS = [0, 7 * SECOND, 90 * SECOND, 13 * MINUTE, 73 * MINUTE];

interface EventAnswer {
  id: string;
  type: string;
  created: string;
}
interface DeliveryAnswer {
  id: string;
  eventId: string;
  endpointId: string;
  status: string;
  attempts: number;
  nextAttemptAt: string | null;
  lastAttempt: { at: string } | null;
}
interface List<Item> {
  object: string;
  data: Item[];
  hasMore: boolean;
}
type Said = 'provider_pending' | 'paid' | 'failed';

/** A service, and the merchant who hears of it. */
interface Shop {
  tillway: TestService;
  api: string;
  received: { body: string }[];
  /** A session of which the provider has said `statuses`; answers its id. */
  sell(statuses: Said[], body?: Record<string, unknown>): Promise<string>;
  list(query?: string): Promise<EventAnswer[]>;
  resend(id: string): Promise<DeliveryAnswer[]>;
  deliveries(sessionId: string): Promise<DeliveryAnswer[]>;
  /** Lets the whole schedule pass. */
  giveUp(): Promise<void>;
}

function shopOf(tillway: TestService, received: { body: string }[] = []): Shop {
  const gateway = `${tillway.url}/api/gateway`;
  return {
    tillway,
    api: `${gateway}/events`,
    received,
    async sell(statuses, fields = {}) {
      const { body } = await call<{ id: string }>('POST', `${gateway}/sessions`, sessionBody(fields));
      for (const status of statuses) await providerSays(tillway, body.id, status);
      return body.id;
    },
    async list(query = '') {
      return (await call<List<EventAnswer>>('GET', `${gateway}/events${query}`)).body.data;
    },
    async resend(id) {
      const { status, body } = await call<List<DeliveryAnswer>>('POST', `${gateway}/events/${id}/resend`);
      assert.deepEqual([status, body.object, body.hasMore], [200, 'list', false]);
      return body.data;
    },
    async deliveries(sessionId) {
      const { body } = await call<List<DeliveryAnswer>>('GET', `${gateway}/deliveries?sessionId=${sessionId}`);
      return body.data;
    },
    async giveUp() {
      for (const wait of WAITS) await tillway.pass(wait);
    },
  };
}

/** Every broken invariant, as `tillway doctor` finds it. */
async function violationsOf({ databaseUrl }: TestService): Promise<string[]> {
  const database = await examineDatabase(settingsOf(databaseUrl));
  const found: string[] = [];
  for (const { name, sql } of INVARIANTS) {
    for (const id of await database.violations(sql, 9)) found.push(`${name}: ${id}`);
  }
  await database.close();
  return found;
}

async function assertRefused(method: string, url: string, status: number, code: string): Promise<Refusal['error']> {
  const answer = await call<Refusal>(method, url);
  assert.deepEqual([answer.status, answer.body.error.code], [status, code], url);
  return answer.body.error;
}

test('events', async (context) => {
  let answer = 200;
  const { url, received } = await receiver(context, (_, __, response) => {
    response.writeHead(answer).end();
  });
  await using tillway = await startTestService({ variables: { WEBHOOK_URL: url, WEBHOOK_SECRET: SECRET } });
  const shop = shopOf(tillway, received);
  await context.test('the list is empty while there is none', async () => assert.deepEqual(await shop.list(), []));
  await context.test('are, to the byte, what the receiver got', () => assertBytes(shop));
  await context.test('are filtered and paged like all lists', () => assertLists(shop));
  await context.test('refuse what no query or id can be', () => assertRefusals(shop));
  await context.test('one that was delivered is resent with the same bytes', async () => {
    const sessionId = await shop.sell(['paid']);
    await tillway.pass(0);
    received.length = 0;
    const [before] = await shop.deliveries(sessionId);
    const [resent, ...others] = await shop.resend(`evt_${sessionId}_paid`);
    const now = new Date(tillway.clock.now()).toISOString();
    assert.deepEqual([resent, others], [{ ...before!, status: 'pending', nextAttemptAt: now }, []]);
    await tillway.pass(0);
    assert.deepEqual(await shop.deliveries(sessionId), [{ ...before!, attempts: 2 }]);
    const text = await (await fetch(`${shop.api}/evt_${sessionId}_paid`)).text();
    assert.deepEqual(
      received.map(({ body }) => body),
      [text],
    );
  });
  await context.test('one that was given up is resent, with the whole schedule before it', async () => {
    answer = 500;
    const sessionId = await shop.sell(['paid']);
    await shop.giveUp();
    const [dead] = await shop.deliveries(sessionId);
    assert.deepEqual([dead!.status, dead!.attempts], ['dead', 5]);
    await shop.resend(`evt_${sessionId}_paid`);
    await shop.giveUp();
    const [deadAgain] = await shop.deliveries(sessionId);
    const { lastAttempt } = deadAgain!;
    assert.deepEqual(deadAgain, { ...dead!, attempts: 10, lastAttempt });
    assert(lastAttempt!.at > dead!.lastAttempt!.at);
    answer = 200;
    await shop.resend(`evt_${sessionId}_paid`);
    await tillway.pass(0);
    const [delivered] = await shop.deliveries(sessionId);
    assert.deepEqual([delivered!.status, delivered!.attempts], ['delivered', 11]);
  });
  await context.test(
    'one that waits for its next attempt waits no longer; twice is no different from once',
    async () => {
      answer = 500;
      const sessionId = await shop.sell(['paid']);
      for (const wait of WAITS.slice(0, 3)) await tillway.pass(wait);
      const [waiting] = await shop.deliveries(sessionId);
      const now = new Date(tillway.clock.now()).toISOString();
      assert(waiting!.nextAttemptAt! > now);
      for (let time = 0; time < 2; time++) {
        assert.deepEqual(await shop.resend(`evt_${sessionId}_paid`), [{ ...waiting, nextAttemptAt: now }]);
      }
      answer = 200;
      await tillway.pass(0);
      assert.deepEqual(
        (await shop.deliveries(sessionId)).map(({ status, attempts }) => [status, attempts]),
        [['delivered', 4]],
      );
    },
  );
  await context.test('keep their order: what is still pending of the session waits for the one resent', async () => {
    answer = 500;
    const sessionId = await shop.sell(['provider_pending']);
    await shop.giveUp();
    await providerSays(tillway, sessionId, 'paid');
    await shop.resend(`evt_${sessionId}_provider_pending`);
    received.length = 0;
    await tillway.pass(0);
    answer = 200;
    await tillway.pass(7 * SECOND);
    // Nobody went on paying, so that the session failed meanwhile.
    assert.deepEqual(
      received.map(({ body }) => (JSON.parse(body) as EventAnswer).type),
      ['payment.provider_pending', 'payment.provider_pending', 'payment.failed', 'payment.paid'],
    );
  });
  await context.test('one of production is not resent to an endpoint of sandbox', async () => {
    received.length = 0;
    const sessionId = await shop.sell(['paid'], { environment: 'production' });
    const id = `evt_${sessionId}_paid`;
    assert.deepEqual(
      (await shop.list('?environment=production')).map((event) => event.id),
      [id],
    );
    const { suggestion } = await assertRefused('POST', `${shop.api}/${id}/resend`, 409, 'invalid_state');
    assert.match(suggestion ?? '', /endpoints create --environment production .* or run tillway listen/);
    await tillway.pass(0);
    assert.deepEqual([received, await shop.deliveries(sessionId)], [[], []]);
  });
  await context.test('cannot be resent to an endpoint that is disabled', async () => {
    answer = 410;
    const sessionId = await shop.sell(['paid']);
    await tillway.pass(0);
    const before = await shop.deliveries(sessionId);
    await assertRefused('POST', `${shop.api}/evt_${sessionId}_paid/resend`, 409, 'invalid_state');
    assert.deepEqual(await shop.deliveries(sessionId), before);
  });
  await context.test('leave nothing behind that doctor finds', async () => {
    assert.deepEqual(await violationsOf(tillway), []);
  });
});

async function assertBytes(shop: Shop): Promise<void> {
  const { tillway } = shop;
  const metadata = { b: 'Ünïcode ✓ "quoted" \\ \n', 10: 'ten', 2: 'two' };
  await shop.sell(['provider_pending', 'paid'], { metadata });
  tillway.clock.advance(1);
  await shop.sell(['failed'], { metadata });
  const late = await shop.sell(['provider_pending'], { metadata });
  await tillway.pass(0);
  await tillway.pass(120 * MINUTE);
  await providerSays(tillway, late, 'paid');
  await tillway.pass(0);
  assert.equal(shop.received.length, 6);
  const sent = new Map(shop.received.map(({ body }) => [(JSON.parse(body) as EventAnswer).id, body]));
  const text = await (await fetch(shop.api)).text();
  const ids = (JSON.parse(text) as List<EventAnswer>).data.map(({ id }) => id);
  assert.equal(text, `{"object":"list","data":[${ids.map((id) => sent.get(id)).join(',')}],"hasMore":false}`);
  for (const [id, body] of sent) {
    const response = await fetch(`${shop.api}/${id}`);
    assert.equal(response.headers.get('content-type'), 'application/json; charset=utf-8');
    assert.equal(await response.text(), body);
    assert.equal(JSON.stringify((await call('GET', `${shop.api}/${id}`)).body), body);
  }
}

async function assertLists(shop: Shop): Promise<void> {
  const late = await shop.sell(['provider_pending']);
  const sessions: string[] = [];
  for (let index = 0; index < 4; index++) {
    shop.tillway.clock.advance(SECOND);
    sessions.push(await shop.sell(['provider_pending', 'paid']));
  }
  shop.tillway.clock.advance(SECOND);
  await providerSays(shop.tillway, late, 'paid');
  const all = await shop.list();
  assert.equal(all.length, 16);
  const times = all.map(({ created }) => created);
  assert.deepEqual(times, times.toSorted().toReversed());
  // An older session than the others, and the newest event.
  assert.equal(all[0]!.id, `evt_${late}_paid`);
  // Those of one session that share their time are in the order in which they happened.
  assert.deepEqual(
    all.slice(1, 3).map(({ id }) => id),
    [`evt_${sessions[3]}_paid`, `evt_${sessions[3]}_provider_pending`],
  );

  const walk = async (direction: 'startingAfter' | 'endingBefore', start: string) => {
    const walked: EventAnswer[][] = [];
    for (let cursor = start, more = true; more;) {
      const { body } = await call<List<EventAnswer>>('GET', `${shop.api}?limit=4${cursor}`);
      walked.push(body.data);
      more = body.hasMore;
      cursor = `&${direction}=${(direction === 'endingBefore' ? body.data[0] : body.data.at(-1))!.id}`;
    }
    return walked;
  };
  assert.deepEqual((await walk('startingAfter', '')).flat(), all);
  const back = await walk('endingBefore', `&endingBefore=${all.at(-1)!.id}`);
  assert.deepEqual(back.toReversed().flat(), all.slice(0, -1));

  const ofType = (type: string) => all.filter((event) => event.type === type);
  const ofLate = all.filter(({ id }) => id.startsWith(`evt_${late}_`));
  assert.equal(ofLate.length, 2);
  for (const [query, expected] of [
    ['type=payment.paid', ofType('payment.paid')],
    ['type=payment.failed', ofType('payment.failed')],
    ['type=payment.provider_pending&environment=sandbox', ofType('payment.provider_pending')],
    ['type=payment.refunded', []],
    ['type=paid', []],
    ['environment=sandbox', all],
    ['environment=production', []],
    [`sessionId=${late}`, ofLate],
    [`sessionId=${late}&type=payment.paid`, ofLate.slice(0, 1)],
    [`sessionId=${late}&environment=production`, []],
    [`sessionId=${late}&startingAfter=evt_${late}_paid`, ofLate.slice(1)],
    [`sessionId=${late}&endingBefore=evt_${late}_provider_pending`, ofLate.slice(0, 1)],
    [`sessionId=chk_${'0'.repeat(36)}`, []],
    [`startingAfter=evt_chk_${'0'.repeat(36)}_paid`, []],
    [`endingBefore=evt_chk_${'0'.repeat(36)}_paid&limit=100`, all],
  ] as const) {
    assert.deepEqual(await shop.list(`?${query}`), expected, query);
  }
}

async function assertRefusals(shop: Shop): Promise<void> {
  const [event] = await shop.list('?limit=1');
  for (const [query, field] of [
    ['sessionId=evt_x', 'sessionId'],
    ['environment=test', 'environment'],
    ['limit=0', 'limit'],
    ['startingAfter=evt_x', 'startingAfter'],
    [`startingAfter=evt_chk_${'0'.repeat(36)}_refunded`, 'startingAfter'],
    [`endingBefore=${event!.id}_`, 'endingBefore'],
    [`endingBefore=chk_${'0'.repeat(36)}`, 'endingBefore'],
    [`startingAfter=${event!.id}&endingBefore=${event!.id}`, 'endingBefore'],
    ['status=paid', 'status'],
    ['colour=red', 'colour'],
  ] as const) {
    const error = await assertRefused('GET', `${shop.api}?${query}`, 400, 'invalid_input');
    assert.equal(error.field, field, query);
  }
  for (const id of [`evt_chk_${'0'.repeat(36)}_paid`, 'evt_x', 'x', event!.id.slice(0, -1)]) {
    for (const [method, path] of [
      ['GET', id],
      ['POST', `${id}/resend`],
    ] as const) {
      const { suggestion } = await assertRefused(method, `${shop.api}/${path}`, 404, 'not_found');
      assert.match(suggestion ?? '', /Use the id of an event/);
    }
  }
}

/** A service with events from before its endpoint was registered. */
async function openLateShop(context: TestContext): Promise<Shop & { sessionId: string; endpointless: Shop }> {
  const before = await startTestService();
  context.after(() => before[Symbol.asyncDispose]());
  const endpointless = shopOf(before);
  const sessionId = await endpointless.sell(['provider_pending', 'paid']);
  await assertRefused('POST', `${endpointless.api}/evt_${sessionId}_paid/resend`, 409, 'invalid_state');
  const { url, received } = await receiver(context);
  const variables = { WEBHOOK_URL: url, WEBHOOK_SECRET: SECRET };
  const after = await startTestService({ beside: before, variables });
  context.after(() => after[Symbol.asyncDispose]());
  return { ...shopOf(after, received), sessionId, endpointless };
}

test('an event that is older than the endpoint gets a delivery when it is resent, as if it had just happened', async (context) => {
  const shop = await openLateShop(context);
  const { sessionId, tillway } = shop;
  assert.deepEqual(await shop.deliveries(sessionId), []);
  tillway.clock.advance(MINUTE);
  const now = new Date(tillway.clock.now()).toISOString();
  const [added] = await shop.resend(`evt_${sessionId}_paid`);
  const { id, eventId, status, attempts, nextAttemptAt } = added!;
  assert.deepEqual([eventId, status, attempts, nextAttemptAt], [`evt_${sessionId}_paid`, 'pending', 0, now]);
  assert.deepEqual(await shop.deliveries(sessionId), [added]);
  // An earlier one of the session that is resent meanwhile goes first.
  await shop.resend(`evt_${sessionId}_provider_pending`);
  await tillway.pass(0);
  await tillway.pass(0);
  const sent = shop.received.map(({ body }) => (JSON.parse(body) as EventAnswer).type);
  assert.deepEqual(sent, ['payment.provider_pending', 'payment.paid']);
  const delivered = (await shop.deliveries(sessionId)).find((delivery) => delivery.id === id);
  assert.deepEqual([delivered!.status, delivered!.attempts], ['delivered', 1]);
  assert.deepEqual(await violationsOf(tillway), []);
});

test('of many who resend at once one makes the delivery, and all get it', async (context) => {
  const shop = await openLateShop(context);
  const id = `evt_${shop.sessionId}_paid`;
  const shops = [shop, shop, shop.endpointless, shop, shop.endpointless, shop.endpointless, shop, shop];
  const answers = await Promise.all(shops.map(({ resend }) => resend(id)));
  const made = await shop.deliveries(shop.sessionId);
  assert.equal(made.length, 1);
  assert(answers.every(([delivery, ...others]) => delivery!.id === made[0]!.id && others.length === 0));
  await shop.tillway.pass(0);
  assert.equal(shop.received.length, 1);
  assert.deepEqual(await violationsOf(shop.tillway), []);
});

test('whoever resends decides again where an attempt began after it had read', async (context) => {
  const shop = await openLateShop(context);
  const id = `evt_${shop.sessionId}_paid`;
  const { deps } = shop.tillway.service;
  let reads = 0;
  const slow = {
    ...deps.store,
    async deliveriesOfSession(sessionId: string) {
      const found = await deps.store.deliveriesOfSession(sessionId);
      if (reads++ === 0) {
        await shop.resend(id);
        await shop.tillway.pass(0);
      }
      return found;
    },
  };
  const [resent] = await resendEvent({ ...deps, store: slow }, id);
  // It was made and delivered meanwhile, so that this is a replay of a delivered one.
  assert.deepEqual([reads, resent!.status, resent!.attempts, resent!.scheduleStart], [2, 'pending', 1, 1]);
  await shop.tillway.pass(0);
  assert.equal(shop.received.length, 2);
});
