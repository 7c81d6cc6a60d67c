import {
  type AnswerClass,
  DELIVERY_STATUSES,
  type Delivery,
  type DeliveryAttempt,
  type LastAttempt,
  answerClassOf,
} from '../../domain/delivery.ts';
import { firstIdAt } from '../../domain/id.ts';
import { ENVIRONMENTS } from '../../domain/route.ts';
import type { Origin } from '../../telemetry/origin.ts';
import { EVENT_TYPES, type EventFilter, type EventPlace } from '../events.ts';
import { type KeysetQuery, type Row, splitColumns } from '../keyset.ts';
import { describeTable, integer, named, text } from '../table-description.ts';
import type { DeliveryFilter, DueDelivery, MerchantEvent } from '../webhooks.ts';
import type { Write } from '../write.ts';
import { unlessErased } from './erased-text.ts';

const EVENTS = describeTable<Omit<MerchantEvent, 'origin'>>('events', {
  id: text,
  sessionId: text,
  environment: text,
  sequence: integer,
  type: text,
  body: text,
  created: integer,
});
const insertEventRow = EVENTS.insert({ extra: ['request_id', 'trace_parent'] });

const DELIVERIES = describeTable<Omit<Delivery, 'lastAttempt'>>('deliveries', {
  id: text,
  eventId: text,
  endpointId: text,
  sessionId: text,
  environment: text,
  type: text,
  sequence: integer,
  status: text,
  attempts: integer,
  scheduleStart: integer,
  dueAt: integer,
  created: integer,
});
export const DELIVERY_COLUMNS = DELIVERIES.columns.map(({ name }) => name);
export const deliveryValues = DELIVERIES.values;
const LAST_ATTEMPTS = describeTable<LastAttempt>('deliveries', {
  started: named('last_started', integer),
  durationMs: named('last_duration_ms', integer),
  statusCode: named('last_status_code', integer),
  failure: named('last_failure', text),
});

export const DELIVERY_ATTEMPTS = describeTable<DeliveryAttempt>('delivery_attempts', {
  deliveryId: text,
  number: integer,
  started: integer,
  durationMs: integer,
  statusCode: integer,
  failure: text,
  responseBody: text,
});
const insertAttempt = DELIVERY_ATTEMPTS.insert({
  written: (place) => ({ response_body: unlessErased('?8', place('response_body'), "''") }),
});

// A transaction of another instance that finishes one of these at the same moment either sees the new delivery or waits for it.
export const LOCK_EARLIER = `UPDATE deliveries SET due_at = due_at
  WHERE session_id = ?1 AND endpoint_id = ?2 AND status = 'pending'`;
// A delivery behind another one of its session and endpoint is due with it: rows that only wait are not read in vain.
const INSERT_DELIVERY = `INSERT INTO deliveries (${DELIVERY_COLUMNS.join(', ')})
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, COALESCE((
    SELECT MAX(due_at) FROM deliveries
    WHERE session_id = ?4 AND endpoint_id = ?3 AND sequence < ?7 AND status = 'pending'), ?11), ?12)`;
const ADD_DELIVERY = `${INSERT_DELIVERY} ON CONFLICT (session_id, endpoint_id, sequence) DO NOTHING`;
const CLAIM = `UPDATE deliveries SET attempts = ?2 + 1, due_at = ?4
  WHERE id = ?1 AND attempts = ?2 AND schedule_start = ?3 AND status = 'pending'`;
// An outcome is written again if the answer of the database was lost; the log shows whether the first write was applied.
// The delivery leaves the queue of its recovery, unless this attempt does not count.
const FINISH = `UPDATE deliveries SET status = ?3, due_at = ?4, schedule_start = ?5,
    last_started = ?6, last_duration_ms = ?7, last_status_code = ?8, last_failure = ?9, answer_class = ?10,
    recover_at = CASE WHEN ?11 = 1 THEN NULL ELSE recover_at END
  WHERE id = ?1 AND attempts = ?2 AND status = 'pending'
    AND NOT EXISTS (SELECT 1 FROM delivery_attempts WHERE delivery_id = ?1 AND number = ?2)`;
