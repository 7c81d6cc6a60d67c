import { type Delivery, type DeliveryAttempt, answerClassOf } from '../../domain/delivery.ts';
import { ENVIRONMENTS } from '../../domain/route.ts';
import type { Origin } from '../../telemetry/origin.ts';
import { EVENT_TYPES, type EventFilter, type EventPlace } from '../events.ts';
import type { KeysetQuery, Row } from '../keyset.ts';
import type { DueDelivery, MerchantEvent } from '../webhooks.ts';
import { type Write, insertSql } from '../write.ts';
import { unlessErased } from './unless-erased.ts';

const INSERT_EVENT = insertSql('events', [
  'id',
  'session_id',
  'environment',
  'sequence',
  'type',
  'body',
  'created',
  'request_id',
  'trace_parent',
]);
export const DELIVERY_COLUMNS = [
  'id',
  'event_id',
  'endpoint_id',
  'session_id',
  'environment',
  'type',
  'sequence',
  'status',
  'attempts',
  'schedule_start',
  'due_at',
  'created',
];
// Whoever finishes one of these at the same moment, on another instance, either sees the new one or is seen by it.
export const LOCK_EARLIER = `UPDATE deliveries SET due_at = due_at
  WHERE session_id = ?1 AND endpoint_id = ?2 AND status = 'pending'`;
// What comes behind another of its session and endpoint is due with it: rows that only wait are not read in vain.
const INSERT_DELIVERY = `INSERT INTO deliveries (${DELIVERY_COLUMNS.join(', ')})
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, COALESCE((
    SELECT MAX(due_at) FROM deliveries
    WHERE session_id = ?4 AND endpoint_id = ?3 AND sequence < ?7 AND status = 'pending'), ?11), ?12)`;
const ADD_DELIVERY = `${INSERT_DELIVERY} ON CONFLICT (session_id, endpoint_id, sequence) DO NOTHING`;
const CLAIM = `UPDATE deliveries SET attempts = ?2 + 1, due_at = ?4
  WHERE id = ?1 AND attempts = ?2 AND schedule_start = ?3 AND status = 'pending'`;
// Where the answer to an outcome was lost, it is written again: one that is there already is nobody's to write.
// It leaves the queue of its recovery, unless this attempt does not count.
const FINISH = `UPDATE deliveries SET status = ?3, due_at = ?4, schedule_start = ?5,
    last_started = ?6, last_duration_ms = ?7, last_status_code = ?8, last_failure = ?9, answer_class = ?10,
    recover_at = CASE WHEN ?11 = 1 THEN NULL ELSE recover_at END
  WHERE id = ?1 AND attempts = ?2 AND status = 'pending'
    AND NOT EXISTS (SELECT 1 FROM delivery_attempts WHERE delivery_id = ?1 AND number = ?2)`;
const REPLAY = `UPDATE deliveries SET status = 'pending', schedule_start = ?4, due_at = ?5,
    answer_class = CASE WHEN ?3 = 'delivered' THEN '2xx' ELSE answer_class END
  WHERE id = ?1 AND attempts = ?2 AND status = ?3`;
// What waits behind this delivery becomes due with it, so that it is never read in vain before. Behind a replayed one
// there may be one that has begun: that keeps its own time, or it would be sent again while it is under way. Where this one
// is to be tried again, those behind it do not hold up the queue of their recovery.
const FOLLOW = `UPDATE deliveries SET due_at = ?4, recover_at = CASE WHEN ?5 = 1 THEN NULL ELSE recover_at END
  WHERE session_id = ?1 AND endpoint_id = ?2 AND sequence > ?3 AND status = 'pending'
    AND (attempts = schedule_start OR due_at < ?4)`;
const INSERT_ATTEMPT = insertSql(
  'delivery_attempts',
  ['delivery_id', 'number', 'started', 'duration_ms', 'status_code', 'failure', 'response_body'],
  '',
  { response_body: (place) => unlessErased('?8', place, "''") },
);

