import { termsOf } from '../domain/search-term.ts';
import type { Deps } from './deps.ts';

// No commit takes longer, so no older row can appear behind a cursor.
const SETTLED_MS = 60_000;
const ROWS = 300;

/** Stores the search terms of records older than a minute. Returns the number of records. Another instance may do the same. */
export async function indexRecords(
  { store, now, searchMetadataKeys }: Pick<Deps, 'store' | 'now' | 'searchMetadataKeys'>,
  isStopped: () => boolean,
): Promise<number> {
  let count = 0;
  for (let isFull = true; isFull && !isStopped();) {
    isFull = false;
    for (const from of await store.unindexedRows(now() - SETTLED_MS, ROWS)) {
      const terms = from.rows.flatMap((row) => termsOf(row, searchMetadataKeys));
      const { done } = await store.commit([{ type: 'terms_added', from, terms }]);
      if (done) count += from.rows.length;
      isFull ||= from.rows.length === ROWS;
    }
  }
  return count;
}
