import {
  type Delivery,
  type DeliveryAttempt,
  type DeliveryStatus,
  type LastAttempt,
  answerClassOf,
} from '../../domain/delivery.ts';
import type { Origin } from '../../telemetry/origin.ts';
import type { Row } from '../keyset.ts';
import { describeTable, integer, named, text } from '../table-description.ts';
import type { MerchantEvent } from '../webhooks-port.ts';
import { type Write, statement } from '../write-statement.ts';
import { textUnlessErased } from './erased-text.ts';

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
export const deliveryToRow = DELIVERIES.values;
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
  written: (place) => ({ response_body: textUnlessErased('?8', place('response_body'), "''") }),
});

// Locks the pending deliveries of the session before a new one is inserted. A concurrent transaction that finishes one of them
// either committed before, or waits and then sees the new delivery.
export const LOCK_EARLIER_DELIVERIES = `UPDATE deliveries SET due_at = due_at
  WHERE session_id = ?1 AND endpoint_id = ?2 AND status = 'pending'`;
// A new delivery gets the due time of the pending deliveries before it, so that polls skip all of them until that time.
const INSERT_DELIVERY = `INSERT INTO deliveries (${DELIVERY_COLUMNS.join(', ')})
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, COALESCE((
    SELECT MAX(due_at) FROM deliveries
    WHERE session_id = ?4 AND endpoint_id = ?3 AND sequence < ?7 AND status = 'pending'), ?11), ?12)`;
const ADD_DELIVERY = `${INSERT_DELIVERY} ON CONFLICT (session_id, endpoint_id, sequence) DO NOTHING`;
/** SQL of the deliveries that a `candidate` waits for: pending, earlier, of the same session and endpoint. */
export const EARLIER_DELIVERY = `SELECT 1 FROM deliveries AS earlier
      WHERE earlier.session_id = candidate.session_id AND earlier.endpoint_id = candidate.endpoint_id
        AND earlier.sequence < candidate.sequence AND earlier.status = 'pending'`;
const CLAIM = `UPDATE deliveries SET attempts = ?2 + 1, due_at = ?4
  WHERE id = ?1 AND attempts = ?2 AND schedule_start = ?3 AND status = 'pending'`;
// For a delivery that was not read as due: it must be the first pending one of its session, and its endpoint unchanged and active.
const CLAIM_NEW = `UPDATE deliveries AS candidate SET attempts = ?2 + 1, due_at = ?4
  WHERE id = ?1 AND attempts = ?2 AND schedule_start = ?3 AND status = 'pending'
    AND EXISTS (SELECT 1 FROM webhook_endpoints WHERE id = endpoint_id AND version = ?5 AND status = 'active')
    AND NOT EXISTS (${EARLIER_DELIVERY})`;
// The operation commits again if it lost the answer of the database; the attempt log shows whether the first commit was applied.
// The delivery leaves the queue of its recovery, unless the attempt sent nothing and does not count (?11).
const FINISH = `UPDATE deliveries SET status = ?3, due_at = ?4, schedule_start = ?5,
    last_started = ?6, last_duration_ms = ?7, last_status_code = ?8, last_failure = ?9, answer_class = ?10,
    recover_at = CASE WHEN ?11 = 1 THEN NULL ELSE recover_at END
  WHERE id = ?1 AND attempts = ?2 AND status = 'pending'
    AND NOT EXISTS (SELECT 1 FROM delivery_attempts WHERE delivery_id = ?1 AND number = ?2)`;
const REPLAY = `UPDATE deliveries SET status = 'pending', schedule_start = ?4, due_at = ?5,
    answer_class = CASE WHEN ?3 = 'delivered' THEN '2xx' ELSE answer_class END
  WHERE id = ?1 AND attempts = ?2 AND status = ?3`;
