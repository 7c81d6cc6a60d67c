// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import type { RouteOutcome } from '../../src/domain/route-outcome.ts';
import { ENVIRONMENTS } from '../../src/domain/route.ts';
import { type Tally, bucketOf } from '../../src/routing/route-memory.ts';
import { DEFAULT_POLICY } from '../../src/routing/routing-policy.ts';
import { outcomeContexts } from '../../src/store/schema/routing-schema.ts';
import type { RouteHealthRow } from '../../src/store/tables/routing-tables.ts';
import type { Store } from '../../src/store/store.ts';
import { NOW, aCustomer, aPayment, aSession, idOf } from '../fixtures/checkout-records.ts';
import { withStore, write } from '../fixtures/store-records.ts';

const ROUTE = 'sandbox_card';

/** Start of the payment with a number: every third payment starts in the same hour. */
const startOf = (number: number) => NOW - (number % 3) * 3600_000;

/** Writes a session with a payment, to which outcomes can refer. Returns the id of the payment. */
async function writePayment(store: Store, number: number): Promise<string> {
  const sessionId = idOf('chk', number);
  const ids = { id: idOf('pay', number), sessionId, invoiceId: idOf('inv', number) };
  await write(
    store,
    { type: 'session_created', session: aSession({ id: sessionId }) },
    { type: 'payment_created', payment: aPayment({ ...ids, created: startOf(number) }) },
  );
  return ids.id;
}

const anyOutcome = fc.record({
  result: fc.constantFrom('accepted' as const, 'refused' as const, 'paid' as const, 'neutral' as const),
  successes: fc.constantFrom(0, 1),
  failures: fc.constantFrom(-2, -1, 0, 1, 2),
  neutrals: fc.constantFrom(-1, 0, 1),
  probe: fc.boolean(),
  paidAfterMs: fc.option(fc.integer({ min: 1, max: 100_000_000 }), { nil: null }),
  created: fc.integer({ min: NOW, max: NOW + 60_000 }),
});

describe('stored route outcomes', () => {
  test('stored route outcomes are summed by route, time bucket and hour of start', () =>
    withStore(async (store) => {
      await write(store, { type: 'customer_created', customer: aCustomer() });
      const ids: string[] = [];
      for (let number = 1; number <= 12; number++) ids.push(await writePayment(store, number));
      const drawn = fc.sample(fc.array(anyOutcome, { minLength: 12, maxLength: 12 }), { numRuns: 1, seed: 3 })[0]!;
      const outcomes = drawn.map((one, index): RouteOutcome => ({
        ...one,
        paymentId: ids[index]!,
        stage: 'result',
        environment: 'sandbox',
        failure: null,
        contexts: index % 3 === 0 ? null : { amount: index % 2 === 0 ? '20-50' : '50-100' },
        routeId: ROUTE,
      }));
      for (const outcome of outcomes) await write(store, { type: 'outcome_recorded', outcome });
      const expected = expectedTallies(outcomes.map((each, index) => ({ ...each, started: startOf(index + 1) })));
      const [own, ofOther] = await store.outcomeTallies('sandbox', [ROUTE, 'other'], NOW, NOW + 70_000);
      const rounded = own!.map(({ logMs, logMsSquared, ...tally }) => ({
        ...tally,
        logMs: Number(logMs.toFixed(6)),
        logMsSquared: Number(logMsSquared.toFixed(6)),
      }));
      assert.deepEqual([rounded, ofOther], [expected, []]);
      assert.deepEqual(await store.outcomeTallies('production', [ROUTE], NOW, NOW + 70_000), [[]]);
      const [contexts] = await store.outcomeContexts('sandbox', [ROUTE], NOW, NOW + 70_000);
      const told = outcomes.filter((outcome) => outcome.contexts !== null && !outcome.probe);
      for (const amount of ['20-50', '50-100']) {
        const [some, all] = [contexts!, told].map((list) =>
          list
            .filter((each) => each.contexts!['amount'] === amount)
            .map(({ successes, failures }) => [successes, failures]),
        );
        for (const column of [0, 1]) {
          const [found, expectedSum] = [some!, all!].map((rows) => sum(rows.map((row) => row[column]!)));
          assert.equal(found, expectedSum, amount);
        }
      }
    }));
});

