// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { describe, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { restrictStore } from '../../src/operations/access/restrict-store.ts';
import { addUp, countSales } from '../../src/operations/count-sales.ts';
import type { Deps } from '../../src/operations/deps.ts';
import { type SalesStep, readSales } from '../../src/operations/sales-report.ts';
import { MIGRATIONS } from '../../src/store/schema/migrations.ts';
import type { Change, Store } from '../../src/store/store.ts';
import { NOW, aCustomer, aSession } from '../fixtures/checkout-records.ts';
import { withStore, write } from '../fixtures/store-records.ts';
import { createIdSource } from '../../src/domain/id.ts';
import { queryRows } from '../support/database.ts';
import { assertSound } from '../support/sound.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const RUNNING = () => false;
const at = (text: string) => Date.parse(text);

/** Writes sessions, one at each time. */
async function writeSessions(
  store: Store,
  times: readonly number[],
  environment: 'sandbox' | 'production' = 'sandbox',
) {
  const customer = aCustomer({
    environment,
    id: createIdSource(
      () => NOW,
      (size) => new Uint8Array(size).fill(environment.length),
    )('cus'),
  });
  await write(store, { type: 'customer_created', customer });
  const changes = times.map((time, index): Change => {
    const newId = createIdSource(
      () => time,
      (size) => new Uint8Array(size).fill(index % 32),
    );
    const session = aSession({ id: newId('chk'), environment, customerId: customer.id, amount: 100, created: time });
    return { type: 'session_created', session };
  });
  for (let first = 0; first < changes.length; first += 100) await write(store, ...changes.slice(first, first + 100));
}

function depsOf(store: Store, now: number, reportingZone = 'UTC'): Deps {
  return { store, now: () => now, reportingZone } as unknown as Deps;
}

async function countsOf(deps: Deps, from: string, until: string, step: SalesStep = 'day') {
  const report = await readSales(deps, { environment: 'sandbox', from: at(from), until: at(until), step });
  // PostgreSQL returns the groups of a sum in any order.
  const sums = addUp(report.sums, (time) => time).toSorted((a, b) => a.time - b.time);
  const counts = sums.map(({ time, count }) => [new Date(time).toISOString().slice(0, 16), count]);
  return { counts: Object.fromEntries(counts) as Record<string, number>, countedUntil: report.countedUntil };
}

