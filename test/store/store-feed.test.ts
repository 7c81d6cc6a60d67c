// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { readFeed } from '../../src/operations/read-feed.ts';
import type { Change, Store } from '../../src/store/store.ts';
import type { MerchantEvent } from '../../src/store/webhooks-port.ts';
import { NOW, aCustomer, aSession, idOf } from '../fixtures/checkout-records.ts';
import { anEvent, write } from '../fixtures/store-records.ts';
import {
  TEST_DATABASE,
  type TestDatabase,
  createServiceDatabase,
  openTestStore,
  runSql,
  withClient,
} from '../support/database.ts';
import { until } from '../support/until.ts';

const STATUSES = ['provider_pending', 'failed', 'paid'] as const;
const LIMIT = 7;

/** Opens several stores on one new database. */
async function openInstances(context: TestContext, count: number) {
  const database: TestDatabase = await createServiceDatabase();
  const first = await openTestStore(database.settings);
  const stores: [Store, ...Store[]] = [first];
  while (stores.length < count) stores.push(await openTestStore(database.settings));
  context.after(async () => {
    for (const store of stores) await store.close();
    await database[Symbol.asyncDispose]();
  });
  return { database, stores };
}

const customer = aCustomer();

function sessionOf(number: number): Change {
  const { id: customerId, email: customerEmail } = customer;
  return { type: 'session_created', session: aSession({ id: idOf('chk', number), customerId, customerEmail }) };
}

function eventOf(number: number, step: number, created: number): MerchantEvent {
  const sessionId = idOf('chk', number);
  const type = `payment.${STATUSES[step]!}` as const;
  const id = `evt_${sessionId}_${STATUSES[step]!}`;
  return anEvent({ id, sessionId, type, sequence: step + 2, created, body: `{"id":"${id}"}` });
}

const recorded = (event: MerchantEvent): Change => ({ type: 'event_recorded', event });

const readPage = async (store: Store, after: string) => (await readFeed({ store }, {}, { after, limit: LIMIT })).items;

interface Follower {
  ids: string[];
  settle(): Promise<void>;
}

