import {
  ACCOUNTS,
  type Account,
  type EntryPlace,
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
  /** Booked then or later. */
  from?: Instant;
  /** Booked before then. */
  until?: Instant;
}

/** A stretch of the journal: `limit` entries at most that are older, or newer, than a place; from its end without one. */
export interface Stretch {
  limit: number;
  order: 'newest_first' | 'oldest_first';
  after: EntryPlace | undefined;
}

/** What some entries of one account add up to; credits are not negative here. */
export interface AccountSum {
  account: Account;
  debits: Cents;
  credits: Cents;
}

/** Length of a day of the running sums, which starts at midnight UTC. */
export const DAY_MS = 86_400_000;

/** All entries of one reason in one account. */
export interface LedgerShelf {
  environment: Environment;
  account: Account;
  kind: PostingKind;
}

/** What is written of the journal besides the postings of checkouts. */
export type LedgerChange =
  /** Guarded by the payment having none. */
  { type: 'settlement_recorded'; settlement: Settlement };

/** The journal and its balances. */
export interface LedgerReads {
  /** Ledger entries of one payment, and the sum of all there are (0, or the books are wrong). */
  ledgerOfPayment(paymentId: string): Promise<{ kind: string; account: string; amount: number }[]>;
  ledgerTotal(): Promise<number>;
  /** Its cost grows neither with the journal nor with how deep in it the stretch is. */
  journal(filter: JournalFilter, stretch: Stretch): Promise<JournalEntry[]>;
  journalEntry(postingId: string, line: number): Promise<JournalEntry | undefined>;
  /** Sums of each account that has entries: of the days before `before` (days since 1970), or of all days. */
  daySums(environment: Environment, before?: number): Promise<AccountSum[]>;
  /**
   * What the next entries of a shelf add up to, `limit` at most, that were booked until then; `last` is where they end,
   * undefined where there are no more.
   */
  shelfSum(
    shelf: LedgerShelf,
    stretch: { after: EntryPlace | undefined; until: Instant; limit: number },
  ): Promise<AccountSum & { last: EntryPlace | undefined }>;
  /** What was booked after `after` and until then, shelf by shelf, in one snapshot. */
  recentSums(shelves: readonly LedgerShelf[], after: Instant, until: Instant): Promise<AccountSum[]>;
  /** Every shelf that something lies on, also of an account or a kind that this version does not know. */
  shelvesInUse(environment: Environment): Promise<LedgerShelf[]>;
  settlement(paymentId: string): Promise<Settlement | undefined>;
  /** The ids of payments that a provider knows by this reference: one, unless two providers use the same. */
  paymentsOfReference(reference: string): Promise<string[]>;
}

/** Where the entries of an environment belong. */
export function shelvesOf(environment: Environment): LedgerShelf[] {
  return ACCOUNTS.flatMap((account) => POSTING_KINDS.map((kind) => ({ environment, account, kind })));
}
