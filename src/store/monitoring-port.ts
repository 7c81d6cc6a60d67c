import type { Instant } from '../domain/records.ts';
import type { Environment } from '../domain/route.ts';

/** Limit of every count, so that a larger backlog does not make the reads slower. */
export const BACKLOG_COUNT_LIMIT = 10_000;

/** Pending work of an environment. Counts end at {@link BACKLOG_COUNT_LIMIT}. */
export interface Backlog {
  deliveriesPending: number;
  deliveriesDead: number;
  /** Due time of the longest due delivery of an active endpoint; null for none. */
  deliveryDueSince: Instant | null;
  endpointsActive: number;
  endpointsDisabled: number;
  sessionsPending: number;
  refundsPending: number;
  /** Creation time of the oldest pending refund; null for none. */
  refundPendingSince: Instant | null;
  discrepanciesOpen: number;
  /** Sessions and provider tasks of both environments. */
  wakesDue: number;
  tasksPending: number;
}

export interface MonitoringReads {
  backlog(environment: Environment, now: Instant): Promise<Backlog>;
}