/** Reads the feed until all events are written and no more events arrive. */
function startFollower(store: Store, isWritten: () => boolean): Follower {
  const ids: string[] = [];
  async function run(): Promise<void> {
    for (;;) {
      const ended = isWritten();
      const events = await readPage(store, ids.at(-1) ?? '');
      ids.push(...events.map(({ id }) => id));
      if (ended && events.length === 0) return;
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
  const running = run();
  return { ids, settle: () => running };
}

const SESSIONS = 120;

/** Runs writers and followers on every store. Returns the written events and the events that each follower has read. */
async function writeAndFollow(stores: readonly Store[]): Promise<{ written: string[]; read: string[][] }> {
  const [first] = stores;
  const numbers = Array.from({ length: SESSIONS }, (_, index) => index);
  await write(first!, { type: 'customer_created', customer }, ...numbers.map(sessionOf));
  let open = SESSIONS;
  const followers = [...stores, ...stores].map((store) => startFollower(store, () => open === 0));
  const written = await Promise.all(
    numbers.map(async (number) => {
      const ids: string[] = [];
      for (const step of STATUSES.keys()) {
        // The creation times differ from the order of the commits.
        const event = eventOf(number, step, NOW + ((number * 7919) % 1000) + step);
        await new Promise((resolve) => setTimeout(resolve, (number * 31) % 40));
        // The last event of the first session is written after every follower has read later events.
        if (number === 0 && step === STATUSES.length - 1) {
          await until(() => followers.every(({ ids }) => ids.length > STATUSES.length));
        }
        await write(stores[(number + step) % stores.length]!, recorded(event));
        ids.push(event.id);
      }
      open--;
      return ids;
    }),
  );
  await Promise.all(followers.map(({ settle }) => settle()));
  return { written: written.flat(), read: followers.map(({ ids }) => ids) };
}

/** Missing, repeated and misordered events in the results of the followers. */
function faultsOf({ written, read }: { written: string[]; read: string[][] }): string[] {
  const faults: string[] = [];
  for (const ids of read) {
    const missed = written.filter((id) => !ids.includes(id));
    if (missed.length > 0) faults.push(`${missed.length} missed`);
    if (new Set(ids).size !== ids.length) faults.push('some read twice');
    if (missed.length === 0 && ids.join() !== read[0]!.join()) faults.push('another order');
    const places = new Map(ids.map((id, place) => [id, place]));
    const early = written.filter(
      (id) => id.endsWith('_paid') && places.get(id)! < places.get(id.replace('_paid', '_failed'))!,
    );
    if (early.length > 0) faults.push('a later event of a session before an earlier event');
  }
  return faults;
}

test('every follower of the feed reads every event once and in the same order, with writers on two instances', async (context) => {
  const result = await writeAndFollow((await openInstances(context, 2)).stores);
  assert.equal(result.written.length, SESSIONS * STATUSES.length);
  assert.deepEqual(faultsOf(result), []);
});

test('an event that is committed late follows the events that were read before, even if it was created earlier', async (context) => {
  const { database, stores } = await openInstances(context, 2);
  const [store, other] = stores;
  await write(store, { type: 'customer_created', customer }, sessionOf(1), sessionOf(2), sessionOf(3));
  await write(store, recorded(eventOf(1, 0, NOW + 1)));
  const late = eventOf(2, 0, NOW);
  const read = async (after: string) => (await readFeed({ store }, {}, { after, limit: 10 })).items.map(({ id }) => id);
  if (TEST_DATABASE === 'sqlite') {
    assert.deepEqual(await read(''), [eventOf(1, 0, 0).id]);
    await write(other!, recorded(late));
  } else {
    // A transaction stays open while other connections read.
    await withClient(database.url, async (client) => {
      await client.query('BEGIN');
      await client.query(
        `INSERT INTO events (id, session_id, environment, sequence, type, body, created) VALUES ($1, $2, 'sandbox', 2, $3, '{}', $4)`,
        [late.id, late.sessionId, late.type, late.created],
      );
      assert.deepEqual(await read(''), [eventOf(1, 0, 0).id]);
      await write(store, recorded(eventOf(3, 0, NOW + 2)));
      assert.deepEqual(await read(eventOf(1, 0, 0).id), [eventOf(3, 0, 0).id]);
      await client.query('COMMIT');
    });
  }
  assert.equal((await read('')).at(-1), late.id);
});

test('the events of a session stay in their order in the feed if the clock is set back between them', async (context) => {
  const [store] = (await openInstances(context, 1)).stores;
  await write(store, { type: 'customer_created', customer }, sessionOf(1), sessionOf(2));
  await write(
    store,
    recorded(eventOf(1, 0, NOW + 500)),
    recorded(eventOf(1, 2, NOW)),
    recorded(eventOf(2, 0, NOW + 1)),
  );
  const { items } = await readFeed({ store }, {}, { after: '', limit: 10 });
  assert.deepEqual(
    items.map(({ id }) => id),
    [eventOf(2, 0, 0).id, eventOf(1, 0, 0).id, eventOf(1, 2, 0).id],
  );
});

test('every event of a burst gets a feed position although the table statistics of PostgreSQL describe an empty table', async (context) => {
  const { database, stores } = await openInstances(context, 1);
  const numbers = Array.from({ length: 4 * SESSIONS }, (_, index) => index);
  await write(stores[0], { type: 'customer_created', customer }, ...numbers.map(sessionOf));
  await write(stores[0], ...numbers.map((number) => recorded(eventOf(number, 0, NOW + number))));
  if (TEST_DATABASE === 'postgres') {
    await runSql(
      database.url,
      `SELECT pg_restore_relation_stats('schemaname', 'public', 'relname', 'events', 'relpages', 9, 'reltuples', 0::real)`,
    );
  }
  const ids: string[] = [];
  for (let page: string[] | undefined; page?.length !== 0; ids.push(...page)) {
    page = (await readPage(stores[0], ids.at(-1) ?? '')).map(({ id }) => id);
  }
  assert.equal(ids.join(), numbers.map((number) => eventOf(number, 0, 0).id).join());
});
