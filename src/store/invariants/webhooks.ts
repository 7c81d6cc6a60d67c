import { EVENT_TYPES } from '../events.ts';
import { type Invariant, quoted } from './invariant.ts';

/** Sessions that lack the event of a status they must have announced, or have one that they cannot have announced. */
function eventSql(type: string, announced: string, possible: string): string {
  return `SELECT DISTINCT session.id AS id FROM sessions AS session
    LEFT JOIN events AS event ON event.session_id = session.id AND event.type = '${type}'
    WHERE (${announced} AND event.id IS NULL) OR (event.id IS NOT NULL AND NOT (${possible}))
    ORDER BY id LIMIT ?1`;
}

/** Merchant events. The one of a status commits together with the session reaching it. */
const EVENT_INVARIANTS: readonly Invariant[] = [
  {
    name: 'event_id',
    says: 'The id of an event is evt_<session>_<status>, and its type is payment.<status>.',
    sql: `SELECT id FROM events
      WHERE type NOT IN (${quoted(EVENT_TYPES)}) OR id <> 'evt_' || session_id || '_' || SUBSTR(type, 9)
      ORDER BY id LIMIT ?1`,
  },
  {
    name: 'one_event_per_status',
    says: 'A session has at most one event of a status.',
    sql: `SELECT MAX(id) AS id FROM events GROUP BY session_id, type HAVING COUNT(*) > 1 ORDER BY id LIMIT ?1`,
  },
  {
    name: 'event_session',
    says: 'An event has a session, of the same environment, and a sequence that is one of the versions it had since.',
    sql: `SELECT event.id AS id FROM events AS event LEFT JOIN sessions AS session ON session.id = event.session_id
      WHERE session.id IS NULL OR session.environment <> event.environment
        OR event.sequence < 2 OR event.sequence > session.version
      ORDER BY id LIMIT ?1`,
  },
  {
    name: 'event_order',
    says: 'The events of a session are in the order provider_pending, failed, paid.',
    sql: `SELECT DISTINCT later.id AS id FROM events AS later
      JOIN events AS earlier ON earlier.session_id = later.session_id
      WHERE later.sequence <= earlier.sequence
        AND ((later.type = 'payment.paid' AND earlier.type <> 'payment.paid')
          OR (later.type = 'payment.failed' AND earlier.type = 'payment.provider_pending'))
      ORDER BY id LIMIT ?1`,
  },
  {
    name: 'event_body',
    says: 'The body of an event begins with its id.',
    sql: `SELECT id FROM events WHERE SUBSTR(body, 1, LENGTH(id) + 8) <> '{"id":"' || id || '"' ORDER BY id LIMIT ?1`,
  },
  {
    name: 'pending_event',
    says: 'A session has a provider_pending event exactly when it notes that this has been announced.',
    sql: eventSql('payment.provider_pending', 'session.announced = 1', 'session.announced = 1'),
  },
  {
    name: 'failed_event',
    says: 'A failed session has a failed event, and no other has, but for one that was paid late.',
    sql: eventSql('payment.failed', "session.status = 'failed'", "session.status IN ('failed', 'paid')"),
  },
  {
    name: 'paid_event',
    says: 'A session has a paid event exactly when it is paid.',
    sql: eventSql('payment.paid', "session.status = 'paid'", "session.status = 'paid'"),
  },
];

/** Deliveries and the log of their attempts. When one is due is not told here: no statement has a clock to ask. */
const DELIVERY_INVARIANTS: readonly Invariant[] = [
  {
    name: 'delivery_event',
    says: 'A delivery has an event, of the same session, environment, type and sequence.',
    sql: `SELECT delivery.id AS id FROM deliveries AS delivery LEFT JOIN events AS event ON event.id = delivery.event_id
      WHERE event.id IS NULL OR event.session_id <> delivery.session_id OR event.environment <> delivery.environment
        OR event.type <> delivery.type OR event.sequence <> delivery.sequence
      ORDER BY id LIMIT ?1`,
  },
  {
    name: 'delivery_endpoint',
    says: 'A delivery has an endpoint, of the same environment.',
    sql: `SELECT delivery.id AS id FROM deliveries AS delivery
      LEFT JOIN webhook_endpoints AS endpoint ON endpoint.id = delivery.endpoint_id
      WHERE endpoint.id IS NULL OR endpoint.environment <> delivery.environment ORDER BY id LIMIT ?1`,
  },
  {
    name: 'one_delivery_per_endpoint',
    says: 'An event has at most one delivery to an endpoint.',
    sql: `SELECT MAX(id) AS id FROM deliveries GROUP BY session_id, endpoint_id, event_id HAVING COUNT(*) > 1
      ORDER BY id LIMIT ?1`,
  },
  {
    name: 'delivery_schedule',
    says: 'A delivery has begun no attempt of its schedule only while it is pending, or where its endpoint was disabled from the start.',
    sql: `SELECT id FROM deliveries
      WHERE schedule_start < 0 OR schedule_start > attempts
        OR (schedule_start = attempts AND (status = 'delivered' OR (status = 'dead' AND attempts > 0)))
      ORDER BY id LIMIT ?1`,
  },
  {
    name: 'delivered_acknowledged',
    says: 'A delivery is delivered exactly when its last attempt was answered with 200, but for one that was replayed since.',
    sql: `SELECT delivery.id AS id FROM deliveries AS delivery
      LEFT JOIN delivery_attempts AS last ON last.delivery_id = delivery.id AND last.number = delivery.attempts
      WHERE (delivery.status = 'delivered' AND COALESCE(last.status_code, 0) <> 200)
        OR (delivery.status <> 'delivered' AND last.status_code = 200 AND delivery.schedule_start <> delivery.attempts)
      ORDER BY id LIMIT ?1`,
  },
  {
    name: 'dead_attempted',
    says: 'A dead delivery has its last attempt in the log, where it has begun any.',
    sql: `SELECT delivery.id AS id FROM deliveries AS delivery
      LEFT JOIN delivery_attempts AS last ON last.delivery_id = delivery.id AND last.number = delivery.attempts
      WHERE delivery.status = 'dead' AND delivery.attempts > 0 AND last.delivery_id IS NULL ORDER BY id LIMIT ?1`,
  },
  {
    name: 'attempt_log',
    says: 'A logged attempt is one that its delivery has begun, and has a failure exactly when it was not answered with 200.',
    sql: `SELECT DISTINCT attempt.delivery_id AS id FROM delivery_attempts AS attempt
      LEFT JOIN deliveries AS delivery ON delivery.id = attempt.delivery_id
      WHERE delivery.id IS NULL OR attempt.number < 1 OR attempt.number > delivery.attempts
        OR attempt.duration_ms < 0 OR (attempt.failure IS NULL) <> (COALESCE(attempt.status_code, 0) = 200)
      ORDER BY id LIMIT ?1`,
  },
];

export const WEBHOOK_INVARIANTS: readonly Invariant[] = [...EVENT_INVARIANTS, ...DELIVERY_INVARIANTS];
