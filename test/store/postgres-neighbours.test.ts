// @run on=postgres
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { GatewayError } from '../../src/domain/errors.ts';
import type { Change, Store } from '../../src/store/store.ts';
import { MINUTE, NOW, idOf } from '../fixtures/records.ts';
import { aDelivery, anEndpoint, creationOf, familyOf, write } from '../fixtures/store.ts';
import { openTestStore, settingsOf } from '../support/database.ts';
import { type Databases, alterSystem, sharedPostgres, startPostgres } from '../support/postgres.ts';
import { startProxy } from '../support/tcp-proxy.ts';
import { until } from '../support/until.ts';

// What others do at the same time: other sessions, other instances, other programs, whoever operates the database.

const WAITING = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
const family = familyOf(0);
const isUnavailable = (error: unknown) => error instanceof GatewayError && error.code === 'unavailable';

interface Opened {
  store: Store;
  /** Somebody else, in a transaction of their own. */
  other: Client;
  postgres: Databases;
  name: string;
}

async function withStore(use: (opened: Opened) => Promise<void>, cluster?: Databases): Promise<void> {
  const postgres = cluster ?? (await sharedPostgres());
  const name = await postgres.createDatabase();
  const store = await openTestStore(settingsOf(postgres.url(name)));
  const other = new Client({ connectionString: postgres.url(name) });
  other.on('error', () => undefined);
  await other.connect();
  try {
    await write(store, ...creationOf(family));
    await use({ store, other, postgres, name });
  } finally {
    await other.end();
    await store.close();
    await postgres.dropDatabase(name);
  }
}

function moved({ session, payment }: typeof family, by: number): Change[] {
  const version = session.version + by;
  return [
    { type: 'session_changed', session: { ...session, version } },
    { type: 'payment_changed', payment: { ...payment, txHash: `version ${version}` } },
  ];
}

describe('a session that another program holds', () => {
  const hold = async ({ other }: Opened) => {
    await other.query('BEGIN');
    await other.query('SELECT 1 FROM sessions WHERE id = $1 FOR UPDATE', [family.session.id]);
  };

  test('holds up nobody who travels with it', () =>
    withStore(async (opened) => {
      const { store, other } = opened;
      await hold(opened);
      const [before, held, after] = [creationOf(familyOf(1)), moved(family, 1), creationOf(familyOf(2))].map(
        (changes) => store.commit(changes),
      );
      assert.deepEqual(await Promise.all([before, after]), [{ done: true }, { done: true }]);
      await other.query('ROLLBACK');
      assert.deepEqual(await held, { done: true });
    }));

  test('holds up nobody who comes later, however many wait for it', () =>
    withStore(async (opened) => {
      const { store, other } = opened;
      await hold(opened);
      const held: Promise<unknown>[] = [];
      let endedBefore = 0;
      for (let count = 0; count < 8; count++) {
        const ended = store.commit(moved(family, 1)).catch(isUnavailable);
        held.push(ended.finally(() => endedBefore++));
        await sleep(10);
      }
      for (let number = 1; number < 6; number++) {
        assert.deepEqual(await store.commit(creationOf(familyOf(number))), { done: true });
      }
      assert.equal(endedBefore, 0);
      await other.query('ROLLBACK');
      const outcomes = await Promise.all(held);
      assert.equal(outcomes.filter((outcome) => (outcome as { done?: boolean }).done).length, 1);
    }));
});

