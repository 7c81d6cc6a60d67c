import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createMetrics } from '../../src/service/count-metrics.ts';
import { createWatch } from '../../src/service/watch.ts';
import type { Store } from '../../src/store/store.ts';
import { until } from '../support/until.ts';
import { readExposition } from './promql.ts';

const NOW = Date.UTC(2026, 2, 1);
const BACKLOG = {
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
const READINESS = { list: () => [] };

/** A metrics reader whose store answers the backlog query with `backlog`. The reader caches the result for `keptMs`. */
function watchOf(
  backlog: Store['backlog'],
  keptMs = 60_000,
  { daySums, log = LOG }: { daySums?: Store['daySums']; log?: typeof LOG } = {},
) {
  const store = { backlog, daySums, now: () => NOW };
  const deps = { store, router: ROUTER, readiness: READINESS, log, now: () => NOW } as unknown as Parameters<
    typeof createWatch
  >[0];
  return createWatch(deps, createMetrics().instruments, keptMs);
}

function seriesIn(text: string, name: string): string[] {
  return text.split('\n').filter((line) => line.startsWith(name) && !line.startsWith('#'));
}

describe('the metrics of the database', () => {
  test('the metrics of the database need one query per environment and minute, independent of the number of scrapes', async () => {
    let queryCount = 0;
    const watch = watchOf(async () => {
      queryCount += 1;
      return BACKLOG;
    });
    const text = await watch.read();
    await Promise.all([watch.read(), watch.read()]);
    assert.equal(queryCount, 2);
    assert.deepEqual(seriesIn(text, 'tillway_delivery_overdue_seconds{environment="sandbox"}'), [
      'tillway_delivery_overdue_seconds{environment="sandbox"} 90',
    ]);
    await watch.stop();
  });

  test('the metrics of the database are missing from a scrape if the database rejects the query', async () => {
    const text = await watchOf(() => Promise.reject(new Error('unavailable'))).read();
    assert.equal(readExposition(text).has('tillway_deliveries_pending'), false);
    assert.deepEqual(seriesIn(text, 'tillway_database_up'), ['tillway_database_up 0']);
    assert.deepEqual(seriesIn(text, 'tillway_session_wakes_due'), ['tillway_session_wakes_due Nan']);
  });
});

describe('the sum of the ledger', () => {
  test('the sum of the ledger is the difference of debits and credits, and a sum other than 0 is logged as an error', async () => {
    const errors: unknown[] = [];
    const log = { ...LOG, error: (...given: unknown[]) => void errors.push(given[0]) };
    const daySums: Store['daySums'] = async (environment) => [
      { account: 'provider_clearing', debits: environment === 'sandbox' ? 500 : 507, credits: 100 },
      { account: 'merchant_payable', debits: 0, credits: 400 },
    ];
    const watch = watchOf(() => Promise.resolve(BACKLOG), 60_000, { daySums, log });
    watch.start();
    await until(() => errors.length > 0);
    assert.deepEqual(errors, [{ environment: 'production', cents: 7 }]);
    const text = await watch.read();
    assert.deepEqual(seriesIn(text, 'tillway_ledger_imbalance_cents').toSorted(), [
      'tillway_ledger_imbalance_cents{environment="production"} 7',
      'tillway_ledger_imbalance_cents{environment="sandbox"} 0',
    ]);
    assert.equal(seriesIn(text, 'tillway_ledger_checked_timestamp_seconds').length, 2);
    await watch.stop();
  });

  test('the sum of the ledger has no check timestamp while the database is unavailable', async () => {
    let warnings = 0;
    const log = { ...LOG, warn: () => void warnings++ };
    const watch = watchOf(() => Promise.resolve(BACKLOG), 60_000, {
      daySums: () => Promise.reject(new Error('unavailable')),
      log,
    });
    watch.start();
    await until(() => warnings === 2);
    assert.deepEqual(seriesIn(await watch.read(), 'tillway_ledger_checked_timestamp_seconds'), []);
    await watch.stop();
  });
});
