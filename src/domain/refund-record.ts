import type { Cents } from './money.ts';
import type { Instant, LedgerStatus, Payment } from './records.ts';
import type { Environment } from './route.ts';

/** `succeeded` can still become `failed`: a bank may send the money back days later. `failed` is final. */
export const REFUND_STATUSES = ['pending', 'succeeded', 'failed'] as const;
export type RefundStatus = (typeof REFUND_STATUSES)[number];
/** Reasons that the merchant can give. */
export const MERCHANT_REFUND_REASONS = ['requested_by_customer', 'duplicate', 'fraudulent', 'other'] as const;
/** `surplus`: automatic refund of a second payment of the same order. `mismatch`: refund of a wrong amount, which was never booked as a payment. */
export const REFUND_REASONS = [
  'requested_by_customer',
  'duplicate',
  'fraudulent',
  'surplus',
  'mismatch',
  'other',
] as const;
type RefundReason = (typeof REFUND_REASONS)[number];

/** Age at which a pending refund needs an operator. Inquiries at its provider continue, because the money may have been paid out. */
export const REFUND_OVERDUE_MS = 3 * 24 * 60 * 60_000;

/** A refund fails after this time if the provider only answers that it does not know the payment. */
export const UNKNOWN_PAYMENT_MS = 60 * 60_000;
export const UNKNOWN_PAYMENT_REASON = 'the provider does not know this payment';

/**
 * Shares of a refund. `merchant` and `gateway` add up to its amount; both are 0 if the money was owed to the buyer from the start.
 * `cost` is the part of its charge that the provider returns.
 */
export interface RefundShares {
  merchant: Cents;
  gateway: Cents;
  cost: Cents;
}

/** Refund of one payment. */
export interface Refund {
  id: string;
  paymentId: string;
  sessionId: string;
  environment: Environment;
  amount: Cents;
  shares: RefundShares;
  reason: RefundReason | null;
  status: RefundStatus;
  /** True once the provider has deducted the amount from the operator's balance, which can precede the success by days. */
  deducted: boolean;
  /** Reason of the failure, in words; null if it did not fail. */
  failureReason: string | null;
  idempotencyKey: string | null;
  /** A hash of the parsed input, to distinguish a replay from a conflict. */
  requestHash: string | null;
  /** The provider's id of the refund, once it has answered a request or reported a refund of its own. */
  providerReference: string | null;
  created: Instant;
  updated: Instant;
}

/** Requested refund, with an id that the caller has already created. */
export interface RefundOrder {
  refundId: string;
  paymentId: string;
  /** Amount to refund; null: the rest of the payment. */
  amount: Cents | null;
  reason: RefundReason | null;
  idempotencyKey: string | null;
  requestHash: string | null;
}

/** Result of a refund at its provider. `reason` is the cause of a failure, in words. */
export interface RefundOutcome {
  status: RefundStatus;
  /** True if the provider has deducted a pending refund from the operator's balance; a refund that succeeded always is. */
  deducted?: boolean;
  reason: string | null;
  /** The provider's id of the refund, if it gives one. */
  reference?: string | null;
}

/** Transaction on a chain that paid a refund. One transaction proves one refund. */
export interface RefundProof {
  txHash: string;
  /** Position of the transfer among the logs of its block. */
  logIndex: number;
  /** Amount of the refund in units of the token. */
  units: number;
}

/** Money that the buyer paid for a paid payment. */
export function paidAmount({ fees, shortfall }: Pick<Payment, 'fees' | 'shortfall'>): Cents {
  return fees.total - shortfall;
}

/** Rest of a payment that was neither refunded nor taken back by the provider, and its shares. */
export function leftOf(payment: Payment): RefundShares & { total: Cents } {
  const { fees, surplus, surplusAccepted, refunded, refundPending, refundShares } = payment;
  const total = paidAmount(payment) - refunded - refundPending - Math.max(0, payment.reversed);
  // No fee is earned on surplus money: it is owed to the buyer unless an operator accepted it for the merchant.
  const gateway = surplus ? 0 : fees.buyerFee + fees.gatewayFee - refundShares.gateway;
  const merchant = surplus && !surplusAccepted ? 0 : total - gateway;
  const cost = payment.costRefundable ? payment.providerCost - refundShares.cost : 0;
  return { total, merchant, gateway, cost };
}

/** Ledger status of a paid payment: `refunded` only once the whole payment is refunded. */
export function ledgerStatusOf(payment: Payment): LedgerStatus {
  if (payment.refunded === paidAmount(payment)) return 'refunded';
  return payment.settled ? 'settled' : 'pending';
}
