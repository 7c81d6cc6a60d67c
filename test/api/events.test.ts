// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { resendEvent } from '../../src/operations/redeliver.ts';
import { INVARIANTS } from '../../src/store/invariants.ts';
import { examineDatabase } from '../../src/store/open.ts';
import { settingsOf } from '../support/database.ts';
import { type List, type Merchant, merchantOf, openMerchant } from '../support/merchant.ts';
import { providerSays } from '../support/money-arrives.ts';
import { type TestService, call, startTestService } from '../support/service.ts';
import { SECRET, receiver } from '../webhooks/fixtures.ts';
import { refused } from '../support/refusal.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;

interface EventAnswer {
  id: string;
  type: string;
  created: string;
}

async function eventsOf({ gateway }: Merchant, query = ''): Promise<EventAnswer[]> {
  return (await call<List<EventAnswer>>('GET', `${gateway}/events?${query}`)).body.data;
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

test('events are listed byte for byte as the receiver got them', async (context) => {
  const shop = await openMerchant(context);
  const { tillway } = shop;
  const api = `${shop.gateway}/events`;
  assert.deepEqual(await eventsOf(shop), []);
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
  const text = await (await fetch(api)).text();
  const ids = (JSON.parse(text) as List<EventAnswer>).data.map(({ id }) => id);
  assert.equal(text, `{"object":"list","data":[${ids.map((id) => sent.get(id)).join(',')}],"hasMore":false}`);
  for (const [id, body] of sent) {
    const response = await fetch(`${api}/${id}`);
    assert.equal(response.headers.get('content-type'), 'application/json; charset=utf-8');
    assert.equal(await response.text(), body);
    assert.equal(JSON.stringify((await call('GET', `${api}/${id}`)).body), body);
  }
  assert.deepEqual(await violationsOf(tillway), []);
});

test('events are filtered and paged like all lists', async (context) => {
  const shop = await openMerchant(context);
  const { tillway } = shop;
  const api = `${shop.gateway}/events`;
  const late = await shop.sell(['provider_pending']);
  const sessions: string[] = [];
  for (let index = 0; index < 4; index++) {
    tillway.clock.advance(SECOND);
    sessions.push(await shop.sell(index === 0 ? ['failed'] : ['provider_pending', 'paid']));
  }
  tillway.clock.advance(SECOND);
  await providerSays(tillway, late, 'paid');
  const all = await eventsOf(shop);
  assert.equal(all.length, 8 + (await eventsOf(shop, `sessionId=${sessions[0]}`)).length);
  const times = all.map(({ created }) => created);
  assert.deepEqual(times, times.toSorted().toReversed());
  // The newest event belongs to the oldest session.
  assert.equal(all[0]!.id, `evt_${late}_paid`);
  // Events of one session with the same time are in the order in which they happened.
  assert.deepEqual(
    all.slice(1, 3).map(({ id }) => id),
    [`evt_${sessions[3]}_paid`, `evt_${sessions[3]}_provider_pending`],
  );

  const walk = async (direction: 'startingAfter' | 'endingBefore', start: string) => {
    const walked: EventAnswer[][] = [];
    for (let cursor = start, more = true; more;) {
      const { body } = await call<List<EventAnswer>>('GET', `${api}?limit=4${cursor}`);
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
  const unknown = `chk_${'0'.repeat(36)}`;
  for (const [query, expected] of [
    ['type=payment.paid', ofType('payment.paid')],
    ['type=payment.failed', ofType('payment.failed')],
    ['type=payment.provider_pending&environment=sandbox', ofType('payment.provider_pending')],
    ['type=payment.refunded', []],
    ['environment=sandbox', all],
    ['environment=production', []],
    [`sessionId=${late}`, ofLate],
    [`sessionId=${late}&type=payment.paid`, ofLate.slice(0, 1)],
    [`sessionId=${late}&environment=production`, []],
    [`sessionId=${late}&startingAfter=evt_${late}_paid`, ofLate.slice(1)],
    [`sessionId=${late}&endingBefore=evt_${late}_provider_pending`, ofLate.slice(0, 1)],
    [`sessionId=${unknown}`, []],
    [`startingAfter=evt_${unknown}_paid`, []],
    [`endingBefore=evt_${unknown}_paid&limit=100`, all],
  ] as const) {
    assert.deepEqual(await eventsOf(shop, query), expected, query);
  }

  const [{ id: some }] = all as [EventAnswer];
  for (const [query, field] of [
    ['sessionId=evt_x', 'sessionId'],
    ['environment=test', 'environment'],
    ['limit=0', 'limit'],
    ['startingAfter=evt_x', 'startingAfter'],
    [`startingAfter=evt_${unknown}_refunded`, 'startingAfter'],
    [`endingBefore=${some}_`, 'endingBefore'],
    [`endingBefore=${unknown}`, 'endingBefore'],
    [`startingAfter=${some}&endingBefore=${some}`, 'endingBefore'],
    ['status=paid', 'status'],
  ] as const) {
    assert.equal((await refused([400, 'invalid_input'], 'GET', `${api}?${query}`)).field, field, query);
  }
  for (const id of [`evt_${unknown}_paid`, 'evt_x', 'x', some.slice(0, -1)]) {
    for (const [method, path] of [
      ['GET', id],
      ['POST', `${id}/resend`],
    ] as const) {
      const { suggestion } = await refused([404, 'not_found'], method, `${api}/${path}`);
      assert.match(suggestion ?? '', /Use the id of an event/);
    }
  }
});

test('an event of production is not resent to an endpoint of sandbox', async (context) => {
  const shop = await openMerchant(context);
  const sessionId = await shop.sell(['paid'], { environment: 'production' });
  const [{ id }] = (await eventsOf(shop, 'environment=production')) as [EventAnswer];
  assert.equal(id, `evt_${sessionId}_paid`);
  const { suggestion } = await refused([409, 'invalid_state'], 'POST', `${shop.gateway}/events/${id}/resend`);
  assert.match(suggestion ?? '', /endpoints create --environment production .* or run tillway listen/);
  await shop.tillway.pass(0);
  assert.deepEqual([shop.received, await shop.deliveries(`sessionId=${sessionId}`)], [[], []]);
});

/** A service with events from before its endpoint was registered. */
async function openLateShop(context: TestContext): Promise<Merchant & { sessionId: string; endpointless: Merchant }> {
  const before = await startTestService();
  context.after(() => before[Symbol.asyncDispose]());
  const endpointless = merchantOf(before);
  const sessionId = await endpointless.sell(['provider_pending', 'paid']);
  await refused([409, 'invalid_state'], 'POST', `${endpointless.gateway}/events/evt_${sessionId}_paid/resend`);
  const { url, received } = await receiver(context);
  const variables = { WEBHOOK_URL: url, WEBHOOK_SECRET: SECRET };
  const after = await startTestService({ beside: before, variables });
  context.after(() => after[Symbol.asyncDispose]());
  return { ...merchantOf(after, received as Merchant['received']), sessionId, endpointless };
}

test('an event that is older than the endpoint gets a delivery when it is resent, as if it had just happened', async (context) => {
  const shop = await openLateShop(context);
  const { sessionId, tillway } = shop;
  const deliveries = () => shop.deliveries(`sessionId=${sessionId}`);
  assert.deepEqual(await deliveries(), []);
  tillway.clock.advance(MINUTE);
  const [added] = await shop.resend(`evt_${sessionId}_paid`);
  const { id, eventId, status, attempts, nextAttemptAt } = added!;
  assert.deepEqual([eventId, status, attempts, nextAttemptAt], [`evt_${sessionId}_paid`, 'pending', 0, shop.now()]);
  assert.deepEqual(await deliveries(), [added]);
  // An earlier one of the session that is resent meanwhile goes first.
  await shop.resend(`evt_${sessionId}_provider_pending`);
  await tillway.pass(0);
  await tillway.pass(0);
  assert.deepEqual(shop.types(), ['payment.provider_pending', 'payment.paid']);
  const delivered = (await deliveries()).find((delivery) => delivery.id === id);
  assert.deepEqual([delivered!.status, delivered!.attempts], ['delivered', 1]);
  assert.deepEqual(await violationsOf(tillway), []);
});

test('of many simultaneous resends one creates the delivery, and all return it', async (context) => {
  const shop = await openLateShop(context);
  const id = `evt_${shop.sessionId}_paid`;
  const shops = [shop, shop, shop.endpointless, shop, shop.endpointless, shop.endpointless, shop, shop];
  const answers = await Promise.all(shops.map(({ resend }) => resend(id)));
  const made = await shop.deliveries(`sessionId=${shop.sessionId}`);
  assert.equal(made.length, 1);
  assert(answers.every(([delivery, ...others]) => delivery!.id === made[0]!.id && others.length === 0));
  await shop.tillway.pass(0);
  assert.equal(shop.received.length, 1);
  assert.deepEqual(await violationsOf(shop.tillway), []);
});

test('a resend decides again if an attempt began after its read', async (context) => {
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
  // The other resend created and delivered it meanwhile, so that this is a replay of a delivered one.
  assert.deepEqual([reads, resent!.status, resent!.attempts, resent!.scheduleStart], [2, 'pending', 1, 1]);
  await shop.tillway.pass(0);
  assert.equal(shop.received.length, 2);
});
