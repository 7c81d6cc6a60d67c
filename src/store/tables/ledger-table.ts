import type { Account, EntryPosition, JournalEntry, Posting } from '../../domain/ledger.ts';
import { ENVIRONMENTS, type Environment } from '../../domain/route.ts';
import type { Settlement } from '../../domain/settlement.ts';
import type { Query, Row, Select, SelectEach, SqlValue } from '../keyset.ts';
import {
  type AccountSum,
  type JournalFilter,
  type LedgerReads,
  type JournalRange,
  partitionsOf,
} from '../ledger-port.ts';
import { createReader } from '../row-reader.ts';
import { describeTable, integer, text } from '../table-description.ts';
import type { Write } from '../write-statement.ts';

const ENTRIES = describeTable<JournalEntry>('ledger_entries', {
  postingId: text,
  line: integer,
  paymentId: text,
  sessionId: text,
  refundId: text,
  environment: text,
  kind: text,
  account: text,
  amount: integer,
  created: integer,
});
const PLACES = describeTable<EntryPosition>('ledger_entries', { created: integer, postingId: text, line: integer });
const insertEntry = ENTRIES.insert();
const SETTLEMENTS = describeTable<Settlement>('settlements', {
  paymentId: text,
  sessionId: text,
  environment: text,
  amount: integer,
  source: text,
  reference: text,
  settledAt: integer,
  created: integer,
});
export const insertSettlement = SETTLEMENTS.insert({
  onConflict: 'ON CONFLICT (payment_id) DO NOTHING',
  guard: 'overtaken',
});

// Every posting has a line 0, and few postings are a session's.
const OF_SESSION = `FROM ledger_entries AS first JOIN ledger_entries AS entry ON entry.posting_id = first.posting_id
  WHERE first.line = 0`;
const SELECT_LEDGER_OF_PAYMENT = `SELECT entry.kind, entry.account, entry.amount ${OF_SESSION}
  AND first.session_id = (SELECT session_id FROM payments WHERE id = ?1) AND entry.payment_id = ?1
  ORDER BY entry.created, entry.posting_id, entry.line`;
const SELECT_LEDGER_TOTAL = 'SELECT COALESCE(SUM(amount), 0) AS total FROM ledger_entries';
const SELECT_ENTRY = 'SELECT * FROM ledger_entries WHERE posting_id = ?1 AND line = ?2';
const SELECT_SETTLEMENT = 'SELECT * FROM settlements WHERE payment_id = ?1';
// Two rows are enough to distinguish one payment from several.
const SELECT_OF_REFERENCE = 'SELECT id FROM payments WHERE provider_reference = ?1 ORDER BY id LIMIT 2';

const SELECT_SUMS = `SELECT COALESCE(SUM(CASE WHEN amount > 0 THEN amount ELSE 0 END), 0) AS debits,
  COALESCE(SUM(CASE WHEN amount < 0 THEN -amount ELSE 0 END), 0) AS credits
  FROM ledger_entries WHERE environment = ?1 AND account = ?2 AND kind = ?3 AND created > ?4 AND created <= ?5`;
const SELECT_DAY_SUMS = `SELECT account, SUM(debits) AS debits, SUM(credits) AS credits FROM ledger_sums
  WHERE environment = ?1 AND day < ?2 GROUP BY account`;

const PLACE_COLUMNS = PLACES.columns.map(({ name }) => name);
const PLACE = PLACE_COLUMNS.join(', ');

export function insertPosting(posting: Posting, environment: Environment): Write[] {
  const { id: postingId, entries, ...shared } = posting;
  return entries.map((entry, line) => insertEntry({ ...shared, ...entry, postingId, line, environment }));
}

export function createLedgerReads(select: Select, selectEach: SelectEach): LedgerReads {
  const { one, all } = createReader(select);
  return {
    ledgerOfPayment: (paymentId) =>
      all(
        (row) => ({ kind: row['kind'] as string, account: row['account'] as string, amount: row['amount'] as number }),
        SELECT_LEDGER_OF_PAYMENT,
        paymentId,
      ),
    async ledgerTotal() {
      const [row] = await select(SELECT_LEDGER_TOTAL);
      return row!['total'] as number;
    },
    journal(filter, range) {
      const isNamed = filter.sessionId !== undefined || filter.paymentId !== undefined;
      const { sql, params } = (isNamed ? sessionJournalQuery : journalQuery)(filter, range);
      return all(ENTRIES.fromRow, sql, ...params);
    },
    journalEntry: (postingId, line) => one(ENTRIES.fromRow, SELECT_ENTRY, postingId, line),
    daySums: (environment, before = Number.MAX_SAFE_INTEGER) =>
      all((row) => sumFromRow(row['account'] as Account, row), SELECT_DAY_SUMS, environment, before),
    async entrySums(environment, after, until) {
      const partitions = partitionsOf(environment);
      const found = await selectEach(
        partitions.map(({ account, kind }) => ({
          sql: SELECT_SUMS,
          params: [environment, account, kind, after, until],
        })),
      );
      return partitions.map(({ account }, index) => sumFromRow(account, found[index]![0]!));
    },
    settlement: (paymentId) => one(SETTLEMENTS.fromRow, SELECT_SETTLEMENT, paymentId),
    paymentsOfReference: (reference) => all((row) => row['id'] as string, SELECT_OF_REFERENCE, reference),
  };
}

