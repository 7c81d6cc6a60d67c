import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { after, describe, test } from 'node:test';
import { NOW, idOf } from '../fixtures/checkout-records.ts';
import { STORE_READS } from '../fixtures/store-reads.ts';
import { IS_UNIT_RUN } from '../support/for-all.ts';
import { MIGRATIONS } from '../../src/store/schema/migrations.ts';
import { type Reads, createReads } from '../../src/store/store-reads.ts';
import type { Row, Select, SelectEach, SqlValue } from '../../src/store/keyset.ts';
import type { Page } from '../../src/store/list-page.ts';

interface Statement {
  sql: string;
  params: SqlValue[];
  /** True for a scan of a bounded number of rows, which reads rows only to discard them. */
  isLong: boolean;
}

/** A database with one customer and one endpoint, because some lists return early if these do not exist. */
function openDatabase(): DatabaseSync {
  const database = new DatabaseSync(':memory:', { enableForeignKeyConstraints: false });
  for (const { sql, only } of MIGRATIONS) database.exec(sql + (only?.sqlite ?? ''));
  database
    .prepare(
      "INSERT INTO customers (id, environment, email, email_key, status, created) VALUES (?, 'sandbox', 'a@example.com', 'a@example.com', 'active', ?)",
    )
    .run(idOf('cus', 1), NOW);
  database
    .prepare(
      "INSERT INTO webhook_endpoints (id, environment, url, status, created) VALUES (?, 'sandbox', 'http://x', 'active', ?)",
    )
    .run(idOf('whe', 1), NOW);
  database.exec(`INSERT INTO invoices VALUES ('${idOf('inv', 1)}', '${idOf('pay', 1)}', '', '', '', 1, '', '{}', 1)`);
  database.exec(`INSERT INTO route_outcomes (payment_id, stage, environment, route_id, result, successes, failures, neutrals, probe, created)
    VALUES ('${idOf('pay', 1)}', 'result', 'sandbox', 'sandbox_card', 'paid', 1, 0, 0, 0, 1)`);
  return database;
}

async function statementsOf(database: DatabaseSync, read: (reads: Reads) => Promise<unknown>): Promise<Statement[]> {
  const statements: Statement[] = [];
  const selectAs =
    (isLong: boolean): Select =>
    async (sql, ...params) => {
      statements.push({ sql, params, isLong });
      return database.prepare(sql).all(...params) as Row[];
    };
  const select = selectAs(false);
  const selectEach: SelectEach = (queries) => Promise.all(queries.map(({ sql, params }) => select(sql, ...params)));
  await read(createReads(select, selectEach, selectAs(true)));
  return statements;
}

/**
 * Steps of a plan whose cost grows with the table: reading it whole, filtering a range by a column outside of the index, or
 * sorting an unbounded result. https://www.sqlite.org/eqp.html
 */
