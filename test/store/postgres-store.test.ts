// @run on=postgres needs=process
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { MIGRATIONS } from '../../src/store/schema/migrations.ts';
import { openStore } from '../../src/store/open.ts';
import { until } from '../support/until.ts';
import { anApiKey } from '../fixtures/api-key-records.ts';
import { checkoutOf, creationOf, checkoutRecords, write } from '../fixtures/store-records.ts';
import { openTestStore, settingsOf, STORE_OPTIONS, withClient } from '../support/database.ts';
import { type Databases, alterSystem, sharedPostgres, startPostgres } from '../support/postgres.ts';
import { startProxy } from '../support/tcp-proxy.ts';
import { END_CONNECTIONS, WAITING, records, isUnavailable, versionRaised, withPostgres } from './postgres-stage.ts';

let postgres: Databases;
before(async () => {
  postgres = await sharedPostgres();
});

describe('a group commit on PostgreSQL', () => {
  test('a group commit sends all waiting change sets in one round trip', () =>
    withPostgres(async ({ name }) => {
      await using proxy = await startProxy(postgres.port);
      const store = await openTestStore(settingsOf(postgres.url(name, proxy.port)));
      const recordSets = Array.from({ length: 50 }, (_, index) => checkoutRecords(index + 1));
      await write(store, ...creationOf(checkoutRecords(99)));
      proxy.takeCounts();
      const results = await Promise.all(recordSets.map((each) => store.commit(creationOf(each))));
      assert.ok(results.every(({ done }) => done));
      assert.deepEqual(proxy.takeCounts(), { statements: 50 * 5, roundTrips: 1, commits: 0 });
      assert.deepEqual(await store.checkout(recordSets[49]!.session.id), checkoutOf(recordSets[49]!));
      await store.close();
    }));

  test('a group commit can exceed the size of one network packet', () =>
    withPostgres(async ({ store }) => {
      const body = 'x'.repeat(100_000);
      const recordSets = Array.from({ length: 40 }, (_, index) => checkoutRecords(index + 1));
      const commits = recordSets.map((each) => store.commit(creationOf({ ...each, event: { ...each.event, body } })));
      assert.ok((await Promise.all(commits)).every(({ done }) => done));
      assert.equal((await store.event(recordSets[39]!.event.id))!.body, body);
    }));
});

