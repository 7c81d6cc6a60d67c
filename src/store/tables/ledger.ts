import type { Account, EntryPlace, JournalEntry, Posting, PostingKind } from '../../domain/ledger.ts';
import { ENVIRONMENTS, type Environment } from '../../domain/route.ts';
import type { Settlement } from '../../domain/settlement.ts';
import type { Query, Row, Select, SelectEach, SqlValue } from '../keyset.ts';
import {
  type AccountSum,
  type JournalFilter,
  type LedgerReads,
  type LedgerShelf,
  type Stretch,
  shelvesOf,
} from '../ledger.ts';
import { type Write, insertSql } from '../write.ts';

const INSERT = insertSql('ledger_entries', [
  'posting_id',
  'line',
  'payment_id',
  'session_id',
  'refund_id',
  'environment',
  'kind',
  'account',
  'amount',
  'created',
]);
const INSERT_SETTLEMENT = insertSql(
  'settlements',
  ['payment_id', 'session_id', 'environment', 'amount', 'source', 'reference', 'settled_at', 'created'],
  'ON CONFLICT (payment_id) DO NOTHING',
);

// Every posting has a line 0, and few postings are a session's.
const OF_SESSION = `FROM ledger_entries AS first JOIN ledger_entries AS entry ON entry.posting_id = first.posting_id
  WHERE first.line = 0`;
const SELECT_LEDGER_OF_PAYMENT = `SELECT entry.kind, entry.account, entry.amount ${OF_SESSION}
  AND first.session_id = (SELECT session_id FROM payments WHERE id = ?1) AND entry.payment_id = ?1
  ORDER BY entry.created, entry.posting_id, entry.line`;
const SELECT_LEDGER_TOTAL = 'SELECT COALESCE(SUM(amount), 0) AS total FROM ledger_entries';
const SELECT_ENTRY = 'SELECT * FROM ledger_entries WHERE posting_id = ?1 AND line = ?2';
const SELECT_SETTLEMENT = 'SELECT * FROM settlements WHERE payment_id = ?1';
// More than one is told apart from one, and how many more does not matter.
const SELECT_OF_REFERENCE = 'SELECT id FROM payments WHERE provider_reference = ?1 ORDER BY id LIMIT 2';

const SUMS = `COALESCE(SUM(CASE WHEN amount > 0 THEN amount ELSE 0 END), 0) AS debits,
  COALESCE(SUM(CASE WHEN amount < 0 THEN -amount ELSE 0 END), 0) AS credits`;
const ON_SHELF = 'FROM ledger_entries WHERE environment = ?1 AND account = ?2 AND kind = ?3';
const PLACE = 'created, posting_id, line';
const ORDERED = `ORDER BY ${PLACE}`;
const SELECT_RECENT = `SELECT ${SUMS} ${ON_SHELF} AND created > ?4 AND created <= ?5`;
// The end of the stretch is looked for first: what lies before it is then summed without leaving the database.
const SELECT_END = `SELECT ${PLACE} ${ON_SHELF} AND created <= ?4 AND (${PLACE}) > (?5, ?6, ?7) ${ORDERED} LIMIT 1 OFFSET ?8`;
const SELECT_PART = `SELECT ${SUMS} ${ON_SHELF} AND (${PLACE}) > (?4, ?5, ?6) AND (${PLACE}) <= (?7, ?8, ?9)`;
const SELECT_REST = `SELECT ${SUMS} ${ON_SHELF} AND created <= ?4 AND (${PLACE}) > (?5, ?6, ?7)`;

const SELECT_DAY_SUMS = `SELECT account, SUM(debits) AS debits, SUM(credits) AS credits FROM ledger_sums
  WHERE environment = ?1 AND day < ?2 GROUP BY account`;

// From shelf to shelf: what lies on them is not read.
const SELECT_NEXT_SHELF = `SELECT account, kind FROM ledger_entries
  WHERE environment = ?1 AND (account, kind) > (?2, ?3) ORDER BY account, kind LIMIT 1`;

