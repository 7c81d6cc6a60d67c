// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Row, Select } from '../../src/store/keyset.ts';
import { createPostgresLongReads } from '../../src/store/postgres-reads.ts';
import { createSqliteLongReads } from '../../src/store/sqlite-long-reads.ts';
import { SCANNED_ROWS, createPaymentLists } from '../../src/store/tables/payment-lists.ts';
import { aPayment, idOf } from '../fixtures/checkout-records.ts';
import { checkoutRecords, creationOf, withStore, write } from '../fixtures/store-records.ts';
import { TEST_DATABASE, createServiceDatabase, queryRows, runSql } from '../support/database.ts';

const FILTER = { environment: 'sandbox', status: 'failed', amountFrom: 999_999 } as const;
const ROUNDS = 7;

/** Copies the first payment `count` times as failed payments of the same session. */
async function addFailedPayments(url: string, count: number): Promise<void> {
  const [first] = await queryRows(url, 'SELECT * FROM payments');
  const columns = Object.keys(first!);
  const changed: Record<string, string> = {
    id: `SUBSTR(id, 1, 14) || SUBSTR('0000000' || CAST(number AS TEXT), -7) || SUBSTR(id, 22)`,
    invoice_id: "'inv_' || CAST(number AS TEXT)",
    status: "'failed'",
  };
  await runSql(
    url,
    `WITH RECURSIVE numbers (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < ${count})
     INSERT INTO payments (${columns.join(', ')})
     SELECT ${columns.map((name) => changed[name] ?? name).join(', ')} FROM numbers, payments WHERE id = '${aPayment().id}'`,
  );
}

/** The longest delay of the event loop during `work`, in milliseconds: the least of several rounds, without other programs' noise. */
async function longestDelayMs(work: () => Promise<unknown>): Promise<number> {
  let least = Infinity;
  for (let round = 0; round < ROUNDS; round++) {
    const delays = monitorEventLoopDelay({ resolution: 1 });
    delays.enable();
    await sleep(20);
    await work();
    await sleep(20);
    delays.disable();
    least = Math.min(least, delays.max / 1e6);
  }
  return least;
}

describe('long reads', () => {
  test(
    'a scan of 20,000 rows moves the longest delay of the event loop by less than 10 ms; on the main thread it does not',
    { skip: TEST_DATABASE !== 'sqlite' },
    async () => {
      await withStore(async (store, url) => {
        await write(store, ...creationOf(checkoutRecords(1)));
        await addFailedPayments(url, SCANNED_ROWS + 1);
        const path = url.slice('sqlite:'.length);
        using database = new DatabaseSync(path, { readOnly: true });
        const mainSelect: Select = async (sql, ...params) => database.prepare(sql).all(...params) as Row[];
        const onMainThread = createPaymentLists(mainSelect, mainSelect);
        const page = { limit: 50 };
        const found = await store.listPayments(FILTER, page);
        assert.deepEqual([found.items.length, found.hasMore], [0, true], 'the scan reads 20,000 rows and finds none');

        const idle = await longestDelayMs(async () => undefined);
        const apart = await longestDelayMs(() => store.listPayments(FILTER, page));
        const control = await longestDelayMs(() => onMainThread.listPayments(FILTER, page));
        assert.ok(apart - idle < 10, `${apart} ms, idle ${idle} ms`);
        assert.ok(
          control - idle > 2 * Math.max(apart - idle, 1),
          `${control} ms on the main thread, ${apart} ms apart`,
        );
      });
    },
  );

  test(
    'reads of the thread fail one by one, and it reads again after a failure',
    { skip: TEST_DATABASE !== 'sqlite' },
    async () => {
      await using database = await createServiceDatabase('sqlite');
      const reads = createSqliteLongReads(database.url.slice('sqlite:'.length));
      try {
        const wrong = reads.select('SELECT missing FROM payments');
        const right = reads.select('SELECT COUNT(*) AS count FROM payments WHERE id = ?1', idOf('pay', 1));
        await assert.rejects(wrong, /no such column/);
        assert.deepEqual(
          [...(await right)].map((row) => row['count']),
          [0],
        );
      } finally {
        await reads.close();
      }
    },
  );

  test('a statement ends after two seconds', { skip: TEST_DATABASE !== 'postgres' }, async () => {
    await using database = await createServiceDatabase('postgres');
    const reads = createPostgresLongReads(database.url);
    try {
      const began = performance.now();
      await assert.rejects(reads.select('SELECT pg_sleep(4)'), { code: 'unavailable' });
      const ms = performance.now() - began;
      assert.ok(ms > 1900 && ms < 3500, `${ms} ms`);
      assert.deepEqual(await reads.select('SELECT 1 AS one'), [{ one: 1 }]);
    } finally {
      await reads.close();
    }
  });
});