describe('locks and lost connections', () => {
  /** Makes the server abort the next `times` updates of sessions with this SQLSTATE. */
  const endUpdates = (name: string, times: number, sqlState: string) =>
    postgres.query(
      name,
      // The trigger counts with a sequence, because a rollback does not reset a sequence.
      `CREATE SEQUENCE updates;
       GRANT USAGE ON SEQUENCE updates TO tillway;
       CREATE FUNCTION end_update() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN
           IF nextval('updates') <= ${times} THEN RAISE EXCEPTION 'ended' USING ERRCODE = '${sqlState}'; END IF;
           RETURN NEW;
         END $$;
       CREATE TRIGGER ended BEFORE UPDATE ON sessions FOR EACH ROW EXECUTE FUNCTION end_update()`,
    );

  for (const [failure, sqlState] of [
    ['a deadlock', '40P01'],
    ['a failure to serialize', '40001'],
  ] as const) {
    test(`a commit is attempted up to five times after ${failure}`, async () => {
      await withPostgres(async ({ store, name }) => {
        await endUpdates(name, 4, sqlState);
        assert.deepEqual(await store.commit(versionRaised(1)), { done: true });
      });
      await withPostgres(async ({ store, name }) => {
        await endUpdates(name, 5, sqlState);
        await assert.rejects(store.commit(versionRaised(1)), isUnavailable);
        assert.deepEqual(await store.commit(versionRaised(1)), { done: true });
      });
    });
  }

  test('a commit waits for a concurrent revocation of its API key, and then conflicts', () =>
    withPostgres(async ({ store, client }) => {
      await write(store, { type: 'api_key_created', key: anApiKey(1) });
      await client.query('BEGIN');
      await client.query('UPDATE api_keys SET revoked_at = 1 WHERE id = $1', [anApiKey(1).id]);
      const committed = store.commit([
        { type: 'api_key_active', keyId: anApiKey(1).id },
        { type: 'api_key_created', key: anApiKey(2) },
      ]);
      await until(async () => (await client.query(WAITING)).rowCount! > 0);
      await client.query('COMMIT');
      assert.deepEqual(await committed, { done: false, conflict: 'key_revoked' });
      assert.equal(await store.apiKey(anApiKey(2).id), undefined);
    }));

  test('a commit that waits too long for a lock fails as unavailable', () =>
    withPostgres(async ({ store, client }) => {
      await client.query('BEGIN');
      await client.query('SELECT 1 FROM sessions WHERE id = $1 FOR UPDATE', [records.session.id]);
      await assert.rejects(store.commit(versionRaised(1)), isUnavailable);
      await client.query('ROLLBACK');
      assert.deepEqual(await store.commit(versionRaised(1)), { done: true });
    }));

  test('the store replaces terminated connections', () =>
    withPostgres(async ({ store, name }) => {
      await postgres.query('postgres', END_CONNECTIONS, [name]);
      assert.deepEqual(await store.session(records.session.id), records.session);
      assert.deepEqual(await store.commit(versionRaised(1)), { done: true });
    }));

  test('a lost connection makes the queries in progress fail, but no later query', () =>
    withPostgres(({ name, url }) =>
      withClient(url, async (client) => {
        await using proxy = await startProxy(postgres.port);
        const store = await openTestStore(settingsOf(postgres.url(name, proxy.port)));
        await client.query('BEGIN');
        await client.query('LOCK TABLE sessions');
        const inProgress = [store.session(records.session.id), store.commit(versionRaised(1))];
        const failed = Promise.all(inProgress.map((each) => assert.rejects(each, isUnavailable)));
        await new Promise((resolve) => setTimeout(resolve, 100));
        proxy.cut();
        await failed;
        await client.query('ROLLBACK');
        // The outcome of the failed commit is unknown, so only the id is compared.
        assert.equal((await store.session(records.session.id))!.id, records.session.id);
        await store.close();
      }),
    ));

  test('the server does not keep a statement whose first execution failed', () =>
    withPostgres(async ({ url }) => {
      const { database, close } = await openStore({ kind: 'postgres', url, poolSize: 1 }, STORE_OPTIONS);
      const failing = 'SELECT 1 / CAST(?1 AS BIGINT) AS quotient';
      for (let time = 0; time < 3; time++) await assert.rejects(database.select(failing, 0), /division by zero/);
      const kept = "SELECT COUNT(*) AS count FROM pg_prepared_statements WHERE statement LIKE 'SELECT 1 /%'";
      assert.deepEqual(await database.select(kept), [{ count: 0 }]);
      assert.deepEqual(await database.select(failing, 1), [{ quotient: 1 }]);
      assert.deepEqual(await database.select(kept), [{ count: 1 }]);
      await close();
    }));

  test('the store reads and writes a table to which a newer version has added a column', () =>
    withPostgres(async ({ store, name }) => {
      assert.deepEqual(await store.session(records.session.id), records.session);
      await postgres.query(name, 'ALTER TABLE sessions ADD COLUMN novelty TEXT');
      assert.deepEqual(await store.session(records.session.id), records.session);
      assert.deepEqual(await store.commit(versionRaised(1)), { done: true });
    }));
});

/** Tolerance when two clocks are compared: the store's clock differs from the server's by half a round trip. */
const CLOCK_ERROR_MS = 1000;

test('the store uses the clock of the database server', () =>
  withPostgres(async ({ url, name }) => {
    const store = await openStore(settingsOf(url), { ...STORE_OPTIONS, clock: { now: () => 0 } });
    const earliest = store.now() - CLOCK_ERROR_MS;
    const [row] = await postgres.query(name, 'SELECT EXTRACT(EPOCH FROM clock_timestamp())::float8 * 1000 AS now');
    const latest = store.now() + CLOCK_ERROR_MS;
    const now = row!['now'] as number;
    assert.ok(now > earliest && now < latest, `${now} is not between ${earliest} and ${latest}`);
    assert.ok(Number.isInteger(store.now()));
    await store.close();
  }));