export function insertPosting(posting: Posting, environment: Environment): Write[] {
  return posting.entries.map((entry, line) => ({
    sql: INSERT,
    params: [
      posting.id,
      line,
      posting.paymentId,
      posting.sessionId,
      posting.refundId,
      environment,
      posting.kind,
      entry.account,
      entry.amount,
      posting.created,
    ],
  }));
}

export function insertSettlement(settlement: Settlement): Write {
  const { paymentId, sessionId, environment, amount, source, reference, settledAt, created } = settlement;
  const params = [paymentId, sessionId, environment, amount, source, reference, settledAt, created];
  return { sql: INSERT_SETTLEMENT, params, guard: 'overtaken' };
}

export function createLedgerReads(select: Select, selectEach: SelectEach): LedgerReads {
  return {
    async ledgerOfPayment(paymentId) {
      return (await select(SELECT_LEDGER_OF_PAYMENT, paymentId)).map((row) => ({
        kind: row['kind'] as string,
        account: row['account'] as string,
        amount: row['amount'] as number,
      }));
    },
    async ledgerTotal() {
      const [row] = await select(SELECT_LEDGER_TOTAL);
      return row!['total'] as number;
    },
    async journal(filter, stretch) {
      const { sessionId, paymentId } = filter;
      const { sql, params } =
        sessionId === undefined && paymentId === undefined
          ? journalQuery(filter, stretch)
          : sessionJournalQuery(filter, stretch);
      return (await select(sql, ...params)).map(entryFromRow);
    },
    async journalEntry(postingId, line) {
      const [row] = await select(SELECT_ENTRY, postingId, line);
      return row && entryFromRow(row);
    },
    async daySums(environment, before = Number.MAX_SAFE_INTEGER) {
      const found = await select(SELECT_DAY_SUMS, environment, before);
      return found.map((row) => sumFromRow(row['account'] as Account, row));
    },
    async shelfSum(shelf, { after, until, limit }) {
      const { environment, account, kind } = shelf;
      const begin = [after?.created ?? -1, after?.postingId ?? '', after?.line ?? -1];
      const [end] = await select(SELECT_END, environment, account, kind, until, ...begin, limit - 1);
      const last = end && placeFromRow(end);
      const [row] = last
        ? await select(SELECT_PART, environment, account, kind, ...begin, last.created, last.postingId, last.line)
        : await select(SELECT_REST, environment, account, kind, until, ...begin);
      return { ...sumFromRow(account, row!), last };
    },
    async recentSums(shelves, after, until) {
      const found = await selectEach(
        shelves.map(({ environment, account, kind }) => ({
          sql: SELECT_RECENT,
          params: [environment, account, kind, after, until],
        })),
      );
      return shelves.map(({ account }, index) => sumFromRow(account, found[index]![0]!));
    },
    async shelvesInUse(environment) {
      const found: LedgerShelf[] = [];
      for (;;) {
        const { account = '', kind = '' } = found.at(-1) ?? {};
        const [next] = await select(SELECT_NEXT_SHELF, environment, account, kind);
        if (!next) return found;
        found.push({ environment, account: next['account'] as Account, kind: next['kind'] as PostingKind });
      }
    },
    async settlement(paymentId) {
      const [row] = await select(SELECT_SETTLEMENT, paymentId);
      return row && settlementFromRow(row);
    },
    async paymentsOfReference(reference) {
      return (await select(SELECT_OF_REFERENCE, reference)).map((row) => row['id'] as string);
    },
  };
}

