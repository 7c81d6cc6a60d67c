import { invalidField } from '../../domain/gateway-error.ts';
import type { EntryPosition, JournalEntry } from '../../domain/ledger.ts';
import type { JournalFilter } from '../../store/ledger-port.ts';
import type { PageResult, Page } from '../../store/list-page.ts';
import type { Deps } from '../deps.ts';
import { setImmediate as turn } from 'node:timers/promises';
import { CURRENCY } from '../../domain/records.ts';
import { timestamp } from '../../contract/resource-fields.ts';

/** A page of the journal, newest first. Throws GatewayError `invalid_input` if the cursor is not the id of an entry. */
export async function listJournal(
  { store }: Pick<Deps, 'store'>,
  filter: JournalFilter,
  { limit, startingAfter, endingBefore }: Page,
): Promise<PageResult<JournalEntry>> {
  const named = endingBefore === undefined ? 'startingAfter' : 'endingBefore';
  const cursor = endingBefore ?? startingAfter;
  const after = cursor === undefined ? undefined : await placeOf(store, named, cursor);
  const order = endingBefore === undefined ? 'newest_first' : 'oldest_first';
  const found = await store.journal(filter, { limit: limit + 1, order, after });
  const items = found.slice(0, limit);
  return { items: endingBefore === undefined ? items : items.toReversed(), hasMore: found.length > limit };
}

async function placeOf(store: Deps['store'], field: string, id: string): Promise<EntryPosition> {
  const at = id.lastIndexOf(':');
  const entry = await store.journalEntry(id.slice(0, at), Number(id.slice(at + 1)));
  if (entry) return entry;
  throw invalidField(field, 'invalid_value', 'is no entry of the ledger', 'Use the id of an entry as a list gave it.');
}

/** The columns of an export, in order. Amounts are dollars with two decimals. Each line has either a debit or a credit. */
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
export const CSV_FORMAT = { record_delimiter: 'windows', escape_formulas: true } as const;

/** The journal as CSV (RFC 4180) up to the time of the request, oldest first, page by page. The export has only whole postings. */
export async function* exportJournal(
  { store, now }: Pick<Deps, 'store' | 'now'>,
  filter: JournalFilter,
  page = PAGE,
): AsyncGenerator<string> {
  const { stringify } = await import('csv-stringify/sync');
  const until = Math.min(filter.until ?? Infinity, now() + 1);
  let header = stringify([EXPORT_COLUMNS], CSV_FORMAT);
  let after: EntryPosition | undefined;
  do {
    const entries = await store.journal({ ...filter, until }, { limit: page, order: 'oldest_first', after });
    const text = header + stringify(entries.map(cellsOf), CSV_FORMAT);
    if (text !== '') yield text;
    header = '';
    after = entries.length < page ? undefined : entries.at(-1);
    if (after) await turn();
  } while (after);
}

function cellsOf(entry: JournalEntry): (string | null)[] {
  const { postingId, line, created, environment, kind, account, amount, paymentId, sessionId, refundId } = entry;
  return [
    `${postingId}:${line}`,
    postingId,
    timestamp(created),
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

/** Dollars without floating-point arithmetic. */
export function dollarsOf(cents: number): string {
  return `${Math.trunc(cents / 100)}.${String(cents % 100).padStart(2, '0')}`;
}