/** One range of the index for each partition that the filter leaves, merged: whole rows are read only for the result. */
function journalQuery(filter: JournalFilter, range: JournalRange): Query {
  const { environment, account, kind } = filter;
  const { bind, params } = createBinder();
  const limit = bind(range.limit);
  const conditions = boundsOf(filter, range, '', bind);
  const order = orderOf(range, '');
  const branches = (environment === undefined ? ENVIRONMENTS : [environment])
    .flatMap(partitionsOf)
    .filter((shelf) => account === undefined || shelf.account === account)
    .filter((shelf) => kind === undefined || shelf.kind === kind)
    .map((shelf) => {
      const own = Object.entries(shelf).map(([column, value]) => `${column} = ${bind(value as string)}`);
      const where = [...own, ...conditions].join(' AND ');
      return `SELECT * FROM (SELECT ${PLACE} FROM ledger_entries WHERE ${where} ${order} LIMIT ${limit}) AS part`;
    });
  const places = `SELECT ${PLACE} FROM (${branches.join(' UNION ALL ')}) AS merged ${order} LIMIT ${limit}`;
  const sql = `SELECT entry.* FROM (${places}) AS place
    JOIN ledger_entries AS entry ON entry.posting_id = place.posting_id AND entry.line = place.line ${orderOf(range, 'entry.')}`;
  return { sql, params };
}

function sessionJournalQuery(filter: JournalFilter, range: JournalRange): Query {
  const { bind, params } = createBinder();
  const { sessionId, paymentId, environment, account, kind } = filter;
  const conditions = boundsOf(filter, range, 'entry.', bind);
  if (sessionId !== undefined) conditions.push(`first.session_id = ${bind(sessionId)}`);
  if (paymentId !== undefined) {
    const named = bind(paymentId);
    conditions.push(`first.session_id = (SELECT session_id FROM payments WHERE id = ${named})`);
    conditions.push(`entry.payment_id = ${named}`);
  }
  for (const [column, value] of Object.entries({ environment, account, kind })) {
    if (value !== undefined) conditions.push(`entry.${column} = ${bind(value)}`);
  }
  const where = conditions.map((condition) => ` AND ${condition}`).join('');
  const sql = `SELECT entry.* ${OF_SESSION}${where} ${orderOf(range, 'entry.')} LIMIT ${bind(range.limit)}`;
  return { sql, params };
}

function createBinder(): { bind: (value: SqlValue) => string; params: SqlValue[] } {
  const params: SqlValue[] = [];
  return { bind: (value) => `?${params.push(value)}`, params };
}

function orderOf({ order }: JournalRange, prefix: string): string {
  const direction = order === 'newest_first' ? 'DESC' : 'ASC';
  return `ORDER BY ${PLACE_COLUMNS.map((column) => `${prefix}${column} ${direction}`).join(', ')}`;
}

function boundsOf(
  { from, until }: JournalFilter,
  { order, after }: JournalRange,
  prefix: string,
  bind: (value: SqlValue) => string,
): string[] {
  const conditions: string[] = [];
  if (from !== undefined) conditions.push(`${prefix}created >= ${bind(from)}`);
  if (until !== undefined) conditions.push(`${prefix}created < ${bind(until)}`);
  if (after !== undefined) {
    const columns = PLACE_COLUMNS.map((column) => `${prefix}${column}`).join(', ');
    const place = PLACES.values(after).map(bind).join(', ');
    conditions.push(`(${columns}) ${order === 'newest_first' ? '<' : '>'} (${place})`);
  }
  return conditions;
}

function sumFromRow(account: Account, row: Row): AccountSum {
  return { account, debits: Number(row['debits']), credits: Number(row['credits']) };
}
