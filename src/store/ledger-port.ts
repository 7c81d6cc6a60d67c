import { ACCOUNTS, type Account, type EntryPosition, POSTING_KINDS, type PostingKind } from '../domain/ledger.ts';
import type { Instant } from '../domain/records.ts';
import type { Environment } from '../domain/route.ts';

/** Filter of ledger entries. All given conditions must hold. */
export interface JournalFilter {
  environment?: Environment;
  account?: Account;
  kind?: PostingKind;
  sessionId?: string;
  paymentId?: string;
  /** Earliest booking time. */
  from?: Instant;
  /** End of the booking times, exclusive. */
  until?: Instant;
}

/** A range of the journal: at most `limit` entries before or after a position; without a position, the newest entries. */
export interface JournalRange {
  limit: number;
  order: 'newest_first' | 'oldest_first';
  after: EntryPosition | undefined;
}

/** Length of a day in the running sums of the ledger, in milliseconds; days start at midnight UTC. */
export const DAY_MS = 86_400_000;

/** Partition of the journal: the entries of one kind in one account. */
export interface LedgerPartition {
  environment: Environment;
  account: Account;
  kind: PostingKind;
}

/** All partitions of an environment. */
export function partitionsOf(environment: Environment): LedgerPartition[] {
  return ACCOUNTS.flatMap((account) => POSTING_KINDS.map((kind) => ({ environment, account, kind })));
}