function planFaults(database: DatabaseSync, { sql, params, isLong }: Statement): string[] {
  const plan = database
    .prepare(`EXPLAIN QUERY PLAN ${sql}`)
    .all(...params)
    .map((row) => ({ id: Number(row['id']), parent: Number(row['parent']), detail: String(row['detail']) }));
  const filtered = sql.includes(' WHERE ');
  return plan.flatMap(({ parent, detail }) => {
    const scan = /^SCAN (\w+)/.exec(detail);
    // `part`, `page`, `queues`, `named`, `routes` and `counted` are subqueries that return a bounded number of rows; `search_cursors` has three rows.
    // `CONSTANT` is a SELECT without a table.
    // Every entry of this partial index matches the condition, and the statement reads one entry.
    if (detail.endsWith(' INDEX events_unplaced') && sql.endsWith(' LIMIT 1')) return [];
    // A scan without a filter walks the ids from the cursor on; test/store/payment-lists.test.ts counts its rows.
    if (isLong && / USING (?:COVERING )?INDEX sqlite_autoindex_\w+_1$/.test(detail)) return [];
    if (
      scan &&
      !['part', 'page', 'queues', 'named', 'routes', 'counted', 'search_cursors', 'CONSTANT'].includes(scan[1]!)
    ) {
      if (!filtered && / USING INDEX sqlite_autoindex_\w+_1$/.test(detail)) return [];
      return [detail];
    }
    if (detail.startsWith('USE TEMP B-TREE')) {
      const siblings = plan.filter((other) => other.parent === parent).map((other) => other.detail);
      return siblings.some((other) => isBounded(other)) || / LIMIT \d+\) AS counted\b/.test(sql) ? [] : [detail];
    }
    if (!detail.startsWith('SEARCH ') || detail === 'SEARCH queues') return [];
    if (!detail.includes(' USING ')) return [detail];
    // A minimum without a condition is the first entry of an index, provided the index begins with the time column.
    if (!detail.includes('(') && !beginsWithTime(database, detail)) return [detail];
    // The lookup of earlier deliveries runs for every due row, so it must be a search by session and endpoint.
    if (detail.startsWith('SEARCH earlier ') && !detail.includes('(session_id=? AND endpoint_id=?')) return [detail];
    return isLong ? [] : unindexed(database, sql, detail);
  });
}

/** True if a sort is bounded: it merges limited branches, or orders the few records of one session, payment or address. */
function isBounded(detail: string): boolean {
  return (
    detail === 'SCAN part' ||
    detail === 'SCAN page' ||
    detail === 'SCAN named' ||
    /\((session_id|payment_id|environment=\? AND email_key)=\?\)$/.test(detail) ||
    // The first statement sorts only rows of the same millisecond; the others sum the outcomes of a short period.
    detail.startsWith('SEARCH simulated_callbacks USING INDEX simulated_callbacks_due') ||
    detail.endsWith('(environment=? AND route_id=? AND created>?)') ||
    detail.endsWith('(environment=? AND route_id=? AND created>? AND created<?)') ||
    // The sums of a range of time, whose number does not depend on the number of sales.
    / sqlite_autoindex_sales_\w+_1 \(environment=\? AND time>\? AND time<\?\)$/.test(detail)
  );
}

function beginsWithTime(database: DatabaseSync, detail: string): boolean {
  const [, index] = / INDEX (\w+)$/.exec(detail) ?? [];
  const first = database.prepare('SELECT name FROM pragma_index_info(?) WHERE seqno = 0').get(index ?? '');
  return first?.['name'] === 'due_at' || first?.['name'] === 'wake_at';
}

/** Columns in the filter of a keyset page that the index lacks: the statement would read rows only to discard them. */
function unindexed(database: DatabaseSync, sql: string, detail: string): string[] {
  if (!sql.endsWith(' LIMIT ?1')) return [];
  const where = / WHERE (.*?) ORDER BY /.exec(sql)?.[1] ?? '';
  const [, index = ''] = / INDEX (\w+)/.exec(detail) ?? [];
  const indexSql = database.prepare('SELECT sql FROM sqlite_schema WHERE name = ?').get(index)?.['sql'];
  // A partial index already applies its own condition.
  const statementsOf = where.split(' AND ').filter((condition) => !String(indexSql).endsWith(`WHERE ${condition}`));
  // A row value names all its columns: (created, sequence, id) < (?2, ?3, ?4).
  const columns = statementsOf.flatMap((condition) =>
    condition
      .split(/ (?:[<=>]|>=) /)[0]!
      .replaceAll(/[()]/g, '')
      .split(', '),
  );
  const missing = columns.filter(
    (column) =>
      column !== '' &&
      // An id contains its creation time, so a range of ids excludes nearly all rows of other times.
      !(column === 'created' && /\bid[<>]\?/.test(detail)) &&
      !new RegExp(`\\b${column}(?:[=<>]|(?:,\\w+)*\\)[<>])`).test(detail),
  );
  return missing.map((column) => `${detail} filters by ${column}`);
}

