// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, test } from 'node:test';
import { eraseCustomer } from '../../src/operations/customers/manage-customers.ts';
import { openSqlite } from '../../src/store/sqlite.ts';
import type { Store } from '../../src/store/store.ts';
import { creationOf, familyOf, withDirectory, write } from '../fixtures/store-records.ts';
import { contentsOf, usual } from '../support/database.ts';

const TEXT = 'hidden-buyer';
const IDLE = { info: () => undefined, warn: () => undefined };

interface Told {
  log: { info(fields: object, message: string): void; warn(fields: object, message: string): void };
  lines: string[];
}

function listen(): Told {
  const lines: string[] = [];
  const note = (level: string) => (_fields: object, message: string) => void lines.push(`${level} ${message}`);
  return { log: { info: note('info'), warn: note('warn') }, lines };
}

/** Opens, uses and closes the store, as a service does if it has a log. */
async function withStore(path: string, told: Told | undefined, use: (store: Store) => Promise<void>): Promise<void> {
  const store = await openSqlite({ ...usual, path, ...(told && { log: told.log, serving: true }) });
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

const markOf = (path: string) => withDatabase(path, (database) => database.prepare('PRAGMA user_version').get());
const isLeft = async (path: string) => (await contentsOf(`sqlite:${path}`)).includes(TEXT);

/** Leaves text in an unused part of a page, as moving rows between pages does. */
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

/** A database of two buyers, the first of them erased. */
async function erased(path: string): Promise<void> {
  await withStore(path, undefined, async (store) => {
    const [first, second] = [familyOf(1), familyOf(2)];
    await write(store, ...creationOf(first));
    await write(store, ...creationOf(second));
    await write(store, { type: 'payment_changed', payment: { ...first.payment, status: 'failed' } });
    const { id } = first.customer;
    await eraseCustomer({ store, log: IDLE } as unknown as Parameters<typeof eraseCustomer>[0], id, id);
  });
}

describe('text that erasing has left in the file', () => {
  test('is removed once, by the next start of a service, which logs it', () =>
    withDirectory(async (directory) => {
      const path = join(directory, 'tillway.db');
      await erased(path);
      leaveText(path);
      assert.deepEqual({ ...markOf(path) }, { user_version: 1 });
      const told = listen();
      await withStore(path, told, async (store) => assert.ok(await store.session(familyOf(2).session.id)));
      assert.equal(await isLeft(path), false);
      assert.deepEqual({ ...markOf(path) }, { user_version: 0 });
      await withStore(path, told, async () => undefined);
      assert.deepEqual(told.lines, ['info what erasing had left in the database file is removed']);
    }));

  test('stays if no service opens the file, or if nothing was erased', () =>
    withDirectory(async (directory) => {
      const path = join(directory, 'tillway.db');
      await withStore(path, undefined, async (store) => write(store, ...creationOf(familyOf(1))));
      leaveText(path);
      const told = listen();
      await withStore(path, told, async () => undefined);
      assert.deepEqual([await isLeft(path), told.lines], [true, []]);
      withDatabase(path, (database) => database.exec('PRAGMA user_version = 1'));
      await withStore(path, undefined, async () => undefined);
      assert.equal(await isLeft(path), true);
    }));

  test('stays with a warning while another process has the file open, and is removed by the next start', () =>
    withDirectory(async (directory) => {
      const path = join(directory, 'tillway.db');
      await erased(path);
      leaveText(path);
      const told = listen();
      await withStore(path, undefined, async (other) => {
        await withStore(path, told, async (store) => write(store, ...creationOf(familyOf(3))));
        assert.ok(await other.session(familyOf(3).session.id));
      });
      assert.match(told.lines.join('\n'), /^warn .* stop whatever else has it open/m);
      assert.equal(await isLeft(path), true);
      await withStore(path, told, async () => undefined);
      assert.equal(await isLeft(path), false);
    }));
});
