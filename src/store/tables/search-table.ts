import { firstIdAt } from '../../domain/id.ts';
import type { Cents } from '../../domain/money.ts';
import type { Instant, Metadata } from '../../domain/records.ts';
import { ENVIRONMENTS, type Environment } from '../../domain/route.ts';
import { type SearchTerm, type SearchedRow, termOf } from '../../domain/search-term.ts';
import type { Query, Select, SelectEach } from '../keyset.ts';
import { describeTable, integer, json, named, text } from '../table-description.ts';
import { KEY_SHARE, statement } from '../write-statement.ts';

/** Sources of terms: the prefix of their ids, and their columns as the row of a {@link SearchedRow}. */
const SOURCES = {
  sessions: ['chk', 'id AS record, environment, customer_id, amount, metadata'],
  payments: [
    'pay',
    `session_id AS record, environment, customer_id,
      CASE WHEN buyer_fee = 0 THEN NULL ELSE amount + buyer_fee END AS amount, '{}' AS metadata`,
  ],
} as const;
type Source = keyof typeof SOURCES;
const SOURCE_NAMES = Object.keys(SOURCES) as Source[];

const SEARCHED = describeTable<SearchedRow>('records', {
  id: named('record', text),
  environment: text,
  customerId: text,
  amount: integer,
  metadata: json<Metadata>(),
});

/** Last id of a source whose terms are stored. */
const positionOf = (source: Source) => `COALESCE((SELECT position FROM search_cursors WHERE source = '${source}'), '')`;

/** Maximum number of rows without terms that a search examines, newest first. */
const UNINDEXED_ROWS = 5000;
const ANY_UNINDEXED = `SELECT 1 AS found WHERE ${SOURCE_NAMES.map(
  (source) => `EXISTS (SELECT 1 FROM ${source} WHERE id > ${positionOf(source)})`,
).join(' OR ')}`;

/** SQL of the ids of matching rows without terms; the parameters are the environment, the limit and those of `where`. */
function unindexed(source: Source, id: string, where: string): string {
  return `SELECT ${id} AS id FROM (
      SELECT * FROM ${source} WHERE id > ${positionOf(source)} ORDER BY id DESC LIMIT ${UNINDEXED_ROWS}) AS part
    WHERE environment = ?1 AND (${where}) ORDER BY part.id DESC LIMIT ?2`;
}

const UNINDEXED_AMOUNTS = `SELECT * FROM (${unindexed('sessions', 'id', 'amount = ?3')}) AS part
  UNION ALL SELECT * FROM (${unindexed('payments', 'session_id', 'amount + buyer_fee = ?3')}) AS part`;
const SELECT_TERM = `SELECT id FROM search_terms WHERE environment = ?1 AND field = ?3 AND term = ?4
  ORDER BY id DESC LIMIT ?2`;
/** Indexed texts of a checkout, which are compared exactly. */
const SELECT_BY_TEXT = [
  'SELECT id FROM sessions WHERE environment = ?1 AND idempotency_key = ?3 LIMIT ?2',
  'SELECT session_id AS id FROM refunds WHERE environment = ?1 AND idempotency_key = ?3 LIMIT ?2',
  ...['provider_reference', 'charge_reference'].map(
    (column) => `SELECT session_id AS id FROM payments WHERE ${column} = ?3 AND environment = ?1 LIMIT ?2`,
  ),
];

const SELECT_CURSORS = 'SELECT source, position FROM search_cursors';
const MOVE_CURSOR = `INSERT INTO search_cursors (source, position) VALUES (?1, ?2)
  ON CONFLICT (source) DO UPDATE SET position = excluded.position WHERE search_cursors.position = ?3`;
// If an erasure of the customer is in progress, the statement waits for it and then inserts nothing. An erasure deletes the
// terms of a session after the customer is marked as erased, so no term can follow it.
const ADD_TERM = `INSERT INTO search_terms (environment, field, term, id)
  SELECT ?1, ?2, ?3, ?4 WHERE EXISTS (SELECT 1 FROM customers WHERE id = ?5 AND status <> 'erased' ${KEY_SHARE})
  ON CONFLICT DO NOTHING`;
// The posting of a payment has a line in at least one of two accounts.
const BOOKED = ENVIRONMENTS.flatMap((environment) =>
  ['provider_clearing', 'provider_cost'].map(
    (account) => `SELECT payment_id FROM ledger_entries
      WHERE environment = '${environment}' AND account = '${account}' AND kind = 'paid' AND created >= ?1 AND created < ?2`,
  ),
);
const ADD_TRANSACTIONS = `INSERT INTO search_terms (environment, field, term, id)
  SELECT environment, 'transaction', tx_hash, session_id FROM payments
  WHERE tx_hash IS NOT NULL AND id IN (${BOOKED.join(' UNION ')}) ON CONFLICT DO NOTHING`;
