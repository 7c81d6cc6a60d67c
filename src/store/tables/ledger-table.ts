import {
  ACCOUNTS,
  type Account,
  type AccountSum,
  type EntryPosition,
  type JournalEntry,
  POSTING_KINDS,
  type Posting,
} from '../../domain/ledger.ts';
import type { Instant } from '../../domain/records.ts';
import { ENVIRONMENTS, type Environment } from '../../domain/route.ts';
import type { Settlement } from '../../domain/settlement.ts';
import {
  type KeysetQuery,
  type Query,
  type Row,
  type Select,
  type SelectEach,
  keysetQuery,
  rowsNamed,
  splitColumns,
} from '../keyset.ts';
import { type JournalFilter, type JournalRange, partitionsOf } from '../ledger-port.ts';
import { createReader } from '../row-reader.ts';
import { describeTable, integer, text } from '../table-description.ts';

export const ENTRIES = describeTable<JournalEntry>('ledger_entries', {
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
export const SETTLEMENTS = describeTable<Settlement>('settlements', {
  paymentId: text,
  sessionId: text,
  environment: text,
  amount: integer,
  source: text,
  reference: text,
  settledAt: integer,
  created: integer,
});
const insertSettlement = SETTLEMENTS.insert({
  onConflict: 'ON CONFLICT (payment_id) DO NOTHING',
  guard: 'overtaken',
});

// Finds the postings of a session by their first line, which an index contains, and joins their other lines.
const OF_SESSION = `FROM ledger_entries AS first JOIN ledger_entries AS entry ON entry.posting_id = first.posting_id
  WHERE first.line = 0`;
export const SELECT_ENTRIES_OF_SESSION = `SELECT entry.* ${OF_SESSION} AND first.session_id = ?1`;
const SELECT_OF_SESSION_OF_PAYMENT = `SELECT entry.* ${OF_SESSION}
  AND first.session_id = (SELECT session_id FROM payments WHERE id = ?1)`;
const SELECT_LEDGER_OF_PAYMENT = `SELECT entry.kind, entry.account, entry.amount ${OF_SESSION}
  AND first.session_id = (SELECT session_id FROM payments WHERE id = ?1) AND entry.payment_id = ?1
  ORDER BY entry.created, entry.posting_id, entry.line`;
const SELECT_LEDGER_TOTAL = 'SELECT COALESCE(SUM(amount), 0) AS total FROM ledger_entries';
const SELECT_ENTRY = 'SELECT * FROM ledger_entries WHERE posting_id = ?1 AND line = ?2';
const SELECT_SETTLEMENT = 'SELECT * FROM settlements WHERE payment_id = ?1';
// Selects two rows at most, because the caller only distinguishes between one payment and several.
const SELECT_OF_REFERENCE = `SELECT id FROM payments WHERE provider_reference = ?1
  UNION SELECT id FROM payments WHERE charge_reference = ?1 ORDER BY id LIMIT 2`;

const PLACE_COLUMNS = PLACES.columns.map(({ name }) => name);
const PLACE = PLACE_COLUMNS.join(', ');

const SELECT_SUMS = `SELECT COALESCE(SUM(CASE WHEN amount > 0 THEN amount ELSE 0 END), 0) AS debits,
  COALESCE(SUM(CASE WHEN amount < 0 THEN -amount ELSE 0 END), 0) AS credits
  FROM ledger_entries WHERE environment = ?1 AND account = ?2 AND kind = ?3 AND created > ?4 AND created <= ?5`;
const SELECT_DAY_SUMS = `SELECT account, SUM(debits) AS debits, SUM(credits) AS credits FROM ledger_sums
  WHERE environment = ?1 AND day < ?2 GROUP BY account`;
const SELECT_IMBALANCE = `SELECT SUM(debits) - SUM(credits) AS cents FROM ledger_sums
  WHERE environment = ?1 AND account IN ('${ACCOUNTS.join("', '")}') AND day >= ?2`;

export const ledgerWrites = {
  ledger_posted({ posting, environment }: { posting: Posting; environment: Environment }) {
    const { id: postingId, entries, ...shared } = posting;
    return entries.map((entry, line) => insertEntry({ ...shared, ...entry, postingId, line, environment }));
  },
  /** Guard: the payment has no settlement. */
  settlement_recorded: ({ settlement }: { settlement: Settlement }) => insertSettlement(settlement),
};

export function createLedgerReads(select: Select, selectEach: SelectEach) {
  const { one, all } = createReader(select);
  return {
    ledgerOfPayment: (paymentId: string) =>
      all(
        (row) => ({ kind: row['kind'] as string, account: row['account'] as string, amount: row['amount'] as number }),
        SELECT_LEDGER_OF_PAYMENT,
        paymentId,
      ),
    /** Sum of all entries; 0 if the ledger is correct. */
    ledgerTotal: async () => (await one((row) => row['total'] as number, SELECT_LEDGER_TOTAL))!,
    /** Entries of a range. The cost grows neither with the journal nor with the depth of the range. */
    async journal(filter: JournalFilter, range: JournalRange) {
      const { sql, params } = journalQuery(filter, range);
      return all(ENTRIES.fromRow, sql, ...params);
    },
    journalEntry: (postingId: string, line: number) => one(ENTRIES.fromRow, SELECT_ENTRY, postingId, line),
    /** Sums of each account with entries, over the days before day number `before` (counted from 1970), or over all days. */
    daySums: (environment: Environment, before = Number.MAX_SAFE_INTEGER) =>
      all((row) => sumFromRow(row['account'] as Account, row), SELECT_DAY_SUMS, environment, before),
    /** Debits less credits since day number `day`, in cents; 0 if the ledger is correct. */
    ledgerImbalance: async (environment: Environment, day: number) =>
      (await one(({ cents }) => Number(cents ?? 0), SELECT_IMBALANCE, environment, day))!,
    /** Sums of the entries booked after `after` and not after `until`, one per partition, in one snapshot. */
    async entrySums(environment: Environment, after: Instant, until: Instant) {
      const partitions = partitionsOf(environment);
      const found = await selectEach(
        partitions.map(({ account, kind }) => ({
          sql: SELECT_SUMS,
          params: [environment, account, kind, after, until],
        })),
      );
      return partitions.map(({ account }, index) => sumFromRow(account, found[index]![0]!));
    },
    settlement: (paymentId: string) => one(SETTLEMENTS.fromRow, SELECT_SETTLEMENT, paymentId),
    /** Ids of the payments with a provider reference, two at most; several providers can use the same reference. */
    paymentsOfReference: (reference: string) => all((row) => row['id'] as string, SELECT_OF_REFERENCE, reference),
  };
}

/** Query that merges one index range per partition that matches the filter, and reads whole rows only for the result. */
function journalQuery(filter: JournalFilter, range: JournalRange): Query {
  const { environment, account, kind, sessionId: session_id, paymentId: payment_id, from, until } = filter;
  const among = rowsNamed([SELECT_ENTRIES_OF_SESSION, session_id], [SELECT_OF_SESSION_OF_PAYMENT, payment_id]);
  const leading = among ? {} : { environment: ENVIRONMENTS, account: ACCOUNTS, kind: POSTING_KINDS };
  const keyset: KeysetQuery = {
    table: 'ledger_entries',
    select: PLACE,
    ...splitColumns({ environment, account, kind, session_id, payment_id }, leading),
    among,
    sortedBy: PLACE_COLUMNS,
    also: [
      ...(from === undefined ? [] : [['created >= ', from] as const]),
      ...(until === undefined ? [] : [['created < ', until] as const]),
    ],
  };
  const direction = range.order === 'newest_first' ? 'DESC' : 'ASC';
  const after = range.after && PLACES.values(range.after);
  const { sql, params } = keysetQuery([keyset], { limit: range.limit, direction, after });
  const order = PLACE_COLUMNS.map((column) => `entry.${column} ${direction}`).join(', ');
  return {
    sql: `SELECT entry.* FROM (${sql}) AS place
      JOIN ledger_entries AS entry ON entry.posting_id = place.posting_id AND entry.line = place.line ORDER BY ${order}`,
    params,
  };
}

function sumFromRow(account: Account, row: Row): AccountSum {
  return { account, debits: Number(row['debits']), credits: Number(row['credits']) };
}
