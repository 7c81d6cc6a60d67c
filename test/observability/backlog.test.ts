import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { describe, test } from 'node:test';
import { MIGRATIONS } from '../../src/store/migrations/migrations.ts';
import type { Query, Row } from '../../src/store/keyset.ts';
import { createMonitoringReads } from '../../src/store/tables/backlog-reads.ts';

const NOW = Date.UTC(2026, 2, 1);
// Tables of at most twenty rows for each environment, and results of a bounded inner query.
const SMALL = /^SCAN (?:endpoint|webhook_endpoints|counted)\b/;

/** All queries of a read of the backlog, and its result on an empty database. */
async function looked(): Promise<{ database: DatabaseSync; asked: Query[]; backlog: object }> {
  const database = new DatabaseSync(':memory:');
  for (const { sql } of MIGRATIONS) database.exec(sql);
  const asked: Query[] = [];
  const reads = createMonitoringReads((queries) => {
    asked.push(...queries);
    return Promise.resolve(queries.map(({ sql, params }) => database.prepare(sql).all(...params) as Row[]));
  });
  return { database, asked, backlog: await reads.backlog('sandbox', NOW) };
}

function tableScans(database: DatabaseSync, { sql, params }: Query): string[] {
  const plan = database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...params);
  return plan
    .map(({ detail }) => String(detail))
    .filter((detail) => detail.startsWith('SCAN') && !SMALL.test(detail) && !isPartial(database, detail));
}

/** A query may scan a partial index, which holds only wanted rows. */
function isPartial(database: DatabaseSync, detail: string): boolean {
  const [, index] = / INDEX (\w+)$/.exec(detail) ?? [];
  const row = database.prepare('SELECT sql FROM sqlite_schema WHERE name = ?').get(index ?? '');
  return String(row?.['sql']).includes(' WHERE ');
}

describe('a read of the backlog', () => {
  test('scans no table', async () => {
    const { database, asked } = await looked();
    assert.ok(asked.length > 5);
    assert.deepEqual(
      asked.flatMap((query) => tableScans(database, query)),
      [],
    );
  });

  test('scans tables without its indexes, which this test would find', async () => {
    const { database, asked } = await looked();
    for (const index of ['deliveries_type', 'sessions_status', 'refunds_status', 'deliveries_due']) {
      database.exec(`DROP INDEX ${index}`);
    }
    const faults = asked.flatMap((query) => tableScans(database, query));
    assert.ok(faults.length >= 3, faults.join('; '));
  });

  test('finds due deliveries and their predecessors through indexes, without a sort', async () => {
    const { database, asked } = await looked();
    const { sql, params } = asked.find((query) => query.sql.includes('earlier'))!;
    const plan = () =>
      database
        .prepare(`EXPLAIN QUERY PLAN ${sql}`)
        .all(...params)
        .map(({ detail }) => String(detail))
        .filter((detail) => / candidate | earlier |TEMP B-TREE/.test(detail));
    assert.deepEqual(plan(), [
      'SEARCH candidate USING INDEX deliveries_due (endpoint_id=? AND due_at<?)',
      'SEARCH earlier USING INDEX deliveries_session (session_id=? AND endpoint_id=? AND sequence<?)',
    ]);
    database.exec('DROP INDEX deliveries_due');
    assert.ok(plan().some((detail) => detail.includes('TEMP B-TREE')));
  });

  test('of an empty database has no counts and no times', async () => {
    const { backlog } = await looked();
    for (const value of Object.values(backlog)) assert.ok(value === 0 || value === null);
  });
});
