import type { Cents } from './money.ts';
import type { Instant, Payment } from './records.ts';
import { leftOf } from './refund.ts';
import type { Environment } from './route.ts';

/** Who told that the money has been paid out to the merchant: the provider itself, the API, or a file of it. */
export type SettlementSource = 'provider' | 'api' | 'file';

export const SETTLEMENT_SOURCES: readonly SettlementSource[] = ['provider', 'api', 'file'];

/** That a payment's money has been paid out to the merchant: at most one a payment. */
export interface Settlement {
  paymentId: string;
  sessionId: string;
  environment: Environment;
  /** What was paid out: the merchant's share, less what was refunded from it before. */
  amount: Cents;
  source: SettlementSource;
  /** Of the payout, as whoever told calls it. */
  reference: string | null;
  settledAt: Instant;
  created: Instant;
}

/** A payout of before that is a slip of the pen. */
export const EARLIEST_SETTLEMENT: Instant = Date.UTC(2000, 0, 1);

/** Why a payment cannot be settled. */
export type SettlementRefusal = 'not_paid' | 'surplus' | 'refunded';

/** What there is to pay out of a payment, or why there is nothing. */
export function payoutOf(payment: Payment): { amount: Cents } | { refusal: SettlementRefusal } {
  if (payment.status !== 'paid') return { refusal: 'not_paid' };
  const left = leftOf(payment);
  if (left.total === 0) return { refusal: 'refunded' };
  // Money that the buyer gets back is not the merchant's.
  if (payment.surplus && !payment.kept) return { refusal: 'surplus' };
  return { amount: left.merchant };
}

/** Why a payment is not settled, in a sentence. */
export function refusalWords(refusal: SettlementRefusal, { status }: Pick<Payment, 'status'>): string {
  switch (refusal) {
    case 'not_paid':
      return `The payment is ${status}: only one that is paid is paid out.`;
    case 'surplus':
      return 'The payment is surplus money, which goes back to the buyer.';
    case 'refunded':
      return 'The payment has been refunded, or is about to be: there is nothing left to pay out.';
  }
}
