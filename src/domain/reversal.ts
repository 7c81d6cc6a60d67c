import type { Cents } from './money.ts';
import type { Instant } from './records.ts';
import type { Environment } from './route.ts';

/** `open`: the outcome is undecided; `won`: the money is the merchant's; `lost`: it is the buyer's. */
export const REVERSAL_STATUSES = ['open', 'won', 'lost'] as const;
type ReversalStatus = (typeof REVERSAL_STATUSES)[number];

/** Money of a payment that its provider has taken back, or may take back: a dispute. */
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
  /** Amount that is taken back now; 0 before the provider takes it and after it has returned it. */
  taken: Cents;
  /** Fee of the dispute, as charged now. */
  fee: Cents;
  /** The provider's reason, bounded by `providerText`; null if it gave none. */
  reason: string | null;
  created: Instant;
  updated: Instant;
}
