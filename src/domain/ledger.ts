import type { Cents } from './money.ts';
import type { Instant, Payment } from './records.ts';
import type { Environment } from './route.ts';

export const ACCOUNTS = [
  'provider_clearing',
  'provider_cost',
  'merchant_payable',
  'gateway_revenue',
  'buyer_refunds_payable',
  'operator_cash',
] as const;
export type Account = (typeof ACCOUNTS)[number];
/**
 * Reason of a posting. `refund` books money as owed to the buyer, `refund_paid` books that the provider has deducted it, and `refund_failed`
 * reverses these postings. `cost` corrects the estimated charge of the provider, `payout` moves money from the provider to the
 * operator's bank account, and `reversal` books money that the provider has taken back or returned.
 */
export const POSTING_KINDS = [
  'paid',
  'settled',
  'refund',
  'refund_paid',
  'refund_failed',
  'adjustment',
  'cost',
  'payout',
  'reversal',
] as const;
export type PostingKind = (typeof POSTING_KINDS)[number];

/** Debits are positive, credits negative. */
export interface LedgerEntry {
  account: Account;
  amount: Cents;
}

/** One balanced posting: never changed, never deleted, unique by its id. */
export interface Posting {
  /**
   * `<payment>:paid`, `<payment>:settled`, `<payment>:cost`, `<payment>:payout:<balance transaction>`, `<refund>:refund` (also
   * `:refund_paid`, `:refund_failed`, `:adjustment`), `<discrepancy>:adjustment`, `<discrepancy>:received`, `<reversal>:<revision>`.
   */
  id: string;
  paymentId: string;
  sessionId: string;
  kind: PostingKind;
  /** The refund that the posting books; null for other postings. */
  refundId: string | null;
  entries: LedgerEntry[];
  created: Instant;
}

/** Place of an entry in the journal, which is ordered by time; the lines of a posting are adjacent. */
export interface EntryPosition {
  created: Instant;
  postingId: string;
  line: number;
}

/** One line of the journal. Debits are positive, credits negative. */
export interface JournalEntry extends EntryPosition {
  paymentId: string;
  sessionId: string;
  refundId: string | null;
  environment: Environment;
  kind: PostingKind;
  account: Account;
  amount: Cents;
}

/** Sums of entries of one account, each 0 or more. */
export interface AccountSum {
  account: Account;
  debits: Cents;
  credits: Cents;
}

/** Debit and credit sums of every account of one environment. */
export interface Balances {
  environment: Environment;
  accounts: AccountSum[];
}

export interface BalancesAt {
  at: Instant;
  environments: Balances[];
}

/** Posting of a paid payment: the provider holds the money less its cost, the merchant is owed the net, the gateway earns the fees. */
export function paidPosting(payment: Payment, now: Instant): Posting {
  const { fees, providerCost } = payment;
  const received: LedgerEntry[] = [
    { account: 'provider_clearing', amount: fees.total - providerCost },
    { account: 'provider_cost', amount: providerCost },
  ];
  // Surplus money belongs to the buyer completely: the gateway earns no fee on it.
  const owed: LedgerEntry[] = payment.surplus
    ? [{ account: 'buyer_refunds_payable', amount: -fees.total }]
    : [
        { account: 'merchant_payable', amount: -fees.merchantNet },
        { account: 'gateway_revenue', amount: -(fees.buyerFee + fees.gatewayFee) },
      ];
  return posting(headOf(payment, 'paid', now), [...received, ...owed]);
}

/** Posting that corrects the provider's estimated charge to the actual charge. */
export function costPosting(payment: Payment, actual: Cents, now: Instant): Posting {
  const more = actual - payment.providerCost;
  return posting(headOf(payment, 'cost', now), [
    { account: 'provider_cost', amount: more },
    { account: 'provider_clearing', amount: -more },
  ]);
}

/** Posting of a balance transaction that paid out money of a payment to the operator's bank account; negative if money was withheld. */
export function payoutPosting(payment: Payment, transaction: { id: string; net: Cents }, now: Instant): Posting {
  const head = headOf(payment, 'payout', now);
  return posting({ ...head, id: `${head.id}:${transaction.id}` }, [
    { account: 'operator_cash', amount: transaction.net },
    { account: 'provider_clearing', amount: -transaction.net },
  ]);
}

/** Posting of a settlement: the merchant's share, from the provider or from the money that the provider has paid out. */
export function settledPosting(
  payment: Payment,
  amount: Cents,
  now: Instant,
  from: 'provider_clearing' | 'operator_cash' = 'provider_clearing',
): Posting {
  return posting(headOf(payment, 'settled', now), [
    { account: 'merchant_payable', amount },
    { account: from, amount: -amount },
  ]);
}

/** Posting of the entries whose amount is not 0. Throws if the entries do not sum to 0, which is a defect of the program. */
export function posting(head: Omit<Posting, 'entries'>, entries: readonly LedgerEntry[]): Posting {
  const moved = entries.filter((entry) => entry.amount !== 0);
  const sum = moved.reduce((total, entry) => total + entry.amount, 0);
  if (sum !== 0) throw new Error(`ledger posting ${head.kind} of ${head.paymentId} is off by ${sum} cents`);
  return { ...head, entries: moved };
}

function headOf(
  payment: Payment,
  kind: 'paid' | 'settled' | 'cost' | 'payout',
  created: Instant,
): Omit<Posting, 'entries'> {
  const { id: paymentId, sessionId } = payment;
  return { id: `${paymentId}:${kind}`, paymentId, sessionId, kind, refundId: null, created };
}