const REPLAY = `UPDATE deliveries SET status = 'pending', schedule_start = ?4, due_at = ?5,
    answer_class = CASE WHEN ?3 = 'delivered' THEN '2xx' ELSE answer_class END
  WHERE id = ?1 AND attempts = ?2 AND status = ?3`;
// Deliveries that wait behind this one become due with it, so that they are not read in vain before. A delivery behind a
// replayed one may have an attempt in progress: it keeps its own time, or it would be sent twice at once. If this delivery is
// to be tried again, those behind it do not hold up the queue of their recovery.
const FOLLOW = `UPDATE deliveries SET due_at = ?4, recover_at = CASE WHEN ?5 = 1 THEN NULL ELSE recover_at END
  WHERE session_id = ?1 AND endpoint_id = ?2 AND sequence > ?3 AND status = 'pending'
    AND (attempts = schedule_start OR due_at < ?4)`;

export const SELECT_EVENT = 'SELECT * FROM events WHERE id = ?1';
export const SELECT_EVENTS_OF_SESSION = 'SELECT * FROM events WHERE session_id = ?1 ORDER BY sequence';
const WITH_EVENT = `SELECT candidate.*, event.body, event.request_id, event.trace_parent
    FROM deliveries AS candidate JOIN events AS event ON event.id = candidate.event_id`;
/** Deliveries that a `candidate` waits for. */
export const EARLIER = `SELECT 1 FROM deliveries AS earlier
      WHERE earlier.session_id = candidate.session_id AND earlier.endpoint_id = candidate.endpoint_id
        AND earlier.sequence < candidate.sequence AND earlier.status = 'pending'`;
// Of those in the queue of a recovery only the first may begin; while its first attempt is in progress it is not due. If a
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
  const { requestId = null, traceParent = null } = event.origin ?? {};
  return insertEventRow(event, requestId, traceParent);
}

export function insertDelivery(delivery: Delivery): Write[] {
  const { sessionId, endpointId } = delivery;
  return [
    { sql: LOCK_EARLIER, params: [sessionId, endpointId] },
    { sql: INSERT_DELIVERY, params: deliveryValues(delivery) },
  ];
}

/** A delivery that was not created with its event; a second one of the same event and endpoint is a conflict. */
export function addDelivery(delivery: Delivery): Write[] {
  const [lock, insert] = insertDelivery(delivery);
  return [lock!, { ...insert!, sql: ADD_DELIVERY, guard: 'overtaken' }];
}

/** Begins the attempt `delivery.attempts`, under a lease until `delivery.dueAt`. */
export function claimDelivery({ id, attempts, scheduleStart, dueAt }: Delivery): Write {
  return { sql: CLAIM, params: [id, attempts - 1, scheduleStart, dueAt], guard: 'overtaken' };
}

/** Makes a delivery due at `delivery.dueAt`, whatever its outcome; the log is retained. */
export function replayDelivery({ id, attempts, scheduleStart, dueAt }: Delivery, from: Delivery['status']): Write {
  return { sql: REPLAY, params: [id, attempts, from, scheduleStart, dueAt], guard: 'overtaken' };
}

export function finishDelivery(delivery: Delivery, attempt: DeliveryAttempt, now: number): Write[] {
  const { id, status, attempts, scheduleStart, dueAt, sessionId, endpointId, sequence } = delivery;
  const freedAt = status === 'pending' ? dueAt : now;
  const answerClass = status === 'delivered' ? null : answerClassOf(attempt.statusCode);
  const counts = status !== 'pending' || attempts > scheduleStart;
  const last = [...LAST_ATTEMPTS.values(attempt), answerClass];
  return [
    { sql: FINISH, params: [id, attempts, status, dueAt, scheduleStart, ...last, counts ? 1 : 0], guard: 'overtaken' },
    { sql: FOLLOW, params: [sessionId, endpointId, sequence, freedAt, status === 'pending' && counts ? 1 : 0] },
    insertAttempt(attempt, sessionId),
  ];
}

