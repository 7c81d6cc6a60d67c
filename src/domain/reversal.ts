import type { Cents } from './money.ts';
import { type ReversalReport, type ReversalStatus, centsOfUnits } from './provider-report.ts';
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

/** The state that a report names in full. */
export function stateOf({ reference, status, revision, reason, taken, fee }: ReversalReport): ReversalState {
  return { reference, status, revision, reason, taken: centsOfUnits(taken), fee: centsOfUnits(fee) };
}

/** The state after reports of which each names one movement of the money, in any order. A dispute that is won in part is lost. */
export function sumOfMovements(reports: readonly ReversalReport[]): ReversalState {
  const newest = stateOf(reports.reduce((one, other) => (other.revision > one.revision ? other : one)));
  const taken = reports.map((report) => centsOfUnits(report.taken));
  const returned = reports.map((report) => (report.returned ? centsOfUnits(report.returned) : 0));
  const total = taken.reduce((sum, cents, index) => sum + cents - returned[index]!, 0);
  // Without the report of a return between two chargebacks, no more than the larger one is taken.
  const held = Math.min(Math.max(total, 0), Math.max(...taken));
  const movements = [...taken, ...returned].filter((cents) => cents > 0).length;
  const status = newest.status === 'won' && held > 0 ? 'lost' : newest.status;
  return { ...newest, status, taken: held, revision: newest.revision + movements };
}