/** Adds the transactions of the payments that were booked as paid between two times. */
export const addTransactions = (from: Instant, until: Instant) => statement(ADD_TRANSACTIONS, [from, until]);
/** Deletes the terms of a session. Transactions stay, because they are no personal data. */
export const DELETE_TERMS = "DELETE FROM search_terms WHERE id = ?1 AND field <> 'transaction'";

/** Rows of a source after its cursor, oldest first. */
interface UnindexedRows {
  source: Source;
  /** Id of the last row before these rows; empty if there is none. */
  after: string;
  /** Id of the last of these rows. */
  last: string;
  rows: SearchedRow[];
}

export const searchWrites = {
  /** Adds the terms of rows and moves the cursor of their source. Guard: the cursor is unchanged. */
  terms_added: ({ from: { source, after, last }, terms }: { from: UnindexedRows; terms: readonly SearchTerm[] }) => [
    statement(MOVE_CURSOR, [source, last, after], 'overtaken'),
    ...terms.map(({ environment, field, term, id, customerId }) =>
      statement(ADD_TERM, [environment, field, term, id, customerId]),
    ),
  ],
};

export function createSearchReads(selectEach: SelectEach, longSelect: Select) {
  /** The newest ids of several queries, and of a scan of the rows without terms. */
  async function newest(limit: number, scan: Query, queries: readonly Query[]): Promise<string[]> {
    // Scans first: a row that gets its terms in the meantime is then found by one of them.
    const [rest] = await selectEach([{ sql: ANY_UNINDEXED, params: [] }]);
    const scanned = rest!.length > 0 ? await longSelect(scan.sql, ...scan.params) : [];
    const rows = [...scanned, ...(await selectEach(queries)).flat()];
    return [...new Set(rows.map((row) => row['id'] as string))].toSorted().toReversed().slice(0, limit);
  }

  return {
    /** Ids of the newest sessions whose amount or total is `cents`. */
    async sessionsOfAmount(environment: Environment, cents: Cents, limit: number): Promise<string[]> {
      const term = { sql: SELECT_TERM, params: [environment, limit, 'amount', String(cents)] };
      return newest(limit, { sql: UNINDEXED_AMOUNTS, params: [environment, limit, cents] }, [term]);
    },
    /** Ids of the newest sessions with a text as metadata under one of `keys`, as reference, transaction or idempotency key. */
    async sessionsOfText(environment: Environment, text: string, keys: readonly string[], limit: number) {
      const place = [environment, limit];
      const pairs = keys.map((key) => likeOf(JSON.stringify({ [key]: text }).slice(1, -1)));
      const where = pairs.map((_, index) => `LOWER(metadata) LIKE ?${index + 3} ESCAPE '!'`).join(' OR ');
      const scan = { sql: unindexed('sessions', 'id', where), params: [...place, ...pairs] };
      const queries = SELECT_BY_TEXT.map((sql) => ({ sql, params: [...place, text] }));
      const terms = { metadata: termOf(text), transaction: text };
      for (const term of Object.entries(terms)) queries.push({ sql: SELECT_TERM, params: [...place, ...term] });
      return newest(limit, scan, queries);
    },
    /** Rows of each source that are older than `before` and have no terms yet, at most `limit` of each source. */
    async unindexedRows(before: Instant, limit: number): Promise<UnindexedRows[]> {
      const ends = SOURCE_NAMES.map((source) => firstIdAt(SOURCES[source][0], before));
      const queries = SOURCE_NAMES.map((source, index) => {
        const sql = `SELECT id, ${SOURCES[source][1]} FROM ${source}
          WHERE id > ${positionOf(source)} AND id < ?1 ORDER BY id LIMIT ?2`;
        return { sql, params: [ends[index]!, limit] };
      });
      const [cursors = [], ...found] = await selectEach([{ sql: SELECT_CURSORS, params: [] }, ...queries]);
      return SOURCE_NAMES.flatMap((source, index) => {
        const after = (cursors.find((row) => row['source'] === source)?.['position'] ?? '') as string;
        const [rows, end] = [found[index]!, ends[index]!];
        // The clock was set back: new ids can be below the cursor. Adding the terms of a row again changes nothing.
        if (after > end) return [{ source, after, last: end, rows: [] }];
        const last = rows.at(-1)?.['id'] as string | undefined;
        return last === undefined ? [] : [{ source, after, last, rows: rows.map(SEARCHED.fromRow) }];
      });
    },
  };
}

/** Pattern of LIKE for a text that contains `text`, with ASCII letters in lower case. */
function likeOf(text: string): string {
  return `%${termOf(text).replaceAll(/[!%_]/g, '!$&')}%`;
}
