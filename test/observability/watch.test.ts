import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { EntryPosition, JournalEntry } from '../../src/domain/ledger.ts';
import { createLedgerSum } from '../../src/service/ledger-sum.ts';
import { createMetrics } from '../../src/service/count-metrics.ts';
import { createWatch } from '../../src/service/watch.ts';
import type { Store } from '../../src/store/store.ts';
import { readExposition } from './promql.ts';

const NOW = Date.UTC(2026, 2, 1);
const MINUTE_MS = 60_000;
const EMPTY = {
  deliveriesPending: 7,
  deliveriesDead: 0,
  deliveryDueSince: NOW - 90_000,
  endpointsActive: 1,
  endpointsDisabled: 0,
  sessionsPending: 0,
  refundsPending: 0,
  refundPendingSince: null,
  discrepanciesOpen: 0,
  wakesDue: 0,
  tasksPending: 0,
};
const LOG = { debug() {}, warn() {}, error() {} };
const ROUTER = { view: () => ({ ranked: [] }) };

/** A watch of a database with that backlog. */
function watchOf(backlog: Store['backlog'], keptMs = 60_000) {
  const store = { backlog, now: () => NOW };
  const deps = { store, router: ROUTER, log: LOG, now: () => NOW } as unknown as Parameters<typeof createWatch>[0];
  return createWatch(deps, createMetrics().instruments, { keptMs, patienceMs: 20 });
}

function seriesIn(text: string, name: string): string[] {
  return text.split('\n').filter((line) => line.startsWith(name) && !line.startsWith('#'));
}

describe('the metrics of the database', () => {
  test('need one query for each environment, for any number of scrapes', async () => {
    let asked = 0;
    const watch = watchOf(async () => {
      asked += 1;
      return EMPTY;
    });
    const text = await watch.read();
    await Promise.all([watch.read(), watch.read()]);
    assert.equal(asked, 2);
    assert.deepEqual(seriesIn(text, 'tillway_delivery_overdue_seconds{environment="sandbox"}'), [
      'tillway_delivery_overdue_seconds{environment="sandbox"} 90',
    ]);
    await watch.stop();
  });

  for (const [how, fail] of [
    ['refuses connections', () => Promise.reject(new Error('away'))],
    ['hangs', () => new Promise<never>(() => undefined)],
  ] as const) {
    test(`are left out of a scrape if the database ${how}`, async () => {
      const text = await watchOf(fail).read();
      assert.equal(readExposition(text).has('tillway_deliveries_pending'), false);
      assert.deepEqual(seriesIn(text, 'tillway_database_up'), ['tillway_database_up 0']);
      assert.deepEqual(seriesIn(text, 'tillway_session_wakes_due'), ['tillway_session_wakes_due Nan']);
    });
  }

  test('disappear when the database becomes unavailable, and return with it', async () => {
    let isAway = false;
    const watch = watchOf(async () => {
      if (isAway) throw new Error('away');
      return EMPTY;
    }, 0);
    for (isAway of [false, true, false]) {
      assert.equal(readExposition(await watch.read()).has('tillway_deliveries_pending'), !isAway);
    }
  });
});

type Entry = Pick<JournalEntry, 'account' | 'kind' | 'amount' | 'created' | 'postingId' | 'line'>;

/** A store that sums a list of journal entries in order of time, and counts the entries that it reads in parts. */
function journalOf(entries: Entry[]) {
  const reads = { read: 0, now: NOW };
  const sum = (some: Entry[]) => ({
    debits: some.reduce((all, { amount }) => all + Math.max(0, amount), 0),
    credits: some.reduce((all, { amount }) => all + Math.max(0, -amount), 0),
  });
  const placeOf = ({ created, postingId, line }: EntryPosition) => `${created} ${postingId} ${line}`;
  const store: Pick<Store, 'now' | 'partitionSum' | 'recentSums' | 'partitionsInUse'> = {
    now: () => reads.now,
    async partitionSum({ account, kind }, { after, until, limit }) {
      const found = entries.filter(
        (entry) =>
          entry.account === account &&
          entry.kind === kind &&
          entry.created <= until &&
          (after === undefined || placeOf(entry) > placeOf(after)),
      );
      const part = found.slice(0, limit);
      reads.read += part.length;
      return { account, ...sum(part), last: found.length > limit ? part.at(-1) : undefined };
    },
    async partitionsInUse(environment) {
      return entries.map(({ account, kind }) => ({ environment, account, kind }));
    },
    async recentSums(partitions, after, until) {
      const isWanted = ({ account, kind, created }: Entry) =>
        created > after && created <= until && partitions.some((one) => one.account === account && one.kind === kind);
      return [{ account: 'provider_clearing', ...sum(entries.filter(isWanted)) }];
    },
  };
  return { sum: createLedgerSum(store as Store, 'sandbox', 10), reads };
}