// Later deliveries of the session get the due time of the finished delivery, so that polls skip them until then. A later
// delivery that may have an attempt in progress keeps its due time, so that it is not sent twice. If the finished delivery will
// be retried (?5), the later deliveries leave the queue of their recovery, which would otherwise wait for them.
const FOLLOW = `UPDATE deliveries SET due_at = ?4, recover_at = CASE WHEN ?5 = 1 THEN NULL ELSE recover_at END
  WHERE session_id = ?1 AND endpoint_id = ?2 AND sequence > ?3 AND status = 'pending'
    AND (attempts = schedule_start OR due_at < ?4)`;

interface OfDelivery {
  delivery: Delivery;
}

function insertDelivery(sql: string, delivery: Delivery, guard?: 'overtaken'): Write[] {
  const { sessionId, endpointId } = delivery;
  return [
    statement(LOCK_EARLIER_DELIVERIES, [sessionId, endpointId]),
    statement(sql, DELIVERIES.values(delivery), guard),
  ];
}

export const deliveryWrites = {
  event_recorded({ event }: { event: MerchantEvent }) {
    const { requestId = null, traceParent = null } = event.origin ?? {};
    return insertEventRow(event, requestId, traceParent);
  },
  delivery_created: ({ delivery }: OfDelivery) => insertDelivery(INSERT_DELIVERY, delivery),
  /** Guard: the event has no delivery to this endpoint. */
  delivery_added: ({ delivery }: OfDelivery) => insertDelivery(ADD_DELIVERY, delivery, 'overtaken'),
  /** Begins attempt number `attempts`, with a lease until `dueAt`. Guard: no other attempt or schedule has begun. */
  delivery_claimed({ delivery, endpointVersion }: OfDelivery & { endpointVersion?: number | undefined }) {
    const { id, attempts, scheduleStart, dueAt } = delivery;
    const params = [id, attempts - 1, scheduleStart, dueAt];
    return endpointVersion === undefined
      ? statement(CLAIM, params, 'overtaken')
      : statement(CLAIM_NEW, [...params, endpointVersion], 'overtaken');
  },
  /** Ends attempt number `attempts`. Guard: no later attempt has begun. An `unmade` attempt sent nothing. */
  delivery_finished({ delivery, attempt }: OfDelivery & { attempt: DeliveryAttempt; unmade?: true }) {
    const { id, status, attempts, scheduleStart, dueAt, sessionId, endpointId, sequence } = delivery;
    const freedAt = status === 'pending' ? dueAt : attempt.started + attempt.durationMs;
    const answerClass = status === 'delivered' ? null : answerClassOf(attempt.statusCode);
    const counts = status !== 'pending' || attempts > scheduleStart;
    const last = [...LAST_ATTEMPTS.values(attempt), answerClass, counts ? 1 : 0];
    return [
      statement(FINISH, [id, attempts, status, dueAt, scheduleStart, ...last], 'overtaken'),
      statement(FOLLOW, [sessionId, endpointId, sequence, freedAt, status === 'pending' && counts ? 1 : 0]),
      insertAttempt(attempt, sessionId),
    ];
  },
  /** Makes a delivery due at `dueAt`, and preserves its attempt log. Guard: the attempts are unchanged and the status is `from`. */
  delivery_replayed: ({ delivery, from }: OfDelivery & { from: DeliveryStatus }) =>
    statement(REPLAY, [delivery.id, delivery.attempts, from, delivery.scheduleStart, delivery.dueAt], 'overtaken'),
};

export function eventFromRow(row: Row): MerchantEvent {
  return Object.assign(EVENTS.fromRow(row), originFromRow(row));
}

export function originFromRow(row: Row): { origin?: Origin } {
  const requestId = row['request_id'] as string | null;
  const traceParent = row['trace_parent'] as string | null;
  return requestId === null && traceParent === null ? {} : { origin: { requestId, traceParent } };
}

export function deliveryFromRow(row: Row): Delivery {
  const lastAttempt = row['last_started'] === null ? null : LAST_ATTEMPTS.fromRow(row);
  return Object.assign(DELIVERIES.fromRow(row), { lastAttempt });
}
