// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type JournalEntry, paidPosting, settledPosting } from '../../src/domain/ledger.ts';
import { ledgerBalances } from '../../src/operations/ledger/ledger-balances.ts';
import type { JournalFilter } from '../../src/store/ledger-port.ts';
import type { Store } from '../../src/store/store.ts';
import { DAY, NOW, aPayment, idOf } from '../fixtures/checkout-records.ts';
import { creationOf, checkoutRecords, withStore, write } from '../fixtures/store-records.ts';
import { TEST_DATABASE, type TestDatabase, createServiceDatabase, openTestStore, runSql } from '../support/database.ts';
import { IS_UNIT_RUN } from '../support/for-all.ts';

const APPEND_ONLY = /append-only/;
const IS_SQLITE = TEST_DATABASE === 'sqlite';

async function writePaid(store: Store, number: number, created = NOW): Promise<void> {
  const records = checkoutRecords(number);
  await write(store, ...creationOf(records));
  const payment = { ...records.payment, status: 'paid' as const };
  await write(store, { type: 'ledger_posted', posting: paidPosting(payment, created), environment: 'sandbox' });
}

describe('triggers of the ledger table', () => {
  const columns = 'posting_id, line, payment_id, session_id, refund_id, environment, kind, account, amount, created';
  const insertAgain = (rest: string) => `INSERT ${IS_SQLITE ? rest : ''} INTO ledger_entries (${columns})
    SELECT ${columns.replace('amount', 'amount + 1')} FROM ledger_entries WHERE line = 0`;
  const byRowNumber = `INSERT OR REPLACE INTO ledger_entries (rowid, ${columns})
    SELECT rowid, ${columns.replace('posting_id', "'dis_forged:adjustment'")} FROM ledger_entries LIMIT 1`;
  const attempts = [
    'UPDATE ledger_entries SET amount = amount + 1',
    "UPDATE ledger_entries SET account = 'x' WHERE line = 0",
    'DELETE FROM ledger_entries WHERE line = 0',
    `${insertAgain('')} ${IS_SQLITE ? 'AND true' : ''} ON CONFLICT (posting_id, line) DO UPDATE SET amount = 1`,
    ...(IS_SQLITE
      ? [insertAgain('OR REPLACE'), byRowNumber, insertAgain('OR IGNORE')]
      : ['TRUNCATE ledger_entries', 'TRUNCATE payments CASCADE']),
  ];
  test('triggers reject every statement that changes, replaces or deletes ledger entries', () =>
    withStore(async (store, url) => {
      await writePaid(store, 1);
      const before = await store.ledgerOfPayment(idOf('pay', 1));
      for (const sql of attempts) {
        await assert.rejects(runSql(url, sql), APPEND_ONLY, sql);
        assert.deepEqual(await store.ledgerOfPayment(idOf('pay', 1)), before, sql);
      }
    }));
});

