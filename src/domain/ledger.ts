import type { Cents } from './money.ts';
import type { Instant, Payment } from './records.ts';

export type Account =
  'provider_clearing' | 'provider_cost' | 'merchant_payable' | 'gateway_revenue' | 'buyer_refunds_payable';
export type PostingKind = 'paid' | 'settled' | 'refunded';

/** Debits are positive, credits negative. */
export interface LedgerEntry {
  account: Account;
  amount: Cents;
}

/** One balanced entry in the books: at most one of each kind for a payment, never changed, never deleted. */
export interface Posting {
  paymentId: string;
  kind: PostingKind;
  entries: LedgerEntry[];
  created: Instant;
}

/** The provider holds what the buyer paid, less its cost; the merchant is owed the net, the gateway keeps the fees. */
export function paidPosting(payment: Payment, now: Instant): Posting {
  return posting(payment, 'paid', paidEntries(payment), now);
}

/** The merchant has been paid out. */
export function settledPosting(payment: Payment, now: Instant): Posting {
  const net = payment.fees.merchantNet;
  return posting(
    payment,
    'settled',
    [
      { account: 'merchant_payable', amount: net },
      { account: 'provider_clearing', amount: -net },
    ],
    now,
  );
}

/** The buyer has all of the money back: the `paid` posting reversed. What was paid out, the merchant then owes. */
export function refundedPosting(payment: Payment, now: Instant): Posting {
  return posting(
    payment,
    'refunded',
    paidEntries(payment).map((entry) => ({ account: entry.account, amount: -entry.amount })),
    now,
  );
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

function posting(payment: Payment, kind: PostingKind, entries: LedgerEntry[], created: Instant): Posting {
  const moved = entries.filter((entry) => entry.amount !== 0);
  const sum = moved.reduce((total, entry) => total + entry.amount, 0);
  if (sum !== 0) throw new Error(`ledger posting ${kind} of ${payment.id} is off by ${sum} cents`);
  return { paymentId: payment.id, kind, entries: moved, created };
}