test('list pages are sorted by bytes even if the collation of the database is linguistic', () =>
  withPostgres(async ({ store, name }) => {
    const [row] = await postgres.query(name, "SELECT 'a' < 'B' AS linguistic");
    assert.equal(row!['linguistic'], true, 'this cluster sorts by bytes, so the test would prove nothing');
    const ids = ['cus_B', 'cus_Z', 'cus_a', 'cus_z'];
    for (const [index, id] of ids.entries()) {
      await write(store, {
        type: 'customer_created',
        customer: { ...records.customer, id, email: `${index}@example.com` },
      });
    }
    const { items } = await store.listCustomers({}, { limit: 4 });
    assert.deepEqual(
      items.map(({ id }) => id),
      ids.toReversed(),
    );
  }));

describe('opening a store on PostgreSQL', () => {
  let names: string[] = [];
  const database = async () => {
    const name = await postgres.createDatabase();
    names.push(name);
    return name;
  };
  after(async () => {
    for (const name of names) await postgres.dropDatabase(name);
    names = [];
  });

  test('ten stores that open a new database concurrently create the tables once', async () => {
    const name = await database();
    const stores = await Promise.all(Array.from({ length: 10 }, () => openTestStore(settingsOf(postgres.url(name)))));
    const rows = await postgres.query(name, 'SELECT version::int, name FROM schema_migrations ORDER BY version');
    assert.deepEqual(
      rows,
      MIGRATIONS.map(({ version, name: migration }) => ({ version, name: migration })),
    );
    await Promise.all(stores.map((store) => store.close()));
  });

  test('opening a store rejects a standby, an encoding other than UTF-8 and a wrong password, and hides the password', async () => {
    const readOnly = await database();
    await postgres.query(readOnly, `ALTER DATABASE ${readOnly} SET default_transaction_read_only = on`);
    await assert.rejects(openTestStore(settingsOf(postgres.url(readOnly))), /read-only, like a standby/);

    await postgres.query(
      'postgres',
      "CREATE DATABASE ascii ENCODING 'SQL_ASCII' LOCALE 'C' LOCALE_PROVIDER libc TEMPLATE template0",
    );
    names.push('ascii');
    await assert.rejects(openTestStore(settingsOf(postgres.url('ascii'))), /encoding is SQL_ASCII: create it with/);

    const wrong = new URL(postgres.url(readOnly));
    wrong.password = 'not-the-password';
    await assert.rejects(openTestStore(settingsOf(wrong.href)), (error: Error) => {
      assert.match(error.message, /^DATABASE_URL postgres:\/\/127\.0\.0\.1:\d+\/\w+: password authentication failed/);
      return !error.message.includes('not-the-password');
    });
  });

  test('opening a store warns of each PostgreSQL setting that can lose acknowledged writes', async () => {
    const off = { fsync: 'off', full_page_writes: 'off', synchronous_commit: 'off' };
    await using risky = await startPostgres({ settings: off });
    const warningsOf = async (cluster: Databases, name: string): Promise<unknown[]> => {
      const warned: unknown[] = [];
      const store = await openStore(settingsOf(cluster.url(name)), {
        ...STORE_OPTIONS,
        log: { info: () => undefined, warn: (fields) => warned.push(fields) },
      });
      await store.close();
      return warned;
    };
    const name = await risky.createDatabase();
    const expected = Object.keys(off).map((setting) => ({ setting, value: 'off' }));
    assert.deepEqual(await warningsOf(risky, name), expected);
    assert.deepEqual(await warningsOf(postgres, await database()), []);

    // With synchronous standbys, `local` is also a risk, because it does not wait for them.
    await risky.query('postgres', `ALTER DATABASE ${name} SET synchronous_commit = local`);
    assert.deepEqual(await warningsOf(risky, name), expected.slice(0, 2));
    await alterSystem(risky, 'synchronous_standby_names', 's1');
    assert.deepEqual((await warningsOf(risky, name)).at(-1), { setting: 'synchronous_commit', value: 'local' });
  });
});