describe('the journal of the ledger', () => {
  let database: TestDatabase;
  let store: Store;

  before(async () => {
    database = await createServiceDatabase();
    store = await openTestStore(database.settings);
    // Some postings have the same time, others have different times.
    for (let number = 1; number <= 9; number++) await writePaid(store, number, NOW + Math.floor(number / 3));
    const payment = aPayment({ id: idOf('pay', 1), sessionId: idOf('chk', 1), status: 'paid' });
    const posting = settledPosting(payment, 100, NOW + 10);
    await write(store, { type: 'ledger_posted', posting, environment: 'sandbox' });
  });
  after(async () => {
    await store.close();
    await database[Symbol.asyncDispose]();
  });

  async function walk(filter: JournalFilter, limit: number, order: 'newest_first' | 'oldest_first') {
    const found = [];
    for (let after; ;) {
      const page = await store.journal(filter, { limit, order, after });
      found.push(...page);
      if (page.length < limit) return found;
      after = page.at(-1);
    }
  }

  test('the journal has the same order for every page size and direction', async () => {
    const whole = await walk({}, 1000, 'oldest_first');
    assert.equal(whole.length, 9 * 4 + 2);
    for (const limit of IS_UNIT_RUN ? [3] : [1, 3, 7]) {
      assert.deepEqual(await walk({}, limit, 'oldest_first'), whole);
      assert.deepEqual((await walk({}, limit, 'newest_first')).toReversed(), whole);
    }
    const places = whole.map(({ created, postingId, line }) => `${created} ${postingId} ${line}`);
    assert.deepEqual(places, places.toSorted());
  });

  test('the journal returns the matching entries for every filter and for combinations of filters', async () => {
    const whole = await walk({}, 1000, 'newest_first');
    const filters: JournalFilter[] = [
      { account: 'merchant_payable' },
      { kind: 'settled' },
      { account: 'merchant_payable', kind: 'paid' },
      { environment: 'sandbox' },
      { environment: 'production' },
      { sessionId: idOf('chk', 1) },
      { paymentId: idOf('pay', 2) },
      { sessionId: idOf('chk', 1), kind: 'settled', account: 'provider_clearing' },
      { sessionId: idOf('chk', 1), paymentId: idOf('pay', 2) },
      { from: NOW + 1 },
      { until: NOW + 1 },
      { from: NOW + 1, until: NOW + 2, account: 'provider_cost' },
      { sessionId: idOf('chk', 1), from: NOW + 10 },
      { sessionId: idOf('chk', 99) },
    ];
    for (const filter of filters) {
      const { from = 0, until = Infinity, ...named } = filter;
      const expected = whole.filter(
        (entry) =>
          entry.created >= from &&
          entry.created < until &&
          Object.entries(named).every(([key, value]) => entry[key as keyof typeof entry] === value),
      );
      assert.deepEqual(await walk(filter, 2, 'newest_first'), expected, JSON.stringify(filter));
    }
  });

  test('balances at any time equal the sums of journal entries, for every length of the period that one read covers', async () => {
    const whole = await walk({}, 1000, 'newest_first');
    for (const at of [NOW - 1, NOW, NOW + 1, NOW + 9, NOW + 10]) {
      // Some slices end between two postings.
      for (const slice of [DAY, (NOW % DAY) + 1, (NOW % DAY) + 5, 3_600_000]) {
        await assertBalances({ store, now: () => NOW + 10, caller: undefined }, whole, at, slice);
      }
    }
  });
});

test('current balances and balances at midnight are computed from daily sums without reading entries', () =>
  withStore(async (store) => {
    const midnight = Math.ceil(NOW / DAY) * DAY;
    const times = [midnight - 2 * DAY, midnight - DAY - 1, midnight - DAY, midnight - 1, midnight, midnight + 5];
    for (const [number, created] of times.entries()) await writePaid(store, number, created);
    const whole = await store.journal({}, { limit: 100, order: 'oldest_first', after: undefined });
    const failOnRead = () => Promise.reject(new Error('entries are read'));
    const storeWithoutEntries = { ...store, entrySums: failOnRead, journal: failOnRead };
    const deps = { store: storeWithoutEntries, now: () => midnight + 3 * DAY, caller: undefined };
    for (const at of [undefined, midnight - 3 * DAY, midnight - DAY, midnight, midnight + DAY, midnight + 9 * DAY]) {
      await assertBalances(deps, whole, at);
    }
    // Balances at a time within a day also read entries.
    for (const at of [midnight - DAY - 1, midnight - 1, midnight + 5, midnight + 6]) {
      await assertBalances({ ...deps, store }, whole, at);
    }
  }));

/** Compares the balances with the sums of the entries booked before `at`. One read covers a period of `sliceMs`. */
async function assertBalances(
  deps: Parameters<typeof ledgerBalances>[0],
  entries: readonly JournalEntry[],
  at: number | undefined,
  sliceMs?: number,
): Promise<void> {
  const { environments } = await ledgerBalances(deps, { environment: 'sandbox', at }, sliceMs);
  for (const { account, debits, credits } of environments[0]!.accounts) {
    const accountEntries = entries.filter((entry) => entry.account === account && entry.created < (at ?? Infinity));
    const sum = (sign: number) => accountEntries.reduce((total, { amount }) => total + Math.max(sign * amount, 0), 0);
    assert.deepEqual([debits, credits], [sum(1), sum(-1)], `${account} at ${at} by ${sliceMs}`);
  }
}
