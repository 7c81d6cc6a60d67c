import { duplicates, invariants, orphans } from './invariant.ts';

/** The feed of events, the log that deliveries show, and recoveries. */
export const FEED_INVARIANTS = invariants({
  feed_position: {
    says: 'The positions of the feed are 1, 2, 3 and so on, without a hole.',
    sql: `SELECT event.id AS id FROM events AS event LEFT JOIN events AS before
        ON before.feed_position = event.feed_position - 1 AND before.feed_position IS NOT NULL
      WHERE event.feed_position IS NOT NULL AND event.feed_position <> 1
        AND (event.feed_position < 1 OR before.id IS NULL)`,
  },
  feed_position_once: {
    says: 'A position of the feed is that of one event.',
    sql: duplicates('events', 'feed_position', { where: 'feed_position IS NOT NULL' }),
  },
  feed_order: {
    says: 'In the feed the events of a session are in their order, and none is left out between two.',
    sql: `SELECT DISTINCT later.id AS id FROM events AS later
      JOIN events AS earlier ON earlier.session_id = later.session_id AND earlier.sequence < later.sequence
      WHERE later.feed_position IS NOT NULL
        AND (earlier.feed_position IS NULL OR earlier.feed_position > later.feed_position)`,
  },
  last_attempt: {
    says: 'A delivery shows the last attempt of its log, and nothing where that is empty.',
    sql: `SELECT delivery.id AS id FROM deliveries AS delivery LEFT JOIN delivery_attempts AS last
        ON last.delivery_id = delivery.id AND last.number = (
          SELECT MAX(newest.number) FROM delivery_attempts AS newest WHERE newest.delivery_id = delivery.id)
      WHERE COALESCE(delivery.last_started, -1) <> COALESCE(last.started, -1)
        OR COALESCE(delivery.last_duration_ms, -1) <> COALESCE(last.duration_ms, -1)
        OR COALESCE(delivery.last_status_code, -1) <> COALESCE(last.status_code, -1)
        OR COALESCE(delivery.last_failure, '') <> COALESCE(last.failure, '')`,
  },
  answer_class: {
    says: 'A delivery that is not delivered has the class of its last answer, and no other delivery has one.',
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
    says: 'A delivery in the queue of a recovery is pending, at the time of its event.',
    sql: `SELECT delivery.id AS id FROM deliveries AS delivery
      LEFT JOIN events AS event ON event.id = delivery.event_id
      WHERE delivery.recover_at IS NOT NULL
        AND (delivery.status <> 'pending' OR event.id IS NULL OR event.created <> delivery.recover_at)`,
  },
  recovery: {
    says: 'A recovery has an endpoint, of the same environment, and has read events of its time alone.',
    sql: orphans('recoveries', 'endpoint_id', 'webhook_endpoints', ['environment'], {
      or: [
        'child.from_time >= child.until_time',
        'child.read_created < child.from_time',
        'child.read_created >= child.until_time',
        'child.queued < 0 OR child.pending < 0 OR child.delivered < 0',
      ],
    }),
  },
});