describe('stored estimates and health of routes', () => {
  test('estimates are updated only if the update begins where the previous update ended', () =>
    withStore(async (store) => {
      const first = { environment: 'sandbox' as const, algorithm: 'a/1', foldedUntil: NOW, body: '{"a":1}' };
      assert.equal(await store.routeEstimates('sandbox', 'a/1'), undefined);
      const fold = (estimates: typeof first, from: number | null) =>
        store.commit([{ type: 'estimates_folded', estimates, from }]);
      assert.deepEqual(await fold(first, null), { done: true });
      assert.equal((await fold({ ...first, body: '{}' }, null)).done, false);
      const next = { ...first, foldedUntil: NOW + 10_000, body: '{"a":2}' };
      assert.deepEqual(await fold(next, NOW), { done: true });
      assert.equal((await fold({ ...next, foldedUntil: NOW + 20_000 }, NOW)).done, false);
      assert.deepEqual(await store.routeEstimates('sandbox', 'a/1'), next);
      // Each version of the algorithm has its own estimates.
      assert.equal(await store.routeEstimates('sandbox', 'a/2'), undefined);
      assert.deepEqual(await fold({ ...first, algorithm: 'a/2' }, null), { done: true });
    }));

  test('a change of route health is written only if it has the next version', () =>
    withStore(async (store) => {
      for (const environment of ENVIRONMENTS) {
        await write(store, { type: 'route_health_changed', health: healthRow(1, environment) });
      }
      const changed = healthRow(2);
      assert.deepEqual(await store.commit([{ type: 'route_health_changed', health: changed }]), { done: true });
      for (const stale of [healthRow(1), healthRow(2), healthRow(4)]) {
        const { done } = await store.commit([{ type: 'route_health_changed', health: stale }]);
        assert.equal(done, false, `version ${stale.version}`);
      }
      assert.deepEqual(await store.routeHealth(), [healthRow(1, 'production'), changed]);
    }));
});

function expectedTallies(outcomes: readonly (RouteOutcome & { started: number })[]): Tally[] {
  const buckets = Map.groupBy(outcomes, ({ created }) => bucketOf(created, DEFAULT_POLICY));
  return [...buckets]
    .map(([bucket, list]) => {
      const [probes, others] = [true, false].map((probe) => list.filter((each) => each.probe === probe));
      const logs = list.flatMap(({ paidAfterMs }) =>
        paidAfterMs === null ? [] : [Math.round(Math.log(paidAfterMs) * 1000)],
      );
      const hours = Map.groupBy(list, ({ started }) => Math.floor(started / 3600_000));
      return {
        bucket,
        ...countsOf(others!),
        probeSuccesses: countsOf(probes!).successes,
        probeFailures: countsOf(probes!).failures,
        timed: logs.length,
        logMs: Number((sum(logs) / 1000).toFixed(6)),
        logMsSquared: Number((sum(logs.map((log) => log * log)) / 1_000_000).toFixed(6)),
        contexts: [],
        starts: [...hours]
          .map(([hour, ofHour]) => ({ hour, ...countsOf(ofHour.filter(({ probe }) => !probe)) }))
          .toSorted((one, other) => one.hour - other.hour),
      };
    })
    .toSorted((one, other) => one.bucket - other.bucket);
}

function countsOf(list: readonly RouteOutcome[]): Pick<Tally, 'successes' | 'failures' | 'neutrals'> {
  return {
    successes: sum(list.map(({ successes }) => successes)),
    failures: sum(list.map(({ failures }) => failures)),
    neutrals: sum(list.map(({ neutrals }) => neutrals)),
  };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}

function healthRow(version: number, environment: RouteHealthRow['environment'] = 'sandbox'): RouteHealthRow {
  return { environment, routeId: ROUTE, version, state: 'live', body: JSON.stringify({ version }) };
}

test('the migration to contexts turns neutral outcomes of issuers into failures, also where late money has reversed them', () => {
  using database = new DatabaseSync(':memory:');
  database.exec(
    'CREATE TABLE route_outcomes (payment_id, stage, result, successes INT, failures INT, neutrals INT, failure TEXT)',
  );
  const insert = database.prepare('INSERT INTO route_outcomes VALUES (?, ?, ?, ?, ?, ?, ?)');
  const rows: [string, string, string, number, number, number, string | null][] = [
    ['declined', 'result', 'neutral', 0, 0, 1, 'issuer/declined'],
    ['late', 'result', 'neutral', 0, -2, 1, 'issuer/declined'],
    ['late', 'late', 'paid', 1, 0, -1, null],
    ['buyer', 'result', 'neutral', 0, 0, 1, 'buyer/insufficient_funds'],
    ['buyer', 'late', 'paid', 1, 0, -1, null],
  ];
  for (const row of rows) insert.run(...row);
  database.exec(outcomeContexts);
  const select = database.prepare(
    'SELECT payment_id, stage, result, successes, failures, neutrals FROM route_outcomes',
  );
  assert.deepEqual(
    select.all().map((row) => Object.values(row)),
    [
      ['declined', 'result', 'failed', 0, 1, 0],
      ['late', 'result', 'failed', 0, -1, 0],
      ['late', 'late', 'paid', 1, -1, 0],
      ['buyer', 'result', 'neutral', 0, 0, 1],
      ['buyer', 'late', 'paid', 1, 0, -1],
    ],
  );
});
