import { MAX_EARLIER_SECRETS, MAX_ENDPOINTS, PAYMENT_TYPES, STATUS_TYPES } from '../../domain/webhook-endpoint.ts';
import { duplicates, invariants, orphans, sqlList } from './invariant.ts';

/** SQL of the sessions that lack an event of `type` although `announced` holds, or have one although `possible` does not. */
function eventSql(type: string, announced: string, possible: string): string {
  return `SELECT DISTINCT session.id AS id FROM sessions AS session
    LEFT JOIN events AS event ON event.session_id = session.id AND event.type = '${type}'
    WHERE (${announced} AND event.id IS NULL) OR (event.id IS NOT NULL AND NOT (${possible}))`;
}

/** SQL of the rank of an event by its type: lower ranks come first in a session. Refunds and disputes have the same rank. */
function rankOf(event: string): string {
  return `CASE ${event}.type WHEN 'payment.provider_pending' THEN 1 WHEN 'payment.failed' THEN 2 WHEN 'payment.paid' THEN 3 ELSE 4 END`;
}

const STATUSES = sqlList(STATUS_TYPES);
const DELETED = sqlList(['deleting', 'deleted']);

/** Merchant events, their deliveries and endpoints, and the feed. */
export const WEBHOOK_INVARIANTS = invariants({
  // Merchant events and their deliveries. An event commits together with the change of its session's status.
  event_id: {
    says: 'The id of an event about a payment is evt_<session>_<status>, followed by the id of the refund or dispute if it has one; the status agrees with its type.',
    sql: `SELECT id FROM events
      WHERE type <> 'route.health_changed' AND (type NOT IN (${sqlList(PAYMENT_TYPES)})
        OR CASE WHEN type IN (${STATUSES}) THEN id ELSE SUBSTR(id, 1, LENGTH(session_id) + 18) END
          <> 'evt_' || session_id || '_' || SUBSTR(type, 9)
            || CASE type WHEN 'payment.refunded' THEN '_ref_' WHEN 'payment.disputed' THEN '_rev_' ELSE '' END)`,
  },
  refund_event: {
    says: 'A refund event names a refund of its session that succeeded or failed; an event of a failed refund names a failed refund.',
    sql: `SELECT event.id AS id FROM events AS event
      LEFT JOIN refunds AS refund ON refund.session_id = event.session_id AND refund.status <> 'pending'
        AND (event.id = 'evt_' || event.session_id || '_refunded_' || refund.id
          OR (event.id = 'evt_' || event.session_id || '_refunded_' || refund.id || '_failed' AND refund.status = 'failed'))
      WHERE event.type = 'payment.refunded' AND refund.id IS NULL`,
  },
  health_event: {
    says: 'The event about a route has the id evt_<transition>, and the route, environment and version of the transition.',
    sql: `SELECT event.id AS id FROM events AS event
      LEFT JOIN route_transitions AS transition ON transition.id = SUBSTR(event.id, 5)
        AND transition.environment || ':' || transition.route_id = event.session_id
        AND transition.environment = event.environment
        AND transition.version = event.sequence
      WHERE event.type = 'route.health_changed' AND (transition.id IS NULL OR event.id <> 'evt_' || transition.id)`,
  },
  one_event_per_status: {
    says: 'A session has at most one event per status.',
    sql: duplicates('events', 'session_id, type', { where: `type IN (${STATUSES})` }),
  },
  event_session: {
    says: 'An event about a payment has a session with the same environment, and its sequence is a version that the session has reached.',
    sql: orphans(
      "(SELECT * FROM events WHERE type <> 'route.health_changed')",
      'session_id',
      'sessions',
      ['environment'],
      {
        or: 'child.sequence < 2 OR child.sequence > parent.version',
      },
    ),
  },
  event_order: {
    says: 'The events of a session are in the order provider_pending, failed, paid, refunded or disputed, each at a different version.',
    sql: `SELECT DISTINCT later.id AS id FROM events AS later
      JOIN events AS earlier ON earlier.session_id = later.session_id AND earlier.id <> later.id
      WHERE later.sequence <= earlier.sequence AND ${rankOf('later')} > ${rankOf('earlier')}
        OR later.sequence = earlier.sequence AND later.id > earlier.id`,
  },
  event_body: {
    says: 'The body of an event begins with its id.',
    sql: `SELECT id FROM events WHERE SUBSTR(body, 1, LENGTH(id) + 8) <> '{"id":"' || id || '"'`,
  },
  pending_event: {
    says: 'A session has a provider_pending event if and only if the session is marked as announced.',
    sql: eventSql('payment.provider_pending', 'session.announced = 1', 'session.announced = 1'),
  },
  failed_event: {
    says: 'A failed session has a failed event; of the other sessions, only a paid session can have a failed event.',
    sql: eventSql('payment.failed', "session.status = 'failed'", "session.status IN ('failed', 'paid')"),
  },
  paid_event: {
    says: 'A session has a paid event if and only if it is paid.',
    sql: eventSql('payment.paid', "session.status = 'paid'", "session.status = 'paid'"),
  },
  // Deliveries and the log of their attempts. Due times are not checked, because the statements have no clock.
  delivery_event: {
    says: 'A delivery has an event with the same session, environment, type and sequence.',
    sql: orphans('deliveries', 'event_id', 'events', ['session_id', 'environment', 'type', 'sequence']),
  },
  delivery_endpoint: {
    says: 'A delivery has an endpoint with the same environment.',
    sql: orphans('deliveries', 'endpoint_id', 'webhook_endpoints', ['environment']),
  },
  one_delivery_per_endpoint: {
    says: 'An event has at most one delivery per endpoint.',
    sql: duplicates('deliveries', 'session_id, endpoint_id, event_id'),
  },
  delivery_schedule: {
    says: 'A delivery without an attempt in its current schedule is pending; it can be dead if it never had an attempt.',
    sql: `SELECT id FROM deliveries
      WHERE schedule_start < 0 OR schedule_start > attempts
        OR (schedule_start = attempts AND (status = 'delivered' OR (status = 'dead' AND attempts > 0)))`,
  },
  delivered_acknowledged: {
    says: 'A delivery is delivered if and only if its last attempt received the status 200; a replayed delivery without a new attempt is exempt.',
    sql: `SELECT delivery.id AS id FROM deliveries AS delivery
      LEFT JOIN delivery_attempts AS last ON last.delivery_id = delivery.id AND last.number = delivery.attempts
      WHERE (delivery.status = 'delivered' AND COALESCE(last.status_code, 0) <> 200)
        OR (delivery.status <> 'delivered' AND last.status_code = 200 AND delivery.schedule_start <> delivery.attempts)`,
  },
  dead_attempted: {
    says: 'The last attempt of a dead delivery is in the attempt log, if the delivery had an attempt.',
    sql: `SELECT delivery.id AS id FROM deliveries AS delivery
      LEFT JOIN delivery_attempts AS last ON last.delivery_id = delivery.id AND last.number = delivery.attempts
      WHERE delivery.status = 'dead' AND delivery.attempts > 0 AND last.delivery_id IS NULL`,
  },
  attempt_log: {
    says: 'A logged attempt has the number of a started attempt of its delivery, and a failure if and only if its status was not 200.',
    sql: `SELECT DISTINCT attempt.delivery_id AS id FROM delivery_attempts AS attempt
      LEFT JOIN deliveries AS delivery ON delivery.id = attempt.delivery_id
      WHERE delivery.id IS NULL OR attempt.number < 1 OR attempt.number > delivery.attempts
        OR attempt.duration_ms < 0 OR (attempt.failure IS NULL) <> (COALESCE(attempt.status_code, 0) = 200)`,
  },
  // The event feed, the last attempt that a delivery shows, and recoveries.
  feed_position: {
    says: 'The positions of the feed are 1, 2, 3 and so on, without a gap.',
    sql: `SELECT event.id AS id FROM events AS event LEFT JOIN events AS before
        ON before.feed_position = event.feed_position - 1 AND before.feed_position IS NOT NULL
      WHERE event.feed_position IS NOT NULL AND event.feed_position <> 1
        AND (event.feed_position < 1 OR before.id IS NULL)`,
  },
  feed_position_once: {
    says: 'A position of the feed belongs to one event.',
    sql: duplicates('events', 'feed_position', { where: 'feed_position IS NOT NULL' }),
  },
  feed_order: {
    says: 'The feed contains the events of a session in the order of their sequence, without a gap.',
    sql: `SELECT DISTINCT later.id AS id FROM events AS later
      JOIN events AS earlier ON earlier.session_id = later.session_id AND earlier.sequence < later.sequence
      WHERE later.feed_position IS NOT NULL
        AND (earlier.feed_position IS NULL OR earlier.feed_position > later.feed_position)`,
  },
  last_attempt: {
    says: 'The last attempt that a delivery shows is the last one in its attempt log; a delivery with an empty log shows none.',
    sql: `SELECT delivery.id AS id FROM deliveries AS delivery LEFT JOIN delivery_attempts AS last
        ON last.delivery_id = delivery.id AND last.number = (
          SELECT MAX(newest.number) FROM delivery_attempts AS newest WHERE newest.delivery_id = delivery.id)
      WHERE COALESCE(delivery.last_started, -1) <> COALESCE(last.started, -1)
        OR COALESCE(delivery.last_duration_ms, -1) <> COALESCE(last.duration_ms, -1)
        OR COALESCE(delivery.last_status_code, -1) <> COALESCE(last.status_code, -1)
        OR COALESCE(delivery.last_failure, '') <> COALESCE(last.failure, '')`,
  },
  answer_class: {
    says: 'A delivery has the status class of its last response, unless the delivery is delivered or has no attempt.',
    sql: `SELECT id FROM deliveries
      WHERE COALESCE(answer_class, '') <> CASE
        WHEN status = 'delivered' OR last_started IS NULL THEN ''
        WHEN last_status_code IS NULL THEN 'none'
        WHEN last_status_code >= 500 THEN '5xx'
        WHEN last_status_code >= 400 THEN '4xx'
        WHEN last_status_code >= 300 THEN '3xx'
        ELSE '2xx' END`,
  },
  recovery_queue: {
    says: 'A delivery in the queue of a recovery is pending, and its place in the queue is the creation time of its event.',
    sql: `SELECT delivery.id AS id FROM deliveries AS delivery
      LEFT JOIN events AS event ON event.id = delivery.event_id
      WHERE delivery.recover_at IS NOT NULL
        AND (delivery.status <> 'pending' OR event.id IS NULL OR event.created <> delivery.recover_at)`,
  },
  recovery: {
    says: 'A recovery has an endpoint with the same environment, and its position is within its time range.',
    sql: orphans('recoveries', 'endpoint_id', 'webhook_endpoints', ['environment'], {
      or: `child.from_time >= child.until_time OR child.read_created < child.from_time
        OR child.read_created >= child.until_time OR child.queued < 0 OR child.pending < 0 OR child.delivered < 0`,
    }),
  },
  // Webhook endpoints and their encrypted secrets. The service checks at its start whether it can decrypt the secrets.
  endpoint_state: {
    says: 'An endpoint has a disabled reason and time if and only if it is not active; it has event types, and a URL until it is deleted.',
    sql: `SELECT id FROM webhook_endpoints
      WHERE (disabled_reason IS NULL) <> (status = 'active') OR (disabled_at IS NULL) <> (status = 'active')
        OR events = '' OR (url = '') <> (status IN (${DELETED})) OR version < 1`,
  },
  endpoint_slot: {
    says: `An environment has at most ${MAX_ENDPOINTS} endpoints created by the API: each has its own slot until it is deleted.`,
    sql: `SELECT id FROM webhook_endpoints
      WHERE (slot IS NULL) <> (source = 'configuration' OR status IN (${DELETED})) OR slot < 1 OR slot > ${MAX_ENDPOINTS}
      UNION SELECT MAX(id) AS id FROM webhook_endpoints WHERE slot IS NOT NULL
      GROUP BY environment, slot HAVING COUNT(*) > 1`,
  },
  endpoint_secrets: {
    says: `An endpoint created by the API has a newest secret without an expiry and at most ${MAX_EARLIER_SECRETS} earlier secrets; a disabled endpoint may have none.`,
    sql: `SELECT endpoint.id AS id FROM webhook_endpoints AS endpoint
      LEFT JOIN webhook_secrets AS secret ON secret.endpoint_id = endpoint.id
      WHERE endpoint.source = 'api' AND endpoint.status NOT IN (${DELETED})
      GROUP BY endpoint.id
      HAVING COUNT(secret.number) > ${MAX_EARLIER_SECRETS + 1}
        OR (SUM(CASE WHEN secret.number IS NOT NULL AND secret.expires_at IS NULL THEN 1 ELSE 0 END) <> 1
          AND (COUNT(secret.number) > 0 OR MAX(endpoint.status) <> 'disabled'))
        OR MAX(secret.number) <> MAX(CASE WHEN secret.expires_at IS NULL THEN secret.number END)`,
  },
  secret_endpoint: {
    says: 'A secret is encrypted, and its endpoint was created by the API, has the same environment and is not deleted.',
    sql: `SELECT DISTINCT secret.endpoint_id AS id FROM webhook_secrets AS secret
      LEFT JOIN webhook_endpoints AS endpoint ON endpoint.id = secret.endpoint_id
      WHERE endpoint.id IS NULL OR endpoint.source <> 'api' OR endpoint.status IN (${DELETED})
        OR endpoint.environment <> secret.environment OR SUBSTR(secret.sealed, 1, 3) <> 'v1.'
        OR (secret.expires_at IS NOT NULL AND secret.expires_at < secret.created)`,
  },
  deleted_endpoint_delivery: {
    says: 'A deleted endpoint has no pending delivery.',
    sql: `SELECT delivery.id AS id FROM deliveries AS delivery
      JOIN webhook_endpoints AS endpoint ON endpoint.id = delivery.endpoint_id
      WHERE endpoint.status = 'deleted' AND delivery.status = 'pending'`,
  },
});
