import type { Cents } from './money.ts';
import type { Instant, Payment } from './records.ts';
import { leftOf } from './refund-record.ts';
import type { Environment } from './route.ts';

/** Source of a payout report: the provider itself, the API, or a settlement file. */
export const SETTLEMENT_SOURCES = ['provider', 'api', 'file'] as const;
type SettlementSource = (typeof SETTLEMENT_SOURCES)[number];

/** Payout of a payment to the merchant, at most one per payment. */
export interface Settlement {
  paymentId: string;
  sessionId: string;
  environment: Environment;
  /** The merchant's share, less earlier refunds. */
  amount: Cents;
  source: SettlementSource;
  /** Reference of the payout, as the source reported it. */
  reference: string | null;
  settledAt: Instant;
  created: Instant;
}

/** Earliest accepted payout date. An earlier date is probably a typing error. */
export const EARLIEST_SETTLEMENT: Instant = Date.UTC(2000, 0, 1);

export interface PayoutReport {
  source: SettlementSource;
  /** Reported amount of the payout; null for the whole amount of {@link payoutOf}. */
  amount: Cents | null;
  reference: string | null;
  /** Time of the payout; null: now. */
  settledAt: Instant | null;
  /** The provider's charge for the payment. It counts unless an earlier report named the charge. */
  cost?: Cents | null;
  /** True if the ledger books each payout to the operator's bank account, so that the merchant is paid from that account. */
  isFromOperator?: boolean;
}

/** Reason why a payment cannot be settled. `refunded`: nothing of the payment is left for the merchant. */
export type SettlementRefusal = 'not_paid' | 'surplus' | 'refunded';

/** Outcome of a payout report. `already`: the payment was settled before. */
export type PayoutOutcome = 'settled' | 'already' | 'amount_differs' | SettlementRefusal;

/** Outcome of a report that `amount` was paid out; null stands for the amount of {@link payoutOf}. */
export function judgePayout(payment: Payment | undefined, amount: Cents | null): PayoutOutcome {
  if (payment?.settled) return 'already';
  if (payment?.status !== 'paid') return 'not_paid';
  const { total, merchant } = leftOf(payment);
  // The merchant bears the money that was taken back, so the rest can be less than the fees of the gateway.
  if (total <= 0 || merchant < 0) return 'refunded';
  // Surplus money is refunded to the buyer unless it was accepted.
  if (payment.surplus && !payment.surplusAccepted) return 'surplus';
  return amount === null || amount === payoutOf(payment) ? 'settled' : 'amount_differs';
}

/** Amount to pay out to the merchant: the rest of the payment less the gateway's fees. */
export function payoutOf(payment: Payment): Cents {
  return leftOf(payment).merchant;
}

/** Reason why a payment cannot be settled, as a sentence. */
export function refusalMessage(refusal: SettlementRefusal, { status }: Pick<Payment, 'status'>): string {
  switch (refusal) {
    case 'not_paid':
      return `The payment is ${status}: only paid payments are paid out.`;
    case 'surplus':
      return 'The payment is surplus money, which goes back to the buyer.';
    case 'refunded':
      return 'The payment has been refunded or taken back, or is about to be refunded: there is nothing left to pay out.';
  }
}
