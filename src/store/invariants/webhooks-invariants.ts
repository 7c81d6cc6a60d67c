import { EVENT_TYPES } from '../event-places.ts';
import { duplicates, invariants, orphans, sqlList } from './invariant.ts';

/** Sessions without an event that they must have, or with one that they cannot have. */
function eventSql(type: string, announced: string, possible: string): string {
  return `SELECT DISTINCT session.id AS id FROM sessions AS session
    LEFT JOIN events AS event ON event.session_id = session.id AND event.type = '${type}'
    WHERE (${announced} AND event.id IS NULL) OR (event.id IS NOT NULL AND NOT (${possible}))`;
}

/** Merchant events and their deliveries. An event commits together with the change of its session's status. */
export const WEBHOOK_INVARIANTS = invariants({
  event_id: {
    says: 'The id of an event is evt_<session>_<status>, and its type is payment.<status>.',
    sql: `SELECT id FROM events
      WHERE type NOT IN (${sqlList(EVENT_TYPES)}) OR id <> 'evt_' || session_id || '_' || SUBSTR(type, 9)`,
  },
  one_event_per_status: {
    says: 'A session has at most one event of a status.',
    sql: duplicates('events', 'session_id, type'),
  },
  event_session: {
    says: 'An event has a session, of the same environment, and a sequence that is one of the versions it had since.',
    sql: orphans('events', 'session_id', 'sessions', ['environment'], {
      or: ['child.sequence < 2', 'child.sequence > parent.version'],
    }),
  },
  event_order: {
    says: 'The events of a session are in the order provider_pending, failed, paid.',
    sql: `SELECT DISTINCT later.id AS id FROM events AS later
      JOIN events AS earlier ON earlier.session_id = later.session_id
      WHERE later.sequence <= earlier.sequence
        AND ((later.type = 'payment.paid' AND earlier.type <> 'payment.paid')
          OR (later.type = 'payment.failed' AND earlier.type = 'payment.provider_pending'))`,
  },
  event_body: {
    says: 'The body of an event begins with its id.',
    sql: `SELECT id FROM events WHERE SUBSTR(body, 1, LENGTH(id) + 8) <> '{"id":"' || id || '"'`,
  },
  pending_event: {
    says: 'A session has a provider_pending event exactly when it notes that this has been announced.',
    sql: eventSql('payment.provider_pending', 'session.announced = 1', 'session.announced = 1'),
  },
  failed_event: {
    says: 'A failed session has a failed event, and no other has, but for one that was paid late.',
    sql: eventSql('payment.failed', "session.status = 'failed'", "session.status IN ('failed', 'paid')"),
  },
  paid_event: {
    says: 'A session has a paid event exactly when it is paid.',
    sql: eventSql('payment.paid', "session.status = 'paid'", "session.status = 'paid'"),
  },
  // Deliveries and the log of their attempts. Due times are not checked: no statement has a clock.
  delivery_event: {
    says: 'A delivery has an event, of the same session, environment, type and sequence.',
    sql: orphans('deliveries', 'event_id', 'events', ['session_id', 'environment', 'type', 'sequence']),
  },
  delivery_endpoint: {
    says: 'A delivery has an endpoint, of the same environment.',
    sql: orphans('deliveries', 'endpoint_id', 'webhook_endpoints', ['environment']),
  },
  one_delivery_per_endpoint: {
    says: 'An event has at most one delivery to an endpoint.',
    sql: duplicates('deliveries', 'session_id, endpoint_id, event_id'),
  },
  delivery_schedule: {
    says: 'A delivery has begun no attempt of its schedule only while it is pending, or where its endpoint was disabled from the start.',
    sql: `SELECT id FROM deliveries
      WHERE schedule_start < 0 OR schedule_start > attempts
        OR (schedule_start = attempts AND (status = 'delivered' OR (status = 'dead' AND attempts > 0)))`,
  },
  delivered_acknowledged: {
    says: 'A delivery is delivered exactly when its last attempt was answered with 200, but for one that was replayed since.',
    sql: `SELECT delivery.id AS id FROM deliveries AS delivery
      LEFT JOIN delivery_attempts AS last ON last.delivery_id = delivery.id AND last.number = delivery.attempts
      WHERE (delivery.status = 'delivered' AND COALESCE(last.status_code, 0) <> 200)
        OR (delivery.status <> 'delivered' AND last.status_code = 200 AND delivery.schedule_start <> delivery.attempts)`,
  },
  dead_attempted: {
    says: 'A dead delivery has its last attempt in the log, where it has begun any.',
    sql: `SELECT delivery.id AS id FROM deliveries AS delivery
      LEFT JOIN delivery_attempts AS last ON last.delivery_id = delivery.id AND last.number = delivery.attempts
      WHERE delivery.status = 'dead' AND delivery.attempts > 0 AND last.delivery_id IS NULL`,
  },
  attempt_log: {
    says: 'A logged attempt is one that its delivery has begun, and has a failure exactly when it was not answered with 200.',
    sql: `SELECT DISTINCT attempt.delivery_id AS id FROM delivery_attempts AS attempt
      LEFT JOIN deliveries AS delivery ON delivery.id = attempt.delivery_id
      WHERE delivery.id IS NULL OR attempt.number < 1 OR attempt.number > delivery.attempts
        OR attempt.duration_ms < 0 OR (attempt.failure IS NULL) <> (COALESCE(attempt.status_code, 0) = 200)`,
  },
});
