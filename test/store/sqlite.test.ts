import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chmodSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { eraseCustomer } from '../../src/operations/customers/manage-customers.ts';
import { MIGRATIONS } from '../../src/store/schema/migrations.ts';
import type { StoreLog } from '../../src/store/database.ts';
import { createLogCopier } from '../../src/store/sqlite-log-copier.ts';
import { openSqlite } from '../../src/store/sqlite.ts';
import type { Store } from '../../src/store/store.ts';
import { creationOf, checkoutRecords, write } from '../fixtures/store-records.ts';
import { temporaryFolder } from '../process/program.ts';
import { contentsOf, STORE_OPTIONS } from '../support/database.ts';

const WRITER = new URL('../../src/store/sqlite-writer.ts', import.meta.url);
const STORE = new URL('../../src/store/sqlite.ts', import.meta.url);

/** Migrates on several threads at the same time. Returns the number of migrations that each thread applied. */
function migrateAtOnce(path: string, count: number): Promise<number>[] {
  const program = `
    const { parentPort, workerData: { path, count, ready } } = require('node:worker_threads');
    import(${JSON.stringify(STORE.href)}).then(({ migrateSqlite }) => {
      if (Atomics.add(ready, 0, 1) + 1 === count) Atomics.notify(ready, 0);
      for (let there; (there = Atomics.load(ready, 0)) < count;) Atomics.wait(ready, 0, there);
      parentPort.postMessage(migrateSqlite(path).length);
    });`;
  const ready = new Int32Array(new SharedArrayBuffer(4));
  return Array.from({ length: count }, async () => {
    const [missing] = await once(new Worker(program, { eval: true, workerData: { path, count, ready } }), 'message');
    return missing as number;
  });
}

/** A test with a database path in a temporary directory. */
function onPath(name: string, use: (path: string) => Promise<void>): void {
  test(name, async () => {
    using folder = temporaryFolder();
    await use(folder.path('tillway.db'));
  });
}

async function withOpen(path: string, use: (store: Store) => Promise<void>, log?: StoreLog): Promise<void> {
  const store = await openSqlite({ ...STORE_OPTIONS, path, ...(log && { log, serving: true }) });
  try {
    await use(store);
  } finally {
    await store.close();
  }
}

function withDatabase<Result>(path: string, use: (database: DatabaseSync) => Result): Result {
  const database = new DatabaseSync(path);
  try {
    return use(database);
  } finally {
    database.close();
  }
}

describe('a new database', () => {
  onPath('a new database has files and a folder that only the owner can read', async (base) => {
    const path = join(`${base}.new`, 'tillway.db');
    await withOpen(path, async (store) => {
      await write(store, ...creationOf(checkoutRecords(1)));
      const modes = ['', '-wal', '-shm'].map((end) => statSync(path + end).mode & 0o777);
      assert.deepEqual([statSync(`${base}.new`).mode & 0o777, ...modes], [0o700, 0o600, 0o600, 0o600]);
    });
    chmodSync(path, 0o640);
    await withOpen(path, async () => undefined);
    assert.equal(statSync(path).mode & 0o777, 0o640);
  });
});

describe('durability of acknowledged writes', () => {
  onPath('the connection of the writer uses WAL, synchronous FULL and foreign keys', async (path) => {
    await withOpen(path, async () => undefined);
    const writer = new Worker(WRITER, { workerData: { path } });
    await once(writer, 'message');
    const sql = `CREATE TABLE seen AS SELECT journal_mode, synchronous, foreign_keys
      FROM pragma_journal_mode, pragma_synchronous, pragma_foreign_keys`;
    writer.postMessage({ define: [[0, sql]], sets: [[[0, []]]] });
    assert.deepEqual(await once(writer, 'message'), [[0]]);
    writer.postMessage('close');
    await once(writer, 'exit');
    const seen = withDatabase(path, (database) => database.prepare('SELECT * FROM seen').get());
    assert.deepEqual({ ...seen }, { journal_mode: 'wal', synchronous: 2, foreign_keys: 1 });
  });

  test('the writer does not start if SQLite cannot make commits durable', async () => {
    const writer = new Worker(WRITER, { workerData: { path: ':memory:' } });
    const [error]: unknown[] = await once(writer, 'error');
    assert.match(String(error), /not durable here: journal_mode memory/);
  });

  onPath('closing the store waits for writes in progress', async (path) => {
    const store = await openSqlite({ ...STORE_OPTIONS, path });
    const commits = Array.from({ length: 50 }, (_, index) => store.commit(creationOf(checkoutRecords(index))));
    await store.close();
    assert.ok((await Promise.all(commits)).every(({ done }) => done));
    await withOpen(path, async (reopened) => {
      assert.equal((await reopened.listSessions({}, { limit: 100 })).items.length, 50);
    });
  });
});

