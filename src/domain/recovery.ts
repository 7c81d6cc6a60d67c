import type { Instant } from './records.ts';
import type { Environment } from './route.ts';

/** Request to deliver the unacknowledged events of a time range to an endpoint, and its progress. */
export interface Recovery {
  id: string;
  endpointId: string;
  environment: Environment;
  /** Grows by one with every page of events, from 1. */
  version: number;
  /** `stopped`: its endpoint takes no more events. */
  status: 'running' | 'done' | 'stopped';
  /** Events made from then on, and before `until`. */
  from: Instant;
  until: Instant;
  /** True if acknowledged events are sent too. */
  everything: boolean;
  /** The last processed event. */
  read: { created: Instant; sequence: number; id: string };
  /** Made, or made due again. */
  queued: number;
  /** Pending already. */
  pending: number;
  /** Acknowledged, and not sent again. */
  delivered: number;
  created: Instant;
  updated: Instant;
}