describe('the sum of the ledger', () => {
  const posting = (number: number, created: number, amount = 100) =>
    (['provider_clearing', 'merchant_payable'] as const).map((account, line) => ({
      account,
      kind: 'paid' as const,
      amount: line === 0 ? amount : -100,
      created,
      postingId: `pay_${String(number).padStart(4, '0')}:paid`,
      line,
    }));
  const signal = new AbortController().signal;

  test('is 0 if every posting sums to 0, and reads each entry once, in parts', async () => {
    const entries = Array.from({ length: 25 }, (_, index) => posting(index, NOW - 10 * MINUTE_MS)).flat();
    const { sum, reads } = journalOf(entries);
    assert.equal(await sum.refresh(signal), 0);
    assert.equal(reads.read, entries.length);
    entries.push(...posting(30, NOW - 1000));
    assert.equal(await sum.refresh(signal), 0);
    reads.now += 5 * MINUTE_MS;
    assert.equal(await sum.refresh(signal), 0);
    assert.equal(reads.read, entries.length);
  });

  for (const [where, created] of [
    ['long ago', NOW - 10 * MINUTE_MS],
    ['just now', NOW - 1000],
  ] as const) {
    test(`is the imbalance of an entry booked ${where}`, async () => {
      const { sum, reads } = journalOf([...posting(1, NOW - 20 * MINUTE_MS), ...posting(2, created, 101)]);
      assert.equal(await sum.refresh(signal), 1);
      reads.now += 10 * MINUTE_MS;
      assert.equal(await sum.refresh(signal), 1);
    });
  }

  test('is computed again once an hour, so that it shows an altered old entry until its correction', async () => {
    const entries = posting(1, NOW - 10 * MINUTE_MS);
    const { sum, reads } = journalOf(entries);
    assert.equal(await sum.refresh(signal), 0);
    entries[0]!.amount += 700;
    reads.now += 60 * MINUTE_MS - 1;
    assert.equal(await sum.refresh(signal), 0);
    assert.equal(reads.read, 2);
    reads.now += 1;
    assert.equal(await sum.refresh(signal), 700);
    entries[0]!.amount -= 700;
    reads.now += 60 * MINUTE_MS;
    assert.equal(await sum.refresh(signal), 0);
  });

  test('includes entries of unknown accounts and kinds, old and new', async () => {
    const entries = posting(1, NOW - 10 * MINUTE_MS);
    const { sum, reads } = journalOf(entries);
    assert.equal(await sum.refresh(signal), 0);
    const [debit, credit] = posting(2, NOW);
    entries.push({ ...debit!, kind: 'gift' as 'paid' }, { ...credit!, account: 'till' as 'merchant_payable' });
    for (const wait of [0, 5, 60]) {
      reads.now += wait * MINUTE_MS;
      assert.equal(await sum.refresh(signal), 0);
    }
    entries.push({ ...debit!, kind: 'gift' as 'paid', line: 2, amount: 9 });
    assert.equal(await journalOf(entries).sum.refresh(signal), 9);
    reads.now += 60 * MINUTE_MS;
    assert.equal(await sum.refresh(signal), 9);
  });

  test('is undefined if its signal is aborted', async () => {
    assert.equal(await journalOf([]).sum.refresh(AbortSignal.abort()), undefined);
  });
});
