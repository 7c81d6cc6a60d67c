import type { Cents } from './money.ts';
import type { ReversalStatus } from './provider-report.ts';
import type { Instant } from './records.ts';
import type { Environment } from './route.ts';

/** Money of a payment that the provider has taken back, or may take back: a dispute, a chargeback, a returned debit. */
export interface Reversal {
  id: string;
  paymentId: string;
  sessionId: string;
  environment: Environment;
  /** The provider's id of the dispute. */
  reference: string;
  status: ReversalStatus;
  /** Grows with every change at the provider. */
  revision: number;
  /** The money that is taken back now. */
  taken: Cents;
  /** The provider's charge for the reversal so far. */
  fee: Cents;
  /** The provider's reason, bounded by `providerText`; null if it gave none. */
  reason: string | null;
  created: Instant;
  updated: Instant;
}

/** Report on a reversal, in cents. */
export type ReversalState = Pick<Reversal, 'reference' | 'status' | 'revision' | 'taken' | 'fee' | 'reason'>;
