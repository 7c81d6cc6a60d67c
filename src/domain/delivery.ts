import type { Instant, ProviderStatus } from './records.ts';
import type { Environment } from './route.ts';

export type DeliveryStatus = 'pending' | 'delivered' | 'dead';

export const DELIVERY_STATUSES: readonly DeliveryStatus[] = ['pending', 'delivered', 'dead'];

/** What an attempt was answered with: the class of the status, or `none` where no answer came. */
export type AnswerClass = '2xx' | '3xx' | '4xx' | '5xx' | 'none';

export const ANSWER_CLASSES: readonly AnswerClass[] = ['2xx', '3xx', '4xx', '5xx', 'none'];

/** One event on its way to one endpoint. */
export interface Delivery {
  id: string;
  eventId: string;
  endpointId: string;
  sessionId: string;
  environment: Environment;
  /** The event's, kept here too so that a list of deliveries reads one table. */
  type: `payment.${ProviderStatus}`;
  sequence: number;
  status: DeliveryStatus;
  /** Attempts begun. Finishing one is guarded by it: an attempt that was overtaken changes nothing. */
  attempts: number;
  /** Attempts that do not count in the present retry schedule: those before a replay, and those that we cut off. */
  scheduleStart: number;
  /** When the next attempt may begin; while one is under way, when it counts as lost. */
  dueAt: Instant;
  /** The last attempt that has ended; null before there is one. */
  lastAttempt: LastAttempt | null;
  created: Instant;
}

/** What a delivery shows of its log. */
export interface LastAttempt {
  started: Instant;
  durationMs: number;
  statusCode: number | null;
  failure: string | null;
}

/** One HTTP exchange of a delivery, kept for good. */
export interface DeliveryAttempt {
  deliveryId: string;
  number: number;
  started: Instant;
  durationMs: number;
  statusCode: number | null;
  /** Why it failed, in words; null where it was acknowledged. */
  failure: string | null;
  /** The first 16 KiB of the answer. */
  responseBody: string;
}

/** A delivery of that event that may begin now. */
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

/** The class of a status that an HTTP answer had; what is above 599 counts as the server's fault. */
export function answerClassOf(statusCode: number | null): AnswerClass {
  if (statusCode === null) return 'none';
  if (statusCode >= 500) return '5xx';
  if (statusCode >= 400) return '4xx';
  return statusCode >= 300 ? '3xx' : '2xx';
}

/**
 * The delivery as it shall be when somebody asks for it again: one that has ended begins a new schedule, one that waits
 * for its next attempt waits no longer. An attempt that is under way is what was asked for: taking the delivery from it
 * would send the event twice and lose its outcome.
 */
export function replay(delivery: Delivery, log: readonly DeliveryAttempt[], now: Instant): Delivery {
  const { status, attempts, dueAt } = delivery;
  if (status !== 'pending') return { ...delivery, status: 'pending', scheduleStart: attempts, dueAt: now };
  if (dueAt <= now || isUnderWay(delivery, log)) return delivery;
  return { ...delivery, dueAt: now };
}

/** Whether a delivery of a session has to wait for this other one of it. */
export function isBehind(
  { endpointId, sequence }: Pick<Delivery, 'endpointId' | 'sequence'>,
  other: Delivery,
): boolean {
  return other.endpointId === endpointId && other.sequence < sequence && other.status === 'pending';
}

/** An attempt is counted when it begins, and logged when it has ended. */
function isUnderWay({ attempts }: Delivery, log: readonly DeliveryAttempt[]): boolean {
  return attempts > 0 && log.every(({ number }) => number !== attempts);
}
