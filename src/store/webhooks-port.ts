import assert from 'node:assert/strict';
import type { AnswerClass, Delivery } from '../domain/delivery.ts';
import { timeOfId } from '../domain/id.ts';
import { sessionOfEvent } from '../domain/event-id.ts';
import type { Instant } from '../domain/records.ts';
import type { Environment } from '../domain/route.ts';
import type { EventType } from '../domain/webhook-endpoint.ts';
import type { Origin } from '../telemetry/origin.ts';

/** A merchant event: immutable; every delivery attempt sends the bytes of its body. */
export interface MerchantEvent {
  id: string;
  sessionId: string;
  environment: Environment;
  /** Grows within a session: the order of its events. */
  sequence: number;
  type: EventType;
  body: string;
  created: Instant;
  /** Request and trace that caused it, if known. */
  origin?: Origin;
}

/** A delivery that may begin, with the bytes to send. */
export interface DueDelivery {
  delivery: Delivery;
  body: string;
  origin?: Origin;
}

export interface DeliveryFilter {
  sessionId?: string;
  eventId?: string;
  endpointId?: string;
  type?: string;
  status?: string;
  /** Class of the answer to its last attempt. */
  statusClass?: AnswerClass;
  /** Earliest creation time. */
  createdFrom?: Instant;
  /** End of the creation times, exclusive. */
  createdUntil?: Instant;
  environment?: Environment;
}

export interface EventFilter {
  sessionId?: string;
  type?: string;
  environment?: Environment;
}

/** Position of an event among all events: their ids do not sort by time, and events of a session can share a millisecond. */
export interface EventPosition {
  created: Instant;
  sequence: number;
  id: string;
}

/** Position of an event that does not exist: the creation time of its session. */
export function positionOfUnknownEvent(id: string): EventPosition {
  const sessionId = sessionOfEvent(id);
  assert(sessionId, `${id} is not the id of an event`);
  return { created: timeOfId(sessionId), sequence: 0, id };
}