const FILTERS = {
  listCustomers: { customerId: idOf('cus', 1), email: 'A@example.com', status: 'active', environment: 'sandbox' },
  listSessions: { customer: idOf('cus', 1), status: 'paid', clientReferenceId: 'A-1', environment: 'sandbox' },
  listPayments: {
    customerId: idOf('cus', 1),
    invoiceId: idOf('inv', 1),
    paymentId: idOf('pay', 1),
    sessionId: idOf('chk', 1),
    status: 'paid',
    environment: 'sandbox',
    from: NOW,
    route: 'sandbox_card',
    wrongAmount: 1,
  },
  listInvoices: {
    customerId: idOf('cus', 1),
    invoiceId: idOf('inv', 1),
    paymentId: idOf('pay', 1),
    status: 'paid',
    environment: 'sandbox',
  },
  listEvents: { sessionId: idOf('chk', 1), type: 'payment.paid', environment: 'sandbox' },
  listDeliveries: {
    sessionId: idOf('chk', 1),
    eventId: 'evt_1',
    endpointId: idOf('whe', 1),
    type: 'payment.paid',
    status: 'dead',
    statusClass: '5xx',
    createdFrom: NOW,
    createdUntil: NOW + 1,
    environment: 'sandbox',
  },
  listAudit: {
    actorId: idOf('key', 1),
    action: 'createRefund',
    subjectId: idOf('ref', 1),
    sessionId: idOf('chk', 1),
    kind: 'read',
    environment: 'sandbox',
  },
  listTransitions: { routeId: 'sandbox_card', environment: 'sandbox' },
  listExperiments: { environment: 'sandbox' },
} as const;
type ListName = keyof typeof FILTERS;
const LISTS = Object.keys(FILTERS) as ListName[];

function pagesOf(list: ListName): Page[] {
  const cursor = list === 'listEvents' ? `evt_${idOf('chk', 5)}_paid` : idOf('pay', 5);
  return [{ limit: 20 }, { limit: 20, startingAfter: cursor }, { limit: 20, endingBefore: cursor }];
}

/** Every combination of filters, including none. The unit run omits combinations of more than three filters. */
function filterSets(list: ListName): Record<string, string | number>[] {
  const sets = Object.entries<string | number>(FILTERS[list]).reduce<[string, string | number][][]>(
    (all, entry) => [...all, ...all.map((set) => [...set, entry])],
    [[]],
  );
  const byId = sets.filter(({ length }) => !IS_UNIT_RUN || length <= 3).map((set) => Object.fromEntries(set));
  const byAddress = byId.filter(({ customer }) => customer !== undefined);
  return [...byId, ...byAddress.map((set) => ({ ...set, customer: 'a@example.com' }))];
}

async function* faultsOf(database: DatabaseSync, list: ListName): AsyncGenerator<[name: string, faults: string[]]> {
  for (const filter of filterSets(list)) {
    for (const page of pagesOf(list)) {
      for (const statement of await statementsOf(database, (reads) => reads[list](filter, page))) {
        const faults = planFaults(database, statement);
        if (faults.length > 0) yield [`${list} by ${Object.keys(filter).join(', ') || 'nothing'}`, faults];
      }
    }
  }
}

describe('the cost of a read does not grow with its table', () => {
  const database = openDatabase();
  after(() => database.close());

  for (const list of LISTS) {
    test(`${list} reads only index ranges for every set of filters`, async () => {
      for await (const fault of faultsOf(database, list)) assert.fail(JSON.stringify(fault));
    });
  }

  for (const [name, read] of STORE_READS) {
    test(`${name} uses an index search`, async () => {
      const statements = await statementsOf(database, read);
      assert.ok(statements.length > 0);
      for (const statement of statements) assert.deepEqual(planFaults(database, statement), [], statement.sql);
    });
  }
});
