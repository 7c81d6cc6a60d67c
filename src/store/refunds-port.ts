import type { Instant } from '../domain/records.ts';
import type { Refund, RefundStatus } from '../domain/refund-record.ts';
import type { Environment } from '../domain/route.ts';
import type { PageResult, Page } from './list-page.ts';

/** A refund that must be sent to its provider, or inquired about: a refund is its own task. */
export interface DueRefund {
  refund: Refund;
  attempts: number;
  dueAt: Instant;
  /** Start of the time in which the provider only answers that it does not know the payment; null after any other answer. */
  unknownSince: Instant | null;
}

export interface RefundFilter {
  paymentId?: string;
  sessionId?: string;
  status?: string;
  environment?: Environment;
}

export type RefundChange =
  /** Guarded by its idempotency key being new. */
  | { type: 'refund_created'; refund: Refund; dueAt: Instant }
  /** Guarded by the status before; ends the inquiries at the provider. */
  | { type: 'refund_changed'; refund: Refund; from: RefundStatus }
  /** Begins the attempt `attempts`, under a lease until `dueAt`; guarded by the attempts before. */
  | { type: 'refund_claimed'; due: DueRefund }
  /** Guarded by the attempt that it ends. */
  | { type: 'refund_postponed'; due: DueRefund };

export interface RefundReads {
  refund(id: string): Promise<Refund | undefined>;
  refundByIdempotencyKey(environment: Environment, key: string): Promise<Refund | undefined>;
  listRefunds(filter: RefundFilter, page: Page): Promise<PageResult<Refund>>;
  /** The longest due first. */
  refundsDue(now: Instant, limit: number): Promise<DueRefund[]>;
}
