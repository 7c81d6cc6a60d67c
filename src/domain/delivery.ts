import type { Instant } from './records.ts';
import type { Environment } from './route.ts';
import type { EventType } from './webhook-endpoint.ts';

export const DELIVERY_STATUSES = ['pending', 'delivered', 'dead'] as const;
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

/** Class of the HTTP status that a webhook endpoint answered; `none` without an answer. */
export const ANSWER_CLASSES = ['2xx', '3xx', '4xx', '5xx', 'none'] as const;
export type AnswerClass = (typeof ANSWER_CLASSES)[number];

/** Task to send one event to one endpoint. */
export interface Delivery {
  id: string;
  eventId: string;
  endpointId: string;
  /** Session or route of the event, see `MerchantEvent`. */
  sessionId: string;
  environment: Environment;
  /** Type of the event, copied so that a list of deliveries reads one table. */
  type: EventType;
  /** Position of the event among the events of its session. */
  sequence: number;
  status: DeliveryStatus;
  /** Number of attempts begun: the fencing token of the attempt in progress. */
  attempts: number;
  /** Number of attempts that do not count in the current retry schedule: attempts before a replay, and attempts that a shutdown cut off. */
  scheduleStart: number;
  /** Earliest start of the next attempt; during an attempt, the end of its lease. */
  dueAt: Instant;
  /** The last attempt that has ended; null before the first one has ended. */
  lastAttempt: LastAttempt | null;
  created: Instant;
}

/** Summary of the newest attempt. */
export type LastAttempt = Omit<DeliveryAttempt, 'deliveryId' | 'number' | 'responseBody'>;

/** One HTTP exchange of a delivery, append-only. */
export interface DeliveryAttempt {
  deliveryId: string;
  number: number;
  started: Instant;
  /** Whole milliseconds. */
  durationMs: number;
  /** HTTP status; null without an answer. */
  statusCode: number | null;
  /** Reason of the failure, in words; null if the endpoint acknowledged the event. */
  failure: string | null;
  /** The first 16 KiB of the answer, as text that every database can store. */
  responseBody: string;
}

/** The session of a delivery; null for an event about a route. */
export function sessionOfDelivery({ type, sessionId }: Pick<Delivery, 'type' | 'sessionId'>): string | null {
  return type === 'route.health_changed' ? null : sessionId;
}

/** A new delivery of an event, due now. */
export function newDelivery(
  event: Pick<Delivery, 'sessionId' | 'environment' | 'type' | 'sequence'> & { id: string },
  { id, endpointId, now }: { id: string; endpointId: string; now: Instant },
): Delivery {
  const { id: eventId, sessionId, environment, type, sequence } = event;
  return {
    id,
    eventId,
    endpointId,
    sessionId,
    environment,
    type,
    sequence,
    status: 'pending',
    attempts: 0,
    scheduleStart: 0,
    dueAt: now,
    lastAttempt: null,
    created: now,
  };
}

/** Class of an HTTP status. A status above 599 counts as `5xx`. */
export function answerClassOf(statusCode: number | null): AnswerClass {
  if (statusCode === null) return 'none';
  if (statusCode >= 500) return '5xx';
  if (statusCode >= 400) return '4xx';
  return statusCode >= 300 ? '3xx' : '2xx';
}

/** The delivery after a replay. A finished delivery begins a new retry schedule, a waiting one becomes due, an attempt in flight continues. */
export function replay(delivery: Delivery, log: readonly DeliveryAttempt[], now: Instant): Delivery {
  const { status, attempts, dueAt } = delivery;
  if (status !== 'pending') return { ...delivery, status: 'pending', scheduleStart: attempts, dueAt: now };
  if (dueAt <= now || isInFlight(delivery, log)) return delivery;
  return { ...delivery, dueAt: now };
}

/** True if a delivery must wait for `other`, a pending delivery of an earlier event of the same session to the same endpoint. */
export function mustWaitFor(
  { endpointId, sequence }: Pick<Delivery, 'endpointId' | 'sequence'>,
  other: Delivery,
): boolean {
  return other.endpointId === endpointId && other.sequence < sequence && other.status === 'pending';
}

/** True if an attempt is in flight: attempts are counted when they begin and logged when they end, so it is counted but not logged. */
function isInFlight({ attempts }: Delivery, log: readonly DeliveryAttempt[]): boolean {
  return attempts > 0 && log.every(({ number }) => number !== attempts);
}

/** Request to deliver the unacknowledged events of a time range to an endpoint, and its progress. */
export interface Recovery {
  id: string;
  endpointId: string;
  environment: Environment;
  /** Grows by one with every page of events, from 1. */
  version: number;
  /** `stopped`: the endpoint is no longer active, so the recovery ended before its last page. */
  status: 'running' | 'done' | 'stopped';
  /** Start of the time range, inclusive; `until` is its end, exclusive. */
  from: Instant;
  until: Instant;
  /** True if acknowledged events are sent too. */
  everything: boolean;
  /** The last processed event. */
  read: { created: Instant; sequence: number; id: string };
  /** Number of deliveries that were created or made due again. */
  queued: number;
  /** Number of deliveries that were already pending. */
  pending: number;
  /** Number of acknowledged deliveries, which are not sent again. */
  delivered: number;
  created: Instant;
  updated: Instant;
}