export const SELECT_EVENT = 'SELECT * FROM events WHERE id = ?1';
export const SELECT_EVENTS_OF_SESSION = 'SELECT * FROM events WHERE session_id = ?1 ORDER BY sequence';
const WITH_EVENT = `SELECT candidate.*, event.body, event.request_id, event.trace_parent
    FROM deliveries AS candidate JOIN events AS event ON event.id = candidate.event_id`;
/** What a `candidate` waits for. */
export const EARLIER = `SELECT 1 FROM deliveries AS earlier
      WHERE earlier.session_id = candidate.session_id AND earlier.endpoint_id = candidate.endpoint_id
        AND earlier.sequence < candidate.sequence AND earlier.status = 'pending'`;
// Of those in the queue of a recovery only the first may begin; while its first attempt is under way it is not due. Where a
// clock was set back within a session, a later event of it stands before an earlier one in the queue, and waits for that.
export const SELECT_DELIVERIES_DUE = `SELECT * FROM (
    ${WITH_EVENT}
    WHERE candidate.endpoint_id = ?1 AND candidate.status = 'pending' AND candidate.recover_at IS NULL
      AND candidate.due_at <= ?2 AND NOT EXISTS (${EARLIER})
    ORDER BY candidate.due_at, candidate.id LIMIT ?3) AS part
  UNION ALL SELECT * FROM (
    ${WITH_EVENT}
    WHERE candidate.endpoint_id = ?1 AND candidate.recover_at IS NOT NULL
      AND NOT EXISTS (${EARLIER})
    ORDER BY candidate.recover_at, candidate.sequence, candidate.event_id LIMIT 1) AS part
  WHERE part.due_at <= ?2
  ORDER BY due_at, id LIMIT ?3`;
export const SELECT_ENVIRONMENT_OF_ENDPOINT = 'SELECT environment FROM webhook_endpoints WHERE id = ?1';
export const SELECT_DELIVERY = 'SELECT * FROM deliveries WHERE id = ?1';
export const SELECT_DELIVERIES_OF_SESSION =
  'SELECT * FROM deliveries WHERE session_id = ?1 ORDER BY endpoint_id, sequence';
// By way of its session, so that this needs no index of its own.
export const SELECT_DELIVERIES_OF_EVENT = `SELECT delivery.*
  FROM events AS event JOIN deliveries AS delivery
    ON delivery.session_id = event.session_id AND delivery.event_id = event.id
  WHERE event.id = ?1`;
export const SELECT_DELIVERY_ATTEMPTS = 'SELECT * FROM delivery_attempts WHERE delivery_id = ?1 ORDER BY number';

export function insertEvent(event: MerchantEvent): Write {
  const { id, sessionId, environment, sequence, type, body, created, origin } = event;
  const { requestId = null, traceParent = null } = origin ?? {};
  return {
    sql: INSERT_EVENT,
    params: [id, sessionId, environment, sequence, type, body, created, requestId, traceParent],
  };
}

export function insertDelivery(delivery: Delivery): Write[] {
  return insertion(INSERT_DELIVERY, delivery);
}

/** One that was not made with its event: whoever is second to make it is overtaken. */
export function addDelivery(delivery: Delivery): Write[] {
  const [lock, insert] = insertion(ADD_DELIVERY, delivery);
  return [lock, { ...insert, guard: 'overtaken' }];
}

function insertion(sql: string, delivery: Delivery): [lock: Write, insert: Write] {
  const { id, eventId, endpointId, sessionId, environment, type, sequence, status, created } = delivery;
  const { attempts, scheduleStart, dueAt } = delivery;
  return [
    { sql: LOCK_EARLIER, params: [sessionId, endpointId] },
    {
      sql,
      params: [
        id,
        eventId,
        endpointId,
        sessionId,
        environment,
        type,
        sequence,
        status,
        attempts,
        scheduleStart,
        dueAt,
        created,
      ],
    },
  ];
}

/** Begins the attempt `delivery.attempts`; until `delivery.dueAt` nobody else does. */
export function claimDelivery(delivery: Delivery): Write {
  const { id, attempts, scheduleStart, dueAt } = delivery;
  return { sql: CLAIM, params: [id, attempts - 1, scheduleStart, dueAt], guard: 'overtaken' };
}