export function eventFromRow(row: Row): MerchantEvent {
  return Object.assign(EVENTS.fromRow(row), originFromRow(row));
}

function originFromRow(row: Row): { origin?: Origin } {
  const requestId = row['request_id'] as string | null;
  const traceParent = row['trace_parent'] as string | null;
  return requestId === null && traceParent === null ? {} : { origin: { requestId, traceParent } };
}

export function deliveryFromRow(row: Row): Delivery {
  const lastAttempt = row['last_started'] === null ? null : LAST_ATTEMPTS.fromRow(row);
  return Object.assign(DELIVERIES.fromRow(row), { lastAttempt });
}

export function dueDeliveryFromRow(row: Row): DueDelivery {
  return { delivery: deliveryFromRow(row), body: row['body'] as string, ...originFromRow(row) };
}

/** The page's range, for filters that do not already name the events; `cursor` is the place of the page's cursor. */
export function eventKeyset({ type, environment }: EventFilter, cursor: EventPlace | undefined): KeysetQuery {
  const range = splitColumns({ environment, type }, { environment: ENVIRONMENTS, type: EVENT_TYPES });
  const sortedBy = { columns: ['created', 'sequence'], cursor: cursor && [cursor.created, cursor.sequence] };
  return { table: 'events', ...range, sortedBy };
}

/** Limit of the difference between the time in a delivery's id and its `created`, which are two readings of one clock. */
const ID_TIME_SLACK_MS = 5000;

/**
 * The ranges of a page, for filters that do not already name the deliveries; none if nothing can match. Only deliveries that are
 * not delivered have an answer class: a delivered one was answered with 2xx.
 */
export function deliveryKeysets(filter: DeliveryFilter): KeysetQuery[] {
  const { endpointId: endpoint_id, environment, type, status, statusClass, createdFrom, createdUntil } = filter;
  const shared = {
    table: 'deliveries',
    ids: {
      from: createdFrom === undefined ? undefined : firstIdAt('dlv', createdFrom - ID_TIME_SLACK_MS),
      below: createdUntil === undefined ? undefined : firstIdAt('dlv', createdUntil + ID_TIME_SLACK_MS),
    },
    also: [
      ...(createdFrom === undefined ? [] : [['created >= ', createdFrom] as const]),
      ...(createdUntil === undefined ? [] : [['created < ', createdUntil] as const]),
    ],
  };
  if ([endpoint_id, environment, type, status, statusClass].every((value) => value === undefined)) {
    return [{ ...shared, equals: {}, oneOf: {} }];
  }
  // An endpoint implies its environment.
  const place = endpoint_id === undefined ? { environment } : { endpoint_id };
  const open = { ...(endpoint_id === undefined && { environment: ENVIRONMENTS }), type: EVENT_TYPES };
  const ranges = (statuses: readonly string[], answer_class?: AnswerClass): KeysetQuery[] => {
    if (statuses.length === 0) return [];
    const only = statuses.length === 1 ? statuses[0] : undefined;
    return [
      { ...shared, ...splitColumns({ ...place, answer_class, type, status: only }, { ...open, status: statuses }) },
    ];
  };
  const statuses = DELIVERY_STATUSES.filter((known) => known === (status ?? known));
  if (statusClass === undefined) return ranges(statuses);
  const [delivered, others] = [
    statuses.filter((one) => one === 'delivered'),
    statuses.filter((one) => one !== 'delivered'),
  ];
  return [...(statusClass === '2xx' ? ranges(delivered) : []), ...ranges(others, statusClass)];
}
