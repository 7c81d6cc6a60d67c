import type { Instant } from '../domain/records.ts';
import type { RouteKind } from '../domain/route.ts';

/** A payment as the simulated provider sees it: the memory of a second party. */
export interface SimulatedPayment {
  reference: string;
  /** The caller's own ids of it. */
  paymentId: string;
  sessionId: string;
  kind: RouteKind;
  merchant: string;
  product: string;
  /** Cents: the session's amount, and what the buyer pays. */
  amount: number;
  total: number;
  returnUrl: string;
  status: 'open' | 'pending' | 'paid' | 'failed' | 'cancelled' | 'refunded';
  /** Why it was declined, in the simulated provider's own code. */
  reason: string | null;
  txHash: string;
  /** Of the total, what it has taken, and what of that has been given back. */
  captured: number;
  refunded: number;
  created: Instant;
}

/** A refund as the simulated provider sees it; `id` is the caller's own. */
export interface SimulatedRefund {
  id: string;
  reference: string;
  amount: number;
  status: 'pending' | 'succeeded' | 'failed';
  /** Why it failed, in the simulated provider's own code. */
  reason: string | null;
  created: Instant;
}

/** A callback that the simulated provider still has to send. */
export interface SimulatedCallback {
  id: string;
  reference: string;
  body: string;
  status: 'pending' | 'done' | 'dead';
  attempts: number;
  dueAt: Instant;
}

export type SimulatorChange =
  /** Guarded by the caller's id being new. */
  | { type: 'simulated_payment_created'; payment: SimulatedPayment }
  /** Guarded by the status `from` which it moves. */
  | { type: 'simulated_payment_moved'; payment: SimulatedPayment; from: SimulatedPayment['status'] }
  /** Guarded by what of it was `refunded` before. */
  | { type: 'simulated_payment_refunded'; payment: SimulatedPayment; refunded: number }
  /** Guarded by the caller's id being new. */
  | { type: 'simulated_refund_created'; refund: SimulatedRefund }
  /** Guarded by the status `from` which it moves. */
  | { type: 'simulated_refund_moved'; refund: SimulatedRefund; from: SimulatedRefund['status'] }
  | { type: 'simulated_callback_queued'; callback: SimulatedCallback }
  /** Guarded by the attempts before. */
  | { type: 'simulated_callback_claimed'; callback: SimulatedCallback }
  /** Guarded by the attempt that it finishes. */
  | { type: 'simulated_callback_finished'; callback: SimulatedCallback };

/** What only the simulated provider asks for. */
export interface SimulatorReads {
  simulatedPayment(reference: string): Promise<SimulatedPayment | undefined>;
  /** The simulated payment made for a payment of ours. */
  simulatedPaymentOf(paymentId: string): Promise<SimulatedPayment | undefined>;
  simulatedPaymentsOfSession(sessionId: string): Promise<SimulatedPayment[]>;
  simulatedRefund(id: string): Promise<SimulatedRefund | undefined>;
  simulatedCallbacksDue(now: Instant, limit: number): Promise<SimulatedCallback[]>;
}