/** Makes it due at `delivery.dueAt`, whatever has become of it; the log is kept. */
export function replayDelivery({ id, attempts, scheduleStart, dueAt }: Delivery, from: Delivery['status']): Write {
  return { sql: REPLAY, params: [id, attempts, from, scheduleStart, dueAt], guard: 'overtaken' };
}

export function finishDelivery(delivery: Delivery, attempt: DeliveryAttempt, now: number): Write[] {
  const { id, status, attempts, scheduleStart, dueAt, sessionId, endpointId, sequence } = delivery;
  const { started, durationMs, statusCode, failure } = attempt;
  const freedAt = status === 'pending' ? dueAt : now;
  const answerClass = status === 'delivered' ? null : answerClassOf(statusCode);
  const counts = status !== 'pending' || attempts > scheduleStart;
  const last = [started, durationMs, statusCode, failure, answerClass];
  return [
    { sql: FINISH, params: [id, attempts, status, dueAt, scheduleStart, ...last, counts ? 1 : 0], guard: 'overtaken' },
    { sql: FOLLOW, params: [sessionId, endpointId, sequence, freedAt, status === 'pending' && counts ? 1 : 0] },
    {
      sql: INSERT_ATTEMPT,
      params: [
        id,
        attempt.number,
        attempt.started,
        attempt.durationMs,
        attempt.statusCode,
        attempt.failure,
        attempt.responseBody,
        sessionId,
      ],
    },
  ];
}

export function eventFromRow(row: Row): MerchantEvent {
  return {
    id: row['id'] as string,
    sessionId: row['session_id'] as string,
    environment: row['environment'] as MerchantEvent['environment'],
    sequence: row['sequence'] as number,
    type: row['type'] as MerchantEvent['type'],
    body: row['body'] as string,
    created: row['created'] as number,
    ...originFromRow(row),
  };
}

function originFromRow(row: Row): { origin?: Origin } {
  const requestId = row['request_id'] as string | null;
  const traceParent = row['trace_parent'] as string | null;
  return requestId === null && traceParent === null ? {} : { origin: { requestId, traceParent } };
}

export function deliveryFromRow(row: Row): Delivery {
  return {
    id: row['id'] as string,
    eventId: row['event_id'] as string,
    endpointId: row['endpoint_id'] as string,
    sessionId: row['session_id'] as string,
    environment: row['environment'] as Delivery['environment'],
    type: row['type'] as Delivery['type'],
    sequence: row['sequence'] as number,
    status: row['status'] as Delivery['status'],
    attempts: row['attempts'] as number,
    scheduleStart: row['schedule_start'] as number,
    dueAt: row['due_at'] as number,
    lastAttempt: lastAttemptFromRow(row),
    created: row['created'] as number,
  };
}

function lastAttemptFromRow(row: Row): Delivery['lastAttempt'] {
  const started = row['last_started'] as number | null;
  if (started === null) return null;
  return {
    started,
    durationMs: row['last_duration_ms'] as number,
    statusCode: row['last_status_code'] as number | null,
    failure: row['last_failure'] as string | null,
  };
}

/** The page's range, for filters that do not already name the events; `cursor` is the place of the page's cursor. */
export function eventKeyset({ type, environment }: EventFilter, cursor: EventPlace | undefined): KeysetQuery {
  return {
    table: 'events',
    equals: { ...(environment !== undefined && { environment }), ...(type !== undefined && { type }) },
    oneOf: {
      ...(environment === undefined && { environment: ENVIRONMENTS }),
      ...(type === undefined && { type: EVENT_TYPES }),
    },
    sortedBy: { columns: ['created', 'sequence'], cursor: cursor && [cursor.created, cursor.sequence] },
  };
}

export function dueDeliveryFromRow(row: Row): DueDelivery {
  return { delivery: deliveryFromRow(row), body: row['body'] as string, ...originFromRow(row) };
}

export function attemptFromRow(row: Row): DeliveryAttempt {
  return {
    deliveryId: row['delivery_id'] as string,
    number: row['number'] as number,
    started: row['started'] as number,
    durationMs: row['duration_ms'] as number,
    statusCode: row['status_code'] as number | null,
    failure: row['failure'] as string | null,
    responseBody: row['response_body'] as string,
  };
}
