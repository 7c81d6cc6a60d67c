// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type List, type Merchant, merchantOf, openMerchant } from '../support/merchant.ts';
import { providerSays } from '../support/money-arrives.ts';
import { call, startTestService } from '../support/service.ts';
import { assertSound } from '../support/sound.ts';
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

test('the event list and each event endpoint return the same bytes that the webhook receiver got', async (context) => {
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
  await assertSound(tillway.databaseUrl);
});

// test/api/lists.test.ts tests the rules common to all lists.
test('events are listed newest first by their own time, and filtered by type, session and environment', async (context) => {
  const shop = await openMerchant(context);
  const { tillway } = shop;
  const late = await shop.sell(['provider_pending']);
  const sessions: string[] = [];
  for (const statuses of [['failed'], ['provider_pending', 'paid']] as const) {
    tillway.clock.advance(SECOND);
    sessions.push(await shop.sell(statuses));
  }
  tillway.clock.advance(SECOND);
  await providerSays(tillway, late, 'paid');
  const all = await eventsOf(shop);
  const ids = all.map(({ id }) => id);
  // The newest event belongs to the oldest session. Events of one session with the same time are in the order in which
  // they happened.
  const newest = [`evt_${late}_paid`, `evt_${sessions[1]}_paid`, `evt_${sessions[1]}_provider_pending`];
  assert.deepEqual(ids.slice(0, 3), newest);
  assert.equal(ids.at(-1), `evt_${late}_provider_pending`);

  const ofType = (type: string) => all.filter((event) => event.type === type);
  const ofLate = [all[0], all.at(-1)];
  const unknown = `chk_${'0'.repeat(36)}`;
  for (const [query, expected] of [
    ['type=payment.paid', ofType('payment.paid')],
    ['type=payment.provider_pending&environment=sandbox', ofType('payment.provider_pending')],
    [`sessionId=${late}`, ofLate],
    [`sessionId=${late}&type=payment.paid`, ofLate.slice(0, 1)],
    [`sessionId=${late}&endingBefore=evt_${late}_provider_pending`, ofLate.slice(0, 1)],
    [`sessionId=${unknown}`, []],
    [`startingAfter=evt_${unknown}_paid`, []],
    [`endingBefore=evt_${unknown}_paid&limit=100`, all],
  ] as const)
    assert.deepEqual(await eventsOf(shop, query), expected, query);

  const api = `${shop.gateway}/events`;
  for (const query of [
    'sessionId=evt_x',
    `startingAfter=evt_${unknown}_refunded`,
    `endingBefore=${unknown}`,
    'status=paid',
  ]) {
    const { field } = await refused([400, 'invalid_input'], 'GET', `${api}?${query}`);
    assert.equal(field, query.split('=')[0]);
  }
  for (const request of [`GET ${api}/${ids[0]!.slice(0, -1)}`, `POST ${api}/evt_x/resend`]) {
    const [method, url] = request.split(' ') as [string, string];
    assert.match((await refused([404, 'not_found'], method, url)).suggestion, /Use the id of an event/);
  }
});

test('resending a production event is rejected if only a sandbox endpoint exists', async (context) => {
  const shop = await openMerchant(context);
  const sessionId = await shop.sell(['paid'], { environment: 'production' });
  const [{ id }] = (await eventsOf(shop, 'environment=production')) as [EventAnswer];
  assert.equal(id, `evt_${sessionId}_paid`);
  const { suggestion } = await refused([409, 'invalid_state'], 'POST', `${shop.gateway}/events/${id}/resend`);
  assert.match(suggestion ?? '', /endpoints create --environment production .* or run tillway listen/);
  await shop.tillway.pass(0);
  assert.deepEqual([shop.received, await shop.deliveries(`sessionId=${sessionId}`)], [[], []]);
});

/** Starts a service with events that are older than its webhook endpoint. */
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

test('resending an event that is older than the endpoint creates a delivery that is due immediately', async (context) => {
  const shop = await openLateShop(context);
  const { sessionId, tillway } = shop;
  const deliveries = () => shop.deliveries(`sessionId=${sessionId}`);
  assert.deepEqual(await deliveries(), []);
  tillway.clock.advance(MINUTE);
  const [added] = await shop.resend(`evt_${sessionId}_paid`);
  const { id, eventId, status, attempts, nextAttemptAt } = added!;
  assert.deepEqual([eventId, status, attempts, nextAttemptAt], [`evt_${sessionId}_paid`, 'pending', 0, shop.now()]);
  assert.deepEqual(await deliveries(), [added]);
  // The earlier event of the session is resent later, but is sent first.
  await shop.resend(`evt_${sessionId}_provider_pending`);
  await tillway.pass(0);
  await tillway.pass(0);
  assert.deepEqual(shop.types(), ['payment.provider_pending', 'payment.paid']);
  const delivered = (await deliveries()).find((delivery) => delivery.id === id);
  assert.deepEqual([delivered!.status, delivered!.attempts], ['delivered', 1]);
  await assertSound(tillway.databaseUrl);
});

test('simultaneous resends of an event create one delivery, and all return it', async (context) => {
  const shop = await openLateShop(context);
  const id = `evt_${shop.sessionId}_paid`;
  const shops = [shop, shop, shop.endpointless, shop, shop.endpointless, shop.endpointless, shop, shop];
  const answers = await Promise.all(shops.map(({ resend }) => resend(id)));
  const made = await shop.deliveries(`sessionId=${shop.sessionId}`);
  assert.equal(made.length, 1);
  assert(answers.every(([delivery, ...others]) => delivery!.id === made[0]!.id && others.length === 0));
  await shop.tillway.pass(0);
  assert.equal(shop.received.length, 1);
  await assertSound(shop.tillway.databaseUrl);
});
