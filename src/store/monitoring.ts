import type { Instant } from '../domain/records.ts';
import type { Environment } from '../domain/route.ts';

/** What waits is counted up to this, so that no question about a backlog takes longer the larger it is. */
export const COUNTED_AT_MOST = 10_000;

/** What an environment has waiting, as an operator watches it. Counts end at {@link COUNTED_AT_MOST}. */
export interface Backlog {
  deliveriesPending: number;
  deliveriesDead: number;
  /** Since when the longest due delivery of an endpoint that takes events could have been attempted; null for none. */
  deliveryDueSince: Instant | null;
  endpointsActive: number;
  endpointsDisabled: number;
  sessionsPending: number;
  refundsPending: number;
  /** When the oldest refund was asked for that has not ended; null for none. */
  refundPendingSince: Instant | null;
  discrepanciesOpen: number;
  /** Of both environments together: sessions that time has something to bring to, and what providers are to be asked. */
  wakesDue: number;
  tasksPending: number;
}

/** For whoever watches the service; no request needs them. */
export interface MonitoringReads {
  backlog(environment: Environment, now: Instant): Promise<Backlog>;
}