describe('a server that is not the primary any more', () => {
  test('is let go of, though it answers', async () => {
    await using demoted = await startPostgres();
    await withStore(async ({ store, postgres, name }) => {
      const backends = async () =>
        (await postgres.query(name, "SELECT pid FROM pg_stat_activity WHERE application_name = 'tillway'")).map(
          ({ pid }) => pid,
        );
      const first = await backends();
      assert.ok(first.length > 0);
      await alterSystem(postgres, 'default_transaction_read_only', 'on');
      await assert.rejects(store.commit(moved(family, 1)), isUnavailable);
      await assert.rejects(store.ping(), isUnavailable);
      await until(
        async () => !(await backends()).some((pid) => first.includes(pid)),
        () => 'a connection of before was kept',
      );
      await alterSystem(postgres, 'default_transaction_read_only');
      assert.deepEqual(await store.commit(moved(family, 1)), { done: true });
    }, demoted);
  });

  test('and one that lets nobody in is away, for reads and writes', () =>
    withStore(async ({ store, postgres, name }) => {
      await postgres.query('postgres', `ALTER DATABASE ${name} ALLOW_CONNECTIONS false`);
      const end = 'SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = $1';
      await postgres.query('postgres', end, [name]);
      await assert.rejects(store.session(family.session.id), isUnavailable);
      await assert.rejects(store.commit(moved(family, 1)), isUnavailable);
      await assert.rejects(store.ping(), isUnavailable);
      await postgres.query('postgres', `ALTER DATABASE ${name} ALLOW_CONNECTIONS true`);
      assert.deepEqual(await store.commit(moved(family, 1)), { done: true });
    }));
});

test('a checkout is read as it was at one moment', () =>
  withStore(async ({ store }) => {
    let stopping = false;
    const written = (async () => {
      for (let by = 1; !stopping; by++) await write(store, ...moved(family, by));
    })();
    await store.checkout(family.session.id);
    for (let read = 0; read < 1500; read++) {
      const { session, payments } = (await store.checkout(family.session.id))!;
      if (session.version > family.session.version)
        assert.equal(payments[0]!.txHash, `version ${session.version}`, `after ${read} reads`);
    }
    stopping = true;
    await written;
  }));

describe('deliveries', () => {
  const first = aDelivery({ sessionId: family.session.id, eventId: family.event.id, attempts: 1, dueAt: NOW + MINUTE });
  const finished: Change = {
    type: 'delivery_finished',
    delivery: { ...first, dueAt: NOW + 5000 },
    attempt: {
      deliveryId: first.id,
      number: 1,
      started: NOW,
      durationMs: 5,
      statusCode: 500,
      failure: 'status 500',
      responseBody: 'the answer to this is cut off',
    },
  };
  const prepared = (store: Store) =>
    write(store, { type: 'endpoint_saved', endpoint: anEndpoint() }, { type: 'delivery_created', delivery: first });

  test('an outcome whose answer was lost is not written twice', () =>
    withStore(async ({ store, postgres, name }) => {
      await prepared(store);
      await using proxy = await startProxy(postgres.port);
      const cut = await openTestStore(settingsOf(postgres.url(name, proxy.port)));
      const sprung = proxy.cutAnswerTo('the answer to this is cut off');
      await assert.rejects(cut.commit([finished]), isUnavailable);
      await sprung;
      assert.deepEqual(await cut.commit([finished]), { done: false, conflict: 'overtaken' });
      assert.equal((await cut.deliveryAttempts(first.id)).length, 1);
      await cut.close();
    }));

  test('one that comes while an earlier one is being finished is due at once, and not when its lease would end', () =>
    withStore(async ({ store, other, postgres, name }) => {
      await prepared(store);
      await other.query('BEGIN');
      await other.query("UPDATE deliveries SET status = 'delivered' WHERE id = $1", [first.id]);
      const event = { ...family.event, id: `evt_${family.session.id}_failed`, sequence: 3 };
      const next = aDelivery({ ...first, id: idOf('dlv', 2), eventId: event.id, sequence: 3, attempts: 0, dueAt: NOW });
      const committed = store.commit([
        { type: 'event_recorded', event },
        { type: 'delivery_created', delivery: next },
      ]);
      await until(async () => (await postgres.query(name, WAITING)).length > 0);
      await other.query('COMMIT');
      assert.deepEqual(await committed, { done: true });
      assert.equal((await store.delivery(next.id))!.dueAt, NOW);
    }));
});
