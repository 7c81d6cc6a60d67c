import { GatewayError } from '../domain/gateway-error.ts';
import type { Change, CommitResult, Conflict } from '../store/store.ts';
import type { Write } from '../store/write-statement.ts';

/** Each conflict means that another writer of the record succeeded, so a writer fails only with more concurrent writers than this. */
const MAX_TRIES = 50;

/** Changes of a decision, and its result after their commit. Without changes nothing is written. */
interface Proposal<Result, Item> {
  changes: Item[];
  result: Result;
}

/**
 * Optimistic concurrency: `decide` reads and decides, its changes are committed, and after a conflict it decides again.
 * `decide` gets the conflict of the previous try. Throws GatewayError `unavailable` after too many conflicts on
 * `subject`, and every error of `decide`.
 */
export async function retryOnConflict<Result, Item extends Change | Write = Change>(
  { store }: { store: { commit(changes: Item[]): Promise<CommitResult> } },
  subject: string,
  decide: (conflict: Conflict | undefined) => Proposal<Result, Item> | Promise<Proposal<Result, Item>>,
): Promise<Result> {
  let conflict: Conflict | undefined;
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const { changes, result } = await decide(conflict);
    if (changes.length === 0) return result;
    const committed = await store.commit(changes);
    if (committed.done) return result;
    ({ conflict } = committed);
  }
  throw new GatewayError('unavailable', `Too many requests change ${subject} at the same time; try again.`);
}
