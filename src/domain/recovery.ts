import type { Instant } from './records.ts';
import type { Environment } from './route.ts';

/** The wish that an endpoint gets what it has not acknowledged of a time, and how far it has been carried out. */
export interface Recovery {
  id: string;
  endpointId: string;
  environment: Environment;
  /** Grows by one with every page of events, from 1. */
  version: number;
  /** `stopped`: its endpoint takes no events any more. */
  status: 'running' | 'done' | 'stopped';
  /** Events made from then on, and before `until`. */
  from: Instant;
  until: Instant;
  /** Whether what was acknowledged is sent too. */
  everything: boolean;
  /** The last event that was looked at. */
  read: { created: Instant; sequence: number; id: string };
  /** Made, or made due again. */
  queued: number;
  /** On their way already. */
  pending: number;
  /** Acknowledged, and left. */
  delivered: number;
  created: Instant;
  updated: Instant;
}
