import type { PageParams } from './types-requests.ts';
import type { Environment, Timestamp } from './types.ts';

/**
 * `pending`: the provider is still to say. `succeeded`: it has paid the money out. `failed`: the buyer does not have it; a
 * bank can send money back days later, and `succeeded` then becomes `failed`.
 */
export type RefundStatus = 'pending' | 'succeeded' | 'failed';
/** `surplus` and `mismatch` are given back unasked: a second payment of an order, and money of another amount. */
export type RefundReason = 'requested_by_customer' | 'duplicate' | 'fraudulent' | 'surplus' | 'mismatch' | 'other';

/** Money of a payment on its way back to the buyer, or back there. */
export interface Refund {
  /** Starts with `ref_`. */
  id: string;
  object: 'refund';
  /** Starts with `pay_`. */
  paymentId: string;
  /** Starts with `chk_`. */
  sessionId: string;
  environment: Environment;
  /** What goes back to the buyer, in US dollars, not cents. */
  amount: number;
  /** Always `USD`. */
  currency: string;
  /** As given. */
  reason: RefundReason | null;
  status: RefundStatus;
  /** Why it failed, in words. */
  failureReason: string | null;
  created: Timestamp;
  /** When its status last changed. */
  updated: Timestamp;
}

/** What to give back. */
export interface RefundParams {
  /** US dollars, not cents: more than 0, at most what is left. Left out: all that is left. */
  amount?: number | undefined;
  /** Why: for your own records. */
  reason?: 'requested_by_customer' | 'duplicate' | 'fraudulent' | 'other' | undefined;
  /**
   * Your key of this refund, 8 to 120 characters: a resend with the same key answers the same refund. Left out, one is made
   * for each call, which makes the retries of that call safe, but not a second call.
   */
  idempotencyKey?: string | undefined;
}

export interface PaymentRefundListParams extends PageParams {
  status?: RefundStatus | undefined;
}

export interface RefundListParams extends PaymentRefundListParams {
  /** Only refunds of this payment: `pay_...`. */
  paymentId?: string | undefined;
  /** Only refunds of this session: `chk_...`. */
  sessionId?: string | undefined;
  /** Left out: both. */
  environment?: Environment | undefined;
}