describe('days of sales', () => {
  test('days of 23 and 25 hours, and a change of the time zone, which builds all days again', () =>
    withStore(async (store, url) => {
      // In Berlin, the days around the changes of the clocks begin at 23:00 or 22:00 UTC.
      const times = ['2026-03-28T22:59Z', '2026-03-28T23:00Z', '2026-03-29T21:59Z', '2026-03-29T22:00Z'];
      const autumn = ['2026-10-24T21:59Z', '2026-10-24T22:00Z', '2026-10-25T22:59Z', '2026-10-25T23:00Z'];
      await writeSessions(store, [...times, ...autumn].map(at));
      const now = at('2026-11-01T12:00Z');
      await countSales(depsOf(store, now), RUNNING, turn, 3);
      const spring = (deps: Deps) => countsOf(deps, '2026-03-28T12:00Z', '2026-03-30T12:00Z');
      const fall = (deps: Deps) => countsOf(deps, '2026-10-24T12:00Z', '2026-10-26T12:00Z');
      const inUtc = { '2026-03-28T00:00': 2, '2026-03-29T00:00': 2 };
      assert.deepEqual(await spring(depsOf(store, now)), { counts: inUtc, countedUntil: null });

      const berlin = depsOf(store, now, 'Europe/Berlin');
      // Until the days are built, a report of days adds up three days from quarter-hours, and says so.
      const year = await countsOf(berlin, '2026-03-28T12:00Z', '2026-11-01T12:00Z');
      assert.deepEqual(year, {
        counts: { '2026-03-27T23:00': 1, '2026-03-28T23:00': 2, '2026-03-29T22:00': 1 },
        countedUntil: at('2026-03-30T22:00Z'),
      });
      await countSales(berlin, RUNNING);
      assert.deepEqual((await spring(berlin)).counts, {
        '2026-03-27T23:00': 1,
        '2026-03-28T23:00': 2,
        '2026-03-29T22:00': 1,
      });
      assert.deepEqual((await fall(berlin)).counts, {
        '2026-10-23T22:00': 1,
        '2026-10-24T22:00': 2,
        '2026-10-25T23:00': 1,
      });
      assert.equal((await countsOf(berlin, '2026-03-28T12:00Z', '2026-11-01T12:00Z')).countedUntil, null);
      await assertSound(url);

      await countSales(depsOf(store, now), RUNNING);
      const days = await queryRows(url, 'SELECT DISTINCT time FROM sales_days');
      assert.deepEqual(new Set(days.map(({ time }) => Number(time) % DAY)), new Set([0]));
      await assertSound(url);
    }));

  // One session an hour: a week has 168 hours, in Berlin one less from 23 March and one more from 19 October 2026.
  for (const [first, hours] of [
    ['2026-03-08T23:00Z', [168, 168, 167, 168]],
    ['2026-10-04T22:00Z', [168, 168, 169, 168]],
  ] as const) {
    test(`weeks have seven local days, also when the clocks change: from ${first}`, () =>
      withStore(async (store) => {
        const all = hours.reduce<number>((sum, count) => sum + count, 0);
        const until = at(first) + all * HOUR;
        await writeSessions(
          store,
          Array.from({ length: all }, (_, hour) => at(first) + hour * HOUR),
        );
        const [from, end] = [new Date(at(first)).toISOString(), new Date(until).toISOString()];
        // Before and after the last days are built.
        for (const now of [until, until + 2 * DAY]) {
          const berlin = depsOf(store, now, 'Europe/Berlin');
          await countSales(berlin, RUNNING);
          assert.deepEqual(Object.values((await countsOf(berlin, from, end, 'week')).counts), hours);
        }
      }));
  }

  test('a report by week counts the current day in its week, also after a report by day with the same end', () =>
    withStore(async (store) => {
      await writeSessions(store, [at('2026-03-02T10:00Z'), at('2026-03-08T10:00Z')]);
      const deps = depsOf(store, at('2026-03-08T15:00Z'));
      await countSales(deps, RUNNING);
      const range = ['2026-03-02T00:00Z', '2026-03-08T15:00Z'] as const;
      const days = { '2026-03-02T00:00': 1, '2026-03-08T00:00': 1 };
      assert.deepEqual((await countsOf(deps, ...range)).counts, days);
      assert.deepEqual((await countsOf(deps, ...range, 'week')).counts, { '2026-03-02T00:00': 2 });
      assert.deepEqual((await countsOf(deps, ...range)).counts, days);
    }));

  test('while old rows are being counted, a report says up to which time it is complete', () =>
    withStore(async (store) => {
      const times = Array.from({ length: 2300 }, (_, index) => NOW + index * 10);
      await writeSessions(store, times);
      const deps = depsOf(store, NOW + HOUR);
      const range = [new Date(NOW).toISOString(), new Date(NOW + HOUR).toISOString()] as const;
      const before = await countsOf(deps, ...range, 'hour');
      assert.ok(before.countedUntil !== null && before.countedUntil < NOW + 23_000);
      let stops = 0;
      // The worker stops after its first batch.
      await countSales(deps, () => stops++ > 2);
      const later = await countsOf(deps, ...range, 'hour');
      assert.ok(later.countedUntil === null || later.countedUntil > before.countedUntil);
      await countSales(deps, RUNNING);
      const after = await countsOf(deps, ...range, 'hour');
      assert.deepEqual([Object.values(after.counts), after.countedUntil], [[2300], null]);
    }));

  test('more rows with one time than a batch has are counted in one batch', () =>
    withStore(async (store) => {
      await writeSessions(
        store,
        Array.from({ length: 20 }, () => NOW),
      );
      assert.equal(await countSales(depsOf(store, NOW + HOUR), RUNNING, turn, 3), 20);
    }));

  test('a caller of one environment sees the sums and the newest rows of this environment only', () =>
    withStore(async (store) => {
      await writeSessions(store, [NOW, NOW + HOUR], 'sandbox');
      await writeSessions(store, [NOW + 1, NOW + 2, NOW + HOUR + 1], 'production');
      const deps = depsOf(store, NOW + HOUR + 2 * MINUTE);
      await countSales(depsOf(store, NOW + HOUR), RUNNING);
      const restricted = { ...deps, store: restrictStore(store, 'sandbox') };
      const query = { from: NOW, until: NOW + 2 * HOUR, step: 'quarter_hour' } as const;
      const { sums } = await readSales(restricted, { ...query, environment: 'sandbox' });
      assert.deepEqual(
        sums.map(({ environment, count }) => [environment, count]),
        [
          ['sandbox', 1],
          ['sandbox', 1],
        ],
      );
      await assert.rejects(readSales(restricted, { ...query, environment: 'production' }), { code: 'forbidden' });
    }));

  test('an empty range, and a range that is too long for its steps, are rejected with a remedy', () =>
    withStore(async (store) => {
      const deps = depsOf(store, NOW);
      const ranges = [
        [NOW, NOW, 'day'],
        [NOW, NOW + 9 * DAY, 'hour'],
        [NOW, NOW + 1101 * DAY, 'day'],
        [-1, NOW, 'day'],
      ] as const;
      for (const [from, until, step] of ranges) {
        await assert.rejects(readSales(deps, { environment: 'sandbox', from, until, step }), { code: 'invalid_input' });
      }
    }));
});

