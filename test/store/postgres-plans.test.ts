// @run on=postgres
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Client } from 'pg';
import type { Row, Select, SelectEach } from '../../src/store/keyset.ts';
import { forPostgres } from '../../src/store/postgres-sql.ts';
import { type Reads, createReads } from '../../src/store/store-reads.ts';
import { STORE_READS } from '../fixtures/store-reads.ts';
import { withPostgres } from './postgres-stage.ts';

/** Node of a plan: https://www.postgresql.org/docs/18/sql-explain.html */
interface PlanNode {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  'Index Cond'?: string;
  Filter?: string;
  Plans?: PlanNode[];
}

/** Tables whose number of rows does not grow with the sales. */
const SMALL = ['search_cursors', 'sales_cursors', 'test_clocks'];

/** Parts of a plan whose cost grows with a table: reading all its rows, or all entries of an index. */
function planFaults(node: PlanNode, isLimited = false): string[] {
  const { 'Node Type': type, 'Relation Name': table = '', 'Index Name': index = '', Plans: parts = [] } = node;
  const limited = isLimited || type === 'Limit';
  const own: string[] = [];
  if (type === 'Seq Scan' && !SMALL.includes(table)) own.push(`reads all rows of ${table}`);
  // A page without a condition reads as many entries as it returns.
  const isWalk = type.endsWith(' Scan') && index !== '' && node['Index Cond'] === undefined;
  if (isWalk && !(limited && node.Filter === undefined)) own.push(`reads all entries of ${index}`);
  return [...own, ...parts.flatMap((part) => planFaults(part, limited && type !== 'Sort'))];
}

async function faultsOf(client: Client, read: (reads: Reads) => Promise<unknown>): Promise<string[]> {
  const faults: string[] = [];
  const select: Select = async (sql, ...params) => {
    const { rows } = await client.query<Row>(forPostgres(sql), params);
    const explained = await client.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
      `EXPLAIN (FORMAT JSON) ${forPostgres(sql)}`,
      params,
    );
    faults.push(...planFaults(explained.rows[0]!['QUERY PLAN'][0].Plan).map((fault) => `${fault}: ${sql}`));
    return rows;
  };
  const selectEach: SelectEach = async (queries) => {
    const found: Row[][] = [];
    for (const { sql, params } of queries) found.push(await select(sql, ...params));
    return found;
  };
  await read(createReads(select, selectEach, select));
  return faults;
}

describe('the cost of a read on PostgreSQL', () => {
  test('does not grow with its table: every statement searches an index', () =>
    withPostgres(async ({ client }) => {
      // Tables with few rows are scanned unless that is forbidden, so this shows whether an index serves the statement.
      await client.query('SET enable_seqscan = off');
      const faults: string[] = [];
      for (const [name, read] of STORE_READS) {
        for (const fault of await faultsOf(client, read)) faults.push(`${name} ${fault}`);
      }
      assert.deepEqual(faults, []);
    }));

  test('is not passed with a scan', () =>
    withPostgres(async ({ client }) => {
      await client.query('SET enable_seqscan = off');
      const injected = async (reads: Reads) => reads.listPayments({ environment: 'sandbox' }, { limit: 1 });
      await client.query('DROP INDEX payments_status');
      assert.match((await faultsOf(client, injected)).join(), /reads all entries of payments_/);
    }));
});
