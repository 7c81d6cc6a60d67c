import { setImmediate as turn } from 'node:timers/promises';
import { CURRENCY, type Instant } from '../../domain/records.ts';
import type { EntryPosition, JournalEntry } from '../../domain/ledger.ts';
import type { JournalFilter } from '../../store/ledger-port.ts';
import type { Deps } from '../deps.ts';
import { entryId } from './list-journal.ts';

/** The columns of an export, in order. Amounts are dollars with two decimals; one of debit and credit is empty. */
export const EXPORT_COLUMNS = [
  'entry_id',
  'posting_id',
  'created',
  'environment',
  'kind',
  'account',
  'debit',
  'credit',
  'currency',
  'payment_id',
  'session_id',
  'refund_id',
] as const;

/** Entries per read. The embedded database reads on the main thread, and a longer read would delay payments. */
const PAGE = 100;
// Cells that spreadsheets would take for formulas get an apostrophe: https://owasp.org/www-community/attacks/CSV_Injection
const FORMAT = { record_delimiter: 'windows', escape_formulas: true } as const;

/** The journal as CSV (RFC 4180) up to the time of the request, oldest first, in parts of one page, with whole postings. */
export async function* exportJournal(
  { store, now }: Pick<Deps, 'store' | 'now'>,
  filter: JournalFilter,
  page = PAGE,
): AsyncGenerator<string> {
  const { stringify } = await import('csv-stringify/sync');
  const until = Math.min(filter.until ?? Infinity, now() + 1);
  let header = stringify([EXPORT_COLUMNS], FORMAT);
  let after: EntryPosition | undefined;
  do {
    const entries = await store.journal({ ...filter, until }, { limit: page, order: 'oldest_first', after });
    const text = header + stringify(entries.map(cellsOf), FORMAT);
    if (text !== '') yield text;
    header = '';
    after = entries.length < page ? undefined : entries.at(-1);
    if (after) await turn();
  } while (after);
}

function cellsOf(entry: JournalEntry): (string | null)[] {
  const { postingId, created, environment, kind, account, amount, paymentId, sessionId, refundId } = entry;
  return [
    entryId(entry),
    postingId,
    timeOf(created),
    environment,
    kind,
    account,
    amount > 0 ? dollarsOf(amount) : null,
    amount < 0 ? dollarsOf(-amount) : null,
    CURRENCY,
    paymentId,
    sessionId,
    refundId,
  ];
}

function timeOf(instant: Instant): string {
  return new Date(instant).toISOString();
}

/** Dollars without floating-point arithmetic. */
function dollarsOf(cents: number): string {
  return `${Math.trunc(cents / 100)}.${String(cents % 100).padStart(2, '0')}`;
}
