import { invalidField } from '../../domain/gateway-error.ts';
import type { EntryPosition, JournalEntry } from '../../domain/ledger.ts';
import type { JournalFilter } from '../../store/ledger-port.ts';
import type { PageResult, Page } from '../../store/list-page.ts';
import type { Deps } from '../deps.ts';

/** Id of an entry: the id of its posting and its line. */
export function entryId({ postingId, line }: Pick<EntryPosition, 'postingId' | 'line'>): string {
  return `${postingId}:${line}`;
}

/** A page of the journal, newest first. Throws GatewayError `invalid_input` for a cursor that is no entry. */
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
