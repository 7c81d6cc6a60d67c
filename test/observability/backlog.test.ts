import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { MIGRATIONS } from '../../src/store/schema/migrations.ts';
import type { Query, Row } from '../../src/store/keyset.ts';
import { createMonitoringReads } from '../../src/store/tables/backlog-reads.ts';

const NOW = Date.UTC(2026, 2, 1);
// Plan steps that may scan: tables of at most twenty rows per environment, and results of a bounded inner query.
const SMALL = /^SCAN (?:endpoint|webhook_endpoints|counted)\b/;

function planOf(database: DatabaseSync, { sql, params }: Query): string[] {
  const plan = database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...params);
  return plan.map(({ detail }) => String(detail));
}

/** True if a plan step uses a partial index, which a query may scan because it holds only matching rows. */
function isPartial(database: DatabaseSync, detail: string): boolean {
  const [, index] = / INDEX (\w+)$/.exec(detail) ?? [];
  const row = database.prepare('SELECT sql FROM sqlite_schema WHERE name = ?').get(index ?? '');
  return String(row?.['sql']).includes(' WHERE ');
}

test('the backlog queries neither scan a table nor sort deliveries', async () => {
  const database = new DatabaseSync(':memory:');
  for (const { sql, only } of MIGRATIONS) database.exec(sql + (only?.sqlite ?? ''));
  const executed: Query[] = [];
  const reads = createMonitoringReads((queries) => {
    executed.push(...queries);
    return Promise.resolve(queries.map(({ sql, params }) => database.prepare(sql).all(...params) as Row[]));
  });
  const backlog = await reads.backlog('sandbox', NOW);
  for (const value of Object.values(backlog)) assert.ok(value === 0 || value === null);

  assert.ok(executed.length > 5);
  const steps = executed.flatMap((query) => planOf(database, query));
  const scans = steps.filter((detail) => detail.startsWith('SCAN'));
  assert.deepEqual(
    scans.filter((detail) => !SMALL.test(detail) && !isPartial(database, detail)),
    [],
  );
  const oldestDue = planOf(
    database,
    executed.find(({ sql }) => sql.includes('earlier'))!,
  );
  const ofDeliveries = oldestDue.filter((detail) => / candidate | earlier |TEMP B-TREE/.test(detail));
  assert.deepEqual(ofDeliveries, [
    'SEARCH candidate USING INDEX deliveries_due (endpoint_id=? AND due_at<?)',
    'SEARCH earlier USING INDEX deliveries_session (session_id=? AND endpoint_id=? AND sequence<?)',
  ]);
});