describe('the write-ahead log', () => {
  /** Increases each time the log begins again: https://www.sqlite.org/fileformat2.html#walformat */
  const beginningsOf = (path: string) => readFileSync(`${path}-wal`).readUInt32BE(12);

  onPath('the log is copied to the file and begins again before the writer must copy it', async (path) => {
    await withOpen(path, async (store) => {
      await write(store, ...creationOf(checkoutRecords(0)));
      const first = beginningsOf(path);
      for (let index = 1; beginningsOf(path) === first; index += 20) {
        const records = Array.from({ length: 20 }, (_, offset) => checkoutRecords(index + offset));
        await Promise.all(records.map((each) => write(store, ...creationOf(each))));
        assert.ok(statSync(`${path}-wal`).size < 60_000 * 2048, 'the log did not begin again');
      }
    });
  });

  test('the log is copied twice beside the writer, then by the writer, after each 15,000 pages', async () => {
    const calls: string[] = [];
    const copies: PromiseWithResolvers<void>[] = [];
    const copy = () => {
      calls.push('copy');
      copies.push(Promise.withResolvers());
      return copies.at(-1)!.promise;
    };
    const copier = createLogCopier(copy, () => calls.push('finish'));
    copier.count(14_987);
    assert.deepEqual(calls, []);
    copier.count(0);
    copier.count(50_000);
    assert.deepEqual(calls, ['copy'], 'one copy at a time');
    copies[0]!.resolve();
    await nextTurn();
    copies[1]!.resolve();
    await nextTurn();
    assert.deepEqual(calls, ['copy', 'copy', 'finish']);
    copier.count(0);
    copies[2]!.reject(new Error('an injected fault'));
    await nextTurn();
    copier.count(15_000);
    assert.deepEqual(calls.slice(3), ['copy', 'copy'], 'a failed copy is tried again');
  });
});

describe('migrations of a SQLite database', () => {
  const applied = (path: string) =>
    withDatabase(path, (database) =>
      database
        .prepare('SELECT version, name FROM schema_migrations ORDER BY version')
        .all()
        .map(({ version, name }) => ({ version, name })),
    );
  const known = MIGRATIONS.map(({ version, name }) => ({ version, name }));

  onPath('migrations are applied once if two processes start concurrently', async (path) => {
    const missing = await Promise.all(migrateAtOnce(path, 2));
    assert.deepEqual(
      missing.toSorted((a, b) => a - b),
      [0, known.length],
    );
    assert.deepEqual(applied(path), known);
    const stores = await Promise.all([1, 2].map(() => openSqlite({ ...STORE_OPTIONS, path })));
    for (const store of stores) await store.close();
  });

  onPath('a migration by another process does not move the columns of a prepared statement', async (path) => {
    const store = await openSqlite({ ...STORE_OPTIONS, path });
    const { customer, session } = checkoutRecords(1);
    await write(store, ...creationOf(checkoutRecords(1)));
    const sql = 'SELECT customers.*, sessions.id AS last FROM customers JOIN sessions ON customer_id = customers.id';
    const before = await store.database.select(sql);
    withDatabase(path, (database) => database.exec("ALTER TABLE customers ADD COLUMN added TEXT DEFAULT 'new'"));
    const after = await store.database.select(sql);
    assert.deepEqual([before[0]!['id'], before[0]!['last']], [customer.id, session.id]);
    assert.deepEqual(after, [{ ...before[0], added: 'new' }]);
    await store.close();
  });

  onPath('a database of a newer version is rejected with a message, and not changed', async (path) => {
    await withOpen(path, (store) => write(store, ...creationOf(checkoutRecords(1))));
    const newer = { version: MIGRATIONS.at(-1)!.version + 1, name: 'future' };
    withDatabase(path, (database) =>
      database.prepare('INSERT INTO schema_migrations VALUES (?, ?, ?)').run(newer.version, newer.name, 'x'),
    );
    await assert.rejects(
      openSqlite({ ...STORE_OPTIONS, path }),
      /the database has migration \d+ \(future\), which this version of Tillway does not know: start the version/,
    );
    assert.deepEqual(applied(path), [...known, newer]);
  });

  onPath(
    'the store opens a database with all 14 migrations from before the first release, and rejects one with only 13',
    async (path) => {
      await withOpen(path, async () => undefined);
      const insert = "INSERT INTO schema_migrations VALUES (13, 'provider inbox', 'x')";
      const hash = '379e797aebaec6d97ff38ef9927505ed7653f34d22389d8af02d4616930d7f9b';
      withDatabase(path, (database) =>
        database.exec(
          `${insert}; UPDATE schema_migrations SET name = 'ledger sums', hash = '${hash}' WHERE version = 14`,
        ),
      );
      await withOpen(path, async () => undefined);
      withDatabase(path, (database) => database.exec('DELETE FROM schema_migrations WHERE version = 14'));
      await assert.rejects(openSqlite({ ...STORE_OPTIONS, path }), /from before migration 14, which .* cannot upgrade/);
    },
  );
});

const TEXT = 'hidden-buyer';
const IDLE = { info: () => undefined, warn: () => undefined };

