import type { Environment, Timestamp } from './types.ts';

/** What an attempt was answered with: the class of the status, or `none` where no answer came. */
export type AnswerClass = '2xx' | '3xx' | '4xx' | '5xx' | 'none';

/** The wish that an endpoint gets what it has missed, and how far it has been carried out. */
export interface Recovery {
  /** Starts with `rcv_`. */
  id: string;
  object: 'recovery';
  /** Starts with `whe_`. */
  endpointId: string;
  environment: Environment;
  /** Events made then or later are looked at. */
  from: Timestamp;
  /** Events made before are looked at. */
  until: Timestamp;
  /** Whether acknowledged events are sent too. */
  all: boolean;
  /** `running`: a long range is still being read. `stopped`: the endpoint was disabled or deleted meanwhile. */
  status: 'running' | 'done' | 'stopped';
  /** Events that are sent because of it. */
  queued: number;
  /** Events that were on their way already. */
  pending: number;
  /** Events that the endpoint has acknowledged, and that are left. */
  delivered: number;
  created: Timestamp;
}
