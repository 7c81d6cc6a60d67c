import type { Cents } from './money.ts';
import type { Instant, LedgerStatus, Payment } from './records.ts';
import type { Environment } from './route.ts';

/** `succeeded` can still become `failed`: a bank may send the money back days later. `failed` is final. */
export type RefundStatus = 'pending' | 'succeeded' | 'failed';
/**
 * `surplus`: a second payment of the same order, which we give back without being asked. `mismatch`: money of another
 * amount than the session's, which was never booked as its payment.
 */
export type RefundReason = 'requested_by_customer' | 'duplicate' | 'fraudulent' | 'surplus' | 'mismatch' | 'other';

export const REFUND_STATUSES: readonly RefundStatus[] = ['pending', 'succeeded', 'failed'];
export const REFUND_REASONS: readonly RefundReason[] = [
  'requested_by_customer',
  'duplicate',
  'fraudulent',
  'surplus',
  'mismatch',
  'other',
];

/** A refund without an answer for so long needs a person: its provider is asked on, since the money may have gone out. */
export const REFUND_OVERDUE_MS = 3 * 24 * 60 * 60_000;

/** Time for which a provider must answer only that it does not know the payment, before the refund fails. */
export const UNKNOWN_PAYMENT_MS = 60 * 60_000;
export const UNKNOWN_PAYMENT_REASON = 'the provider does not know this payment';

/**
 * What a refund takes from the merchant, from the gateway's revenue and from the provider's cost. The first two make its
 * amount, but for money that was owed to the buyer from the start: that takes nothing from either.
 */
export interface RefundShares {
  merchant: Cents;
  gateway: Cents;
  cost: Cents;
}

/** Money of one payment on its way back to the buyer, or back there. */
export interface Refund {
  id: string;
  paymentId: string;
  sessionId: string;
  environment: Environment;
  amount: Cents;
  shares: RefundShares;
  reason: RefundReason | null;
  status: RefundStatus;
  /** Why it failed, in words; null where it did not. */
  failureReason: string | null;
  idempotencyKey: string | null;
  /** A hash of the parsed input, for telling a replay from a conflict. */
  requestHash: string | null;
  created: Instant;
  updated: Instant;
}

/** Its ids, made beforehand, and what was asked for. */
export interface RefundOrder {
  refundId: string;
  paymentId: string;
  /** Null: all that is left. */
  amount: Cents | null;
  reason: RefundReason | null;
  idempotencyKey: string | null;
  requestHash: string | null;
}

/** A provider's word on a refund; `reason` is why it failed, in words. */
export interface RefundOutcome {
  status: RefundStatus;
  reason: string | null;
}

/** What of a payment is neither refunded nor about to be, and what of it would be taken from whom. */
export interface Refundable extends RefundShares {
  total: Cents;
}

export function leftOf(payment: Payment): Refundable {
  const { fees, providerCost, surplus, kept, shortfall, refunded, refundPending, refundShares } = payment;
  const total = fees.total - shortfall - refunded - refundPending;
  // No fee is earned on surplus money, which is the buyer's unless the merchant was told to keep it.
  const gateway = surplus ? 0 : fees.buyerFee + fees.gatewayFee - refundShares.gateway;
  const merchant = surplus && !kept ? 0 : total - gateway;
  return { total, merchant, gateway, cost: providerCost - refundShares.cost };
}

/** Where the money of a paid payment is: with the buyer again, when all of it is. */
export function ledgerStatusOf({ fees, shortfall, refunded, settled }: Payment): LedgerStatus {
  if (refunded === fees.total - shortfall) return 'refunded';
  return settled ? 'settled' : 'pending';
}
