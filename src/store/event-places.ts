import assert from 'node:assert/strict';
import { timeOfId } from '../domain/id.ts';
import { type Instant, PROVIDER_STATUSES, sessionOfEvent } from '../domain/records.ts';
import type { Environment } from '../domain/route.ts';

export const EVENT_TYPES: readonly string[] = PROVIDER_STATUSES.map((status) => `payment.${status}`);

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

/** Negative if `a` is older. */
export function compareEventPositions(a: EventPosition, b: EventPosition): number {
  if (a.created !== b.created) return a.created - b.created;
  if (a.sequence !== b.sequence) return a.sequence - b.sequence;
  return a.id < b.id ? -1 : Number(a.id > b.id);
}