/** One range of the index for each shelf that the filter leaves, merged: whole rows are read only of what is answered. */
function journalQuery(filter: JournalFilter, stretch: Stretch): Query {
  const { environment, account, kind } = filter;
  const params: SqlValue[] = [];
  const bind = (value: SqlValue) => `?${params.push(value)}`;
  const limit = bind(stretch.limit);
  const direction = stretch.order === 'newest_first' ? 'DESC' : 'ASC';
  const order = (prefix: string) =>
    `ORDER BY ${['created', 'posting_id', 'line'].map((column) => `${prefix}${column} ${direction}`).join(', ')}`;
  const conditions = boundsOf(filter, stretch, '', bind);
  const branches = (environment === undefined ? ENVIRONMENTS : [environment])
    .flatMap(shelvesOf)
    .filter((shelf) => account === undefined || shelf.account === account)
    .filter((shelf) => kind === undefined || shelf.kind === kind)
    .map((shelf) => {
      const own = [
        `environment = ${bind(shelf.environment)}`,
        `account = ${bind(shelf.account)}`,
        `kind = ${bind(shelf.kind)}`,
      ];
      const where = [...own, ...conditions].join(' AND ');
      return `SELECT * FROM (SELECT ${PLACE} FROM ledger_entries WHERE ${where} ${order('')} LIMIT ${limit}) AS part`;
    });
  const places = `SELECT ${PLACE} FROM (${branches.join(' UNION ALL ')}) AS merged ${order('')} LIMIT ${limit}`;
  const sql = `SELECT entry.* FROM (${places}) AS place
    JOIN ledger_entries AS entry ON entry.posting_id = place.posting_id AND entry.line = place.line ${order('entry.')}`;
  return { sql, params };
}

function sessionJournalQuery(filter: JournalFilter, stretch: Stretch): Query {
  const params: SqlValue[] = [];
  const bind = (value: SqlValue) => `?${params.push(value)}`;
  const { sessionId, paymentId, environment, account, kind } = filter;
  const conditions = boundsOf(filter, stretch, 'entry.', bind);
  if (sessionId !== undefined) conditions.push(`first.session_id = ${bind(sessionId)}`);
  if (paymentId !== undefined) {
    const named = bind(paymentId);
    conditions.push(`first.session_id = (SELECT session_id FROM payments WHERE id = ${named})`);
    conditions.push(`entry.payment_id = ${named}`);
  }
  if (environment !== undefined) conditions.push(`entry.environment = ${bind(environment)}`);
  if (account !== undefined) conditions.push(`entry.account = ${bind(account)}`);
  if (kind !== undefined) conditions.push(`entry.kind = ${bind(kind)}`);
  const direction = stretch.order === 'newest_first' ? 'DESC' : 'ASC';
  const order = ['created', 'posting_id', 'line'].map((column) => `entry.${column} ${direction}`).join(', ');
  const where = conditions.map((condition) => ` AND ${condition}`).join('');
  return { sql: `SELECT entry.* ${OF_SESSION}${where} ORDER BY ${order} LIMIT ${bind(stretch.limit)}`, params };
}

function boundsOf(
  { from, until }: JournalFilter,
  { order, after }: Stretch,
  prefix: string,
  bind: (value: SqlValue) => string,
): string[] {
  const conditions: string[] = [];
  if (from !== undefined) conditions.push(`${prefix}created >= ${bind(from)}`);
  if (until !== undefined) conditions.push(`${prefix}created < ${bind(until)}`);
  if (after !== undefined) {
    const columns = ['created', 'posting_id', 'line'].map((column) => `${prefix}${column}`).join(', ');
    const place = [after.created, after.postingId, after.line].map(bind).join(', ');
    conditions.push(`(${columns}) ${order === 'newest_first' ? '<' : '>'} (${place})`);
  }
  return conditions;
}

function sumFromRow(account: Account, row: Row): AccountSum {
  return { account, debits: Number(row['debits']), credits: Number(row['credits']) };
}

function placeFromRow(row: Row): EntryPlace {
  return {
    created: row['created'] as number,
    postingId: row['posting_id'] as string,
    line: row['line'] as number,
  };
}

function entryFromRow(row: Row): JournalEntry {
  return {
    ...placeFromRow(row),
    paymentId: row['payment_id'] as string,
    sessionId: row['session_id'] as string,
    refundId: row['refund_id'] as string | null,
    environment: row['environment'] as Environment,
    kind: row['kind'] as PostingKind,
    account: row['account'] as Account,
    amount: row['amount'] as number,
  };
}

function settlementFromRow(row: Row): Settlement {
  return {
    paymentId: row['payment_id'] as string,
    sessionId: row['session_id'] as string,
    environment: row['environment'] as Environment,
    amount: row['amount'] as number,
    source: row['source'] as Settlement['source'],
    reference: row['reference'] as string | null,
    settledAt: row['settled_at'] as number,
    created: row['created'] as number,
  };
}
