// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chmodSync, statSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { MIGRATIONS } from '../../src/store/migrations/migrations.ts';
import { openSqlite } from '../../src/store/sqlite.ts';
import type { Store } from '../../src/store/store.ts';
import { checkoutOf, creationOf, familyOf, withDirectory, write } from '../fixtures/store-records.ts';
import { usual } from '../support/database.ts';

const WRITER = new URL('../../src/store/sqlite-writer.ts', import.meta.url);
const STORE = new URL('../../src/store/sqlite.ts', import.meta.url);

/** Migrates on several threads at the same moment, and returns the number of migrations that each found missing. */
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

/** Runs `use` with the path of a database in a temporary directory. */
function withPath(use: (path: string) => Promise<void>): () => Promise<void> {
  return () => withDirectory((directory) => use(join(directory, 'tillway.db')));
}

async function withOpen(path: string, use: (store: Store) => Promise<void>): Promise<void> {
  const store = await openSqlite({ ...usual, path });
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
  test('can be read by its owner alone, with its folder and the files of SQLite', () =>
    withDirectory(async (directory) => {
      const path = join(directory, 'new', 'tillway.db');
      await withOpen(path, async (store) => {
        await write(store, ...creationOf(familyOf(1)));
        const modes = ['', '-wal', '-shm'].map((end) => statSync(path + end).mode & 0o777);
        assert.deepEqual([statSync(join(directory, 'new')).mode & 0o777, ...modes], [0o700, 0o600, 0o600, 0o600]);
      });
      chmodSync(path, 0o640);
      await withOpen(path, async () => undefined);
      assert.equal(statSync(path).mode & 0o777, 0o640);
    }));
});

describe('an acknowledged write is durable', () => {
  test(
    'the writer works with WAL, synchronous FULL and foreign keys, read back on its own connection',
    withPath(async (path) => {
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
    }),
  );

  test('the writer does not start if the database would not wait for the disk', async () => {
    const writer = new Worker(WRITER, { workerData: { path: ':memory:' } });
    const [error]: unknown[] = await once(writer, 'error');
    assert.match(String(error), /not durable here: journal_mode memory/);
  });

  test(
    'records are there after closing and opening the store',
    withPath(async (path) => {
      await withOpen(path, (store) => write(store, ...creationOf(familyOf(1))));
      await withOpen(path, async (store) => {
        assert.deepEqual(await store.checkout(familyOf(1).session.id), checkoutOf(familyOf(1)));
        await write(store, ...creationOf(familyOf(2)));
      });
      await withOpen(path, async (store) => {
        assert.deepEqual(await store.checkout(familyOf(2).session.id), checkoutOf(familyOf(2)));
      });
    }),
  );

  test(
    'closing waits for writes in progress',
    withPath(async (path) => {
      const store = await openSqlite({ ...usual, path });
      const commits = Array.from({ length: 50 }, (_, index) => store.commit(creationOf(familyOf(index))));
      await store.close();
      assert.ok((await Promise.all(commits)).every(({ done }) => done));
      await withOpen(path, async (reopened) => {
        assert.equal((await reopened.listSessions({}, { limit: 100 })).items.length, 50);
      });
    }),
  );
});

describe('migrations', () => {
  const applied = (path: string) =>
    withDatabase(path, (database) =>
      database
        .prepare('SELECT version, name FROM schema_migrations ORDER BY version')
        .all()
        .map(({ version, name }) => ({ version, name })),
    );
  const known = MIGRATIONS.map(({ version, name }) => ({ version, name }));

  test('are numbered from one without a gap', () => {
    assert.deepEqual(
      MIGRATIONS.map(({ version }) => version),
      MIGRATIONS.map((_, index) => index + 1),
    );
  });

  test(
    'are applied once, in a new directory',
    withPath(async (path) => {
      const nested = join(path, '..', 'data', 'of', 'tillway.db');
      await withOpen(nested, async () => undefined);
      assert.deepEqual(applied(nested), known);
      await withOpen(nested, async () => undefined);
      assert.deepEqual(applied(nested), known);
    }),
  );

  test(
    'are applied once by two concurrent starts',
    withPath(async (path) => {
      const missing = await Promise.all(migrateAtOnce(path, 2));
      assert.deepEqual(
        missing.toSorted((a, b) => a - b),
        [0, known.length],
      );
      assert.deepEqual(applied(path), known);
      const stores = await Promise.all([1, 2].map(() => openSqlite({ ...usual, path })));
      for (const store of stores) await store.close();
    }),
  );

  test(
    'a database of a newer version is rejected with a message, and not changed',
    withPath(async (path) => {
      await withOpen(path, (store) => write(store, ...creationOf(familyOf(1))));
      const newer = { version: MIGRATIONS.length + 1, name: 'future' };
      withDatabase(path, (database) =>
        database.prepare('INSERT INTO schema_migrations VALUES (?, ?, ?)').run(newer.version, newer.name, 'x'),
      );
      await assert.rejects(
        openSqlite({ ...usual, path }),
        /the database has migration \d+ \(future\), which this version of Tillway does not know: start the version/,
      );
      assert.deepEqual(applied(path), [...known, newer]);
    }),
  );

  test(
    'a database with other migrations is rejected',
    withPath(async (path) => {
      await withOpen(path, async () => undefined);
      withDatabase(path, (database) => database.exec("UPDATE schema_migrations SET name = 'other' WHERE version = 1"));
      await assert.rejects(openSqlite({ ...usual, path }), /migration 1 \(other\)/);
    }),
  );

  test(
    'a file that is not a database is rejected',
    withPath(async (path) => {
      await writeFile(path, 'this is no database, and never was one '.repeat(50));
      await assert.rejects(openSqlite({ ...usual, path }), /not a database/);
    }),
  );
});
