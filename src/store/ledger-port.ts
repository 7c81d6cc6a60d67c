import {
  ACCOUNTS,
  type Account,
  type EntryPosition,
  type JournalEntry,
  POSTING_KINDS,
  type PostingKind,
} from '../domain/ledger.ts';
import type { Cents } from '../domain/money.ts';
import type { Instant } from '../domain/records.ts';
import type { Environment } from '../domain/route.ts';
import type { Settlement } from '../domain/settlement.ts';

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

/** A range of the journal: at most `limit` entries, older or newer than a place, or from the end of the journal without one. */
export interface JournalRange {
  limit: number;
  order: 'newest_first' | 'oldest_first';
  after: EntryPosition | undefined;
}

/** Sums of entries of one account; credits are positive here. */
export interface AccountSum {
  account: Account;
  debits: Cents;
  credits: Cents;
}

/** Length of a day of the running sums, which starts at midnight UTC. */
export const DAY_MS = 86_400_000;

/** Partition of the journal: the entries of one kind in one account. */
export interface LedgerPartition {
  environment: Environment;
  account: Account;
  kind: PostingKind;
}

export type LedgerChange =
  /** Guarded by the payment having none. */
  { type: 'settlement_recorded'; settlement: Settlement };

export interface LedgerReads {
  ledgerOfPayment(paymentId: string): Promise<{ kind: string; account: string; amount: number }[]>;
  /** Sum of all entries: 0, unless the ledger is wrong. */
  ledgerTotal(): Promise<number>;
  /** Its cost grows neither with the journal nor with the depth of the range. */
  journal(filter: JournalFilter, stretch: JournalRange): Promise<JournalEntry[]>;
  journalEntry(postingId: string, line: number): Promise<JournalEntry | undefined>;
  /** Sums of each account with entries: of the days before `before` (days since 1970), or of all days. */
  daySums(environment: Environment, before?: number): Promise<AccountSum[]>;
  /** Sums of the entries after `after` and until then, in one snapshot, in any number of parts of an account. */
  entrySums(environment: Environment, after: Instant, until: Instant): Promise<AccountSum[]>;
  settlement(paymentId: string): Promise<Settlement | undefined>;
  /** Ids of the payments with this provider reference: one, unless two providers use the same. */
  paymentsOfReference(reference: string): Promise<string[]>;
}

/** The known partitions of an environment. */
export function partitionsOf(environment: Environment): LedgerPartition[] {
  return ACCOUNTS.flatMap((account) => POSTING_KINDS.map((kind) => ({ environment, account, kind })));
}
