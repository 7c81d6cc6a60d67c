import type { Cents } from './money.ts';
import type { Instant, Payment } from './records.ts';
import type { Environment } from './route.ts';

export type Account =
  'provider_clearing' | 'provider_cost' | 'merchant_payable' | 'gateway_revenue' | 'buyer_refunds_payable';
/**
 * Why something is booked. `refund` makes it owed to the buyer, `refund_paid` has gone out, `refund_failed` takes back
 * what was booked of one that did not.
 */
export type PostingKind = 'paid' | 'settled' | 'refund' | 'refund_paid' | 'refund_failed' | 'adjustment';

export const ACCOUNTS: readonly Account[] = [
  'provider_clearing',
  'provider_cost',
  'merchant_payable',
  'gateway_revenue',
  'buyer_refunds_payable',
];
export const POSTING_KINDS: readonly PostingKind[] = [
  'paid',
  'settled',
  'refund',
  'refund_paid',
  'refund_failed',
  'adjustment',
];

/** Debits are positive, credits negative. */
export interface LedgerEntry {
  account: Account;
  amount: Cents;
}

/** One balanced entry in the books: never changed, never deleted, and at most one of an id. */
export interface Posting {
  /** `<payment>:paid`, `<payment>:settled`, `<refund>:refund` and its like, `<discrepancy>:adjustment`, `<discrepancy>:received`. */
  id: string;
  paymentId: string;
  sessionId: string;
  kind: PostingKind;
  /** The refund that it books; null for all else. */
  refundId: string | null;
  entries: LedgerEntry[];
  created: Instant;
}

/** Where an entry stands in the journal, which is in the order of time; the lines of a posting stand together. */
export interface EntryPlace {
  created: Instant;
  postingId: string;
  line: number;
}

/** One line of the journal. Debits are positive, credits negative. */
export interface JournalEntry extends EntryPlace {
  paymentId: string;
  sessionId: string;
  refundId: string | null;
  environment: Environment;
  kind: PostingKind;
  account: Account;
  amount: Cents;
}

/** What was booked in an account; credits are not negative here. */
export interface AccountBalance {
  account: Account;
  debits: Cents;
  credits: Cents;
}

/** The balances of one environment, of every account there is. */
export interface Balances {
  environment: Environment;
  accounts: AccountBalance[];
}

export interface BalancesAt {
  at: Instant;
  environments: Balances[];
}

/** The provider holds what the buyer paid, less its cost; the merchant is owed the net, the gateway keeps the fees. */
export function paidPosting(payment: Payment, now: Instant): Posting {
  return posting(headOf(payment, 'paid', now), paidEntries(payment));
}

/** The merchant has been paid out so much. */
export function settledPosting(payment: Payment, amount: Cents, now: Instant): Posting {
  return posting(headOf(payment, 'settled', now), [
    { account: 'merchant_payable', amount },
    { account: 'provider_clearing', amount: -amount },
  ]);
}

function paidEntries(payment: Payment): LedgerEntry[] {
  const { fees, providerCost } = payment;
  const received: LedgerEntry[] = [
    { account: 'provider_clearing', amount: fees.total - providerCost },
    { account: 'provider_cost', amount: providerCost },
  ];
  // Surplus money belongs to the buyer, whole: no fee is earned on it.
  if (payment.surplus) return [...received, { account: 'buyer_refunds_payable', amount: -fees.total }];
  return [
    ...received,
    { account: 'merchant_payable', amount: -fees.merchantNet },
    { account: 'gateway_revenue', amount: -(fees.buyerFee + fees.gatewayFee) },
  ];
}

/** A posting of these lines without the empty ones. Throws where they do not sum to 0: that is a fault of the program. */
export function posting(head: Omit<Posting, 'entries'>, entries: readonly LedgerEntry[]): Posting {
  const moved = entries.filter((entry) => entry.amount !== 0);
  const sum = moved.reduce((total, entry) => total + entry.amount, 0);
  if (sum !== 0) throw new Error(`ledger posting ${head.kind} of ${head.paymentId} is off by ${sum} cents`);
  return { ...head, entries: moved };
}

function headOf(payment: Payment, kind: 'paid' | 'settled', created: Instant): Omit<Posting, 'entries'> {
  const { id: paymentId, sessionId } = payment;
  return { id: `${paymentId}:${kind}`, paymentId, sessionId, kind, refundId: null, created };
}
