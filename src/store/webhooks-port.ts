import assert from 'node:assert/strict';
import type { AnswerClass, Delivery } from '../domain/delivery.ts';
import { timeOfId } from '../domain/id.ts';
import { sourceOfEvent } from '../domain/event-id.ts';
import type { Instant } from '../domain/records.ts';
import type { Environment } from '../domain/route.ts';
import type { EventType } from '../domain/webhook-endpoint.ts';
import type { Origin } from '../telemetry/origin.ts';

/** An immutable event for the merchant. Every delivery attempt sends the same body. */
export interface MerchantEvent {
  id: string;
  /** The session, or `sourceOfRoute` of an event about a route, so that the events of a route are delivered in order. */
  sessionId: string;
  environment: Environment;
  /** Order of the event within its session or route: the version of the session or of the route's health with this event. */
  sequence: number;
  type: EventType;
  body: string;
  created: Instant;
  /** Request and trace that caused the event, if known. */
  origin?: Origin;
}

/** A delivery whose next attempt may begin, with the body to send. */
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
  /** Status class of the answer to the last attempt, such as `5xx`. */
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

/** Sort key of an event among all events. Its id does not sort by time, and two events of a session can have the same `created`. */
export interface EventPosition {
  created: Instant;
  sequence: number;
  id: string;
}

/** Position for a cursor that names an event that does not exist: the creation time in the id of its source. */
export function positionOfUnknownEvent(id: string): EventPosition {
  const source = sourceOfEvent(id);
  assert(source, `${id} is not the id of an event`);
  return { created: timeOfId(source), sequence: 0, id };
}