function recordingLog(): { log: StoreLog; lines: string[] } {
  const lines: string[] = [];
  const note = (level: string) => (_fields: object, message: string) => void lines.push(`${level} ${message}`);
  return { log: { info: note('info'), warn: note('warn') }, lines };
}

const markOf = (path: string) => withDatabase(path, (database) => database.prepare('PRAGMA user_version').get());
const isLeft = async (path: string) => (await contentsOf(`sqlite:${path}`)).includes(TEXT);

/** Leaves text in the free space of a page, as SQLite does when it moves rows between pages. */
function leaveText(path: string): void {
  withDatabase(path, (database) => {
    database.exec('PRAGMA secure_delete = OFF; CREATE TABLE leftovers (number INTEGER PRIMARY KEY, text TEXT)');
    for (let number = 0; number < 20; number++)
      database.prepare('INSERT INTO leftovers VALUES (?, ?)').run(number, `${number} ${TEXT}`);
    database.exec('DELETE FROM leftovers WHERE number BETWEEN 5 AND 15; UPDATE leftovers SET text = NULL');
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  });
  assert.ok(readFileSync(path, 'latin1').includes(TEXT));
}

/** A database with two buyers, the first of them erased. */
async function erased(path: string): Promise<void> {
  await withOpen(path, async (store) => {
    const [first, second] = [checkoutRecords(1), checkoutRecords(2)];
    await write(store, ...creationOf(first));
    await write(store, ...creationOf(second));
    await write(store, { type: 'payment_changed', payment: { ...first.payment, status: 'failed' } });
    const { id } = first.customer;
    await eraseCustomer({ store, log: IDLE } as unknown as Parameters<typeof eraseCustomer>[0], id, id);
  });
}

/** Copies the log to the file most of the time, as the service does under load. */
const COPYING = `
  const { DatabaseSync } = require('node:sqlite');
  const { parentPort, workerData } = require('node:worker_threads');
  const database = new DatabaseSync(workerData);
  const never = new Int32Array(new SharedArrayBuffer(4));
  parentPort.postMessage('ready');
  for (let round = 1; ; round++) {
    database.exec('PRAGMA wal_checkpoint(PASSIVE)');
    if (round % 5 === 0) Atomics.wait(never, 0, 0, 1);
  }`;

describe('remains of an erased text in the log', () => {
  onPath('an erasure empties the log, even while another thread copies it', async (path) => {
    await withOpen(path, async (store) => {
      const copying = new Worker(COPYING, { eval: true, workerData: path });
      await once(copying, 'message');
      const deps = { store, log: IDLE } as unknown as Parameters<typeof eraseCustomer>[0];
      try {
        for (let index = 0; index < 30; index++) {
          const records = checkoutRecords(index);
          const { id, email } = records.customer;
          await write(store, ...creationOf(records));
          await write(store, { type: 'payment_changed', payment: { ...records.payment, status: 'failed' } });
          await eraseCustomer(deps, id, id);
          assert.equal(readFileSync(`${path}-wal`).includes(email), false, `the log contains ${email}`);
        }
      } finally {
        await copying.terminate();
      }
    });
  });
});

describe('remains of an erased text in the database file', () => {
  onPath('remains of erased text are removed and logged once, at the next start of a service', async (path) => {
    await erased(path);
    leaveText(path);
    assert.deepEqual({ ...markOf(path) }, { user_version: 1 });
    const log = recordingLog();
    await withOpen(path, async (store) => assert.ok(await store.session(checkoutRecords(2).session.id)), log.log);
    assert.equal(await isLeft(path), false);
    assert.deepEqual({ ...markOf(path) }, { user_version: 0 });
    await withOpen(path, async () => undefined, log.log);
    assert.deepEqual(log.lines, ['info remnants of erased text are removed from the database file']);
  });

  onPath(
    'remains of erased text stay if no customer was erased or the program that opens the file is not a service',
    async (path) => {
      await withOpen(path, async (store) => write(store, ...creationOf(checkoutRecords(1))));
      leaveText(path);
      const log = recordingLog();
      await withOpen(path, async () => undefined, log.log);
      assert.deepEqual([await isLeft(path), log.lines], [true, []]);
      withDatabase(path, (database) => database.exec('PRAGMA user_version = 1'));
      await withOpen(path, async () => undefined);
      assert.equal(await isLeft(path), true);
    },
  );

  onPath(
    'remains of erased text stay, with a warning, while another process has the file open, until the next start',
    async (path) => {
      await erased(path);
      leaveText(path);
      const log = recordingLog();
      await withOpen(path, async (other) => {
        await withOpen(path, async (store) => write(store, ...creationOf(checkoutRecords(3))), log.log);
        assert.ok(await other.session(checkoutRecords(3).session.id));
      });
      assert.match(log.lines.join('\n'), /^warn .* stop other processes that have it open/m);
      assert.equal(await isLeft(path), true);
      await withOpen(path, async () => undefined, log.log);
      assert.equal(await isLeft(path), false);
    },
  );
});