test('the migration fills the times and failures of old rows as far as they are known', () => {
  using database = new DatabaseSync(':memory:', { enableForeignKeyConstraints: false });
  for (const { sql, only } of MIGRATIONS) {
    if (sql.includes('CREATE TABLE sales_quarter_hours')) {
      const payment = (id: string, status: string, failure: string) =>
        `('${id}', '', '', '', 'sandbox', 1, '${status}', 'pending', '{"id":"route_1"}', 0, 0, 0, 0, 0, ${failure}, 0, '{}', 1, 1, 0)`;
      database.exec(`INSERT INTO customers (id, environment, email, email_key, status, created) VALUES ('cus', 'sandbox', '', '', '', 1);
        INSERT INTO sessions (id, environment, status, version, product, amount, customer_id, customer_email, metadata, offer, attempts, announced, created, expires_at)
          VALUES ('chk_1', 'sandbox', 'expired', 1, '', 1, 'cus', '', '{}', '{}', 0, 0, 1, 77), ('chk_2', 'sandbox', 'paid', 1, '', 1, 'cus', '', '{}', '{}', 0, 0, 1, 88);
        DROP INDEX payments_one_paid; DROP INDEX payments_one_pending; DROP INDEX payments_invoice;
        INSERT INTO payments (id, session_id, invoice_id, customer_id, environment, amount, status, ledger_status, route, buyer_fee, gateway_fee, provider_cost, handoff_unclear, surplus, failure_code, failure_source, probe, metadata, created, timeout_at, inquiries)
          VALUES ${payment('pay_1', 'failed', "'declined', 'issuer'")}, ${payment('pay_2', 'paid', 'NULL, NULL')};
        INSERT INTO route_outcomes (payment_id, stage, environment, route_id, result, successes, failures, neutrals, probe, created)
          VALUES ('pay_1', 'handoff', 'sandbox', 'route_1', 'accepted', 0, 0, 0, 0, 1), ('pay_1', 'result', 'sandbox', 'route_1', 'neutral', 0, 0, 1, 0, 2),
            ('pay_2', 'result', 'sandbox', 'route_1', 'failed', 0, 1, 0, 0, 1), ('pay_2', 'late', 'sandbox', 'route_1', 'paid', 1, -1, 0, 0, 2)`);
    }
    database.exec(sql + (only?.sqlite ?? ''));
  }
  const rows = (sql: string) =>
    database
      .prepare(sql)
      .all()
      .map((row) => Object.values(row));
  assert.deepEqual(rows('SELECT expired_at FROM sessions ORDER BY id'), [[77], [null]]);
  assert.deepEqual(
    rows('SELECT payment_id, stage, failure FROM route_outcomes WHERE failure IS NOT NULL ORDER BY 1, 2'),
    [
      ['pay_1', 'result', 'issuer/declined'],
      ['pay_2', 'late', 'unknown/unknown'],
      ['pay_2', 'result', 'unknown/unknown'],
    ],
  );
  assert.deepEqual(rows("SELECT id, route_id FROM sales_payments WHERE id = 'pay_1'"), [['pay_1', 'route_1']]);
});
