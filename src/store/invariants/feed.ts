import type { Invariant } from './invariant.ts';

/** What somebody who follows the feed, or was promised a recovery, relies on. */
export const FEED_INVARIANTS: readonly Invariant[] = [
  {
    name: 'feed_position',
    says: 'The positions of the feed are 1, 2, 3 and so on, without a hole.',
    sql: `SELECT event.id AS id FROM events AS event LEFT JOIN events AS before
        ON before.feed_position = event.feed_position - 1 AND before.feed_position IS NOT NULL
      WHERE event.feed_position IS NOT NULL AND event.feed_position <> 1
        AND (event.feed_position < 1 OR before.id IS NULL)
      ORDER BY id LIMIT ?1`,
  },
  {
    name: 'feed_position_once',
    says: 'A position of the feed is that of one event.',
    sql: `SELECT MAX(id) AS id FROM events WHERE feed_position IS NOT NULL
      GROUP BY feed_position HAVING COUNT(*) > 1 ORDER BY id LIMIT ?1`,
  },
  {
    name: 'feed_order',
    says: 'In the feed the events of a session are in their order, and none is left out between two.',
    sql: `SELECT DISTINCT later.id AS id FROM events AS later
      JOIN events AS earlier ON earlier.session_id = later.session_id AND earlier.sequence < later.sequence
      WHERE later.feed_position IS NOT NULL
        AND (earlier.feed_position IS NULL OR earlier.feed_position > later.feed_position)
      ORDER BY id LIMIT ?1`,
  },
  {
    name: 'last_attempt',
    says: 'A delivery shows the last attempt of its log, and nothing where that is empty.',
    sql: `SELECT delivery.id AS id FROM deliveries AS delivery LEFT JOIN delivery_attempts AS last
        ON last.delivery_id = delivery.id AND last.number = (
          SELECT MAX(newest.number) FROM delivery_attempts AS newest WHERE newest.delivery_id = delivery.id)
      WHERE COALESCE(delivery.last_started, -1) <> COALESCE(last.started, -1)
        OR COALESCE(delivery.last_duration_ms, -1) <> COALESCE(last.duration_ms, -1)
        OR COALESCE(delivery.last_status_code, -1) <> COALESCE(last.status_code, -1)
        OR COALESCE(delivery.last_failure, '') <> COALESCE(last.failure, '')
      ORDER BY id LIMIT ?1`,
  },
  {
    name: 'answer_class',
    says: 'A delivery that is not delivered has the class of its last answer, and no other delivery has one.',
    sql: `SELECT id FROM deliveries
      WHERE COALESCE(answer_class, '') <> CASE
        WHEN status = 'delivered' OR last_started IS NULL THEN ''
        WHEN last_status_code IS NULL THEN 'none'
        WHEN last_status_code >= 500 THEN '5xx'
        WHEN last_status_code >= 400 THEN '4xx'
        WHEN last_status_code >= 300 THEN '3xx'
        ELSE '2xx' END
      ORDER BY id LIMIT ?1`,
  },
  {
    name: 'recovery_queue',
    says: 'What stands in the queue of a recovery is pending, at the time of its event.',
    sql: `SELECT delivery.id AS id FROM deliveries AS delivery
      LEFT JOIN events AS event ON event.id = delivery.event_id
      WHERE delivery.recover_at IS NOT NULL
        AND (delivery.status <> 'pending' OR event.id IS NULL OR event.created <> delivery.recover_at)
      ORDER BY id LIMIT ?1`,
  },
  {
    name: 'recovery',
    says: 'A recovery has an endpoint, of the same environment, and has read events of its time alone.',
    sql: `SELECT recovery.id AS id FROM recoveries AS recovery
      LEFT JOIN webhook_endpoints AS endpoint ON endpoint.id = recovery.endpoint_id
      WHERE endpoint.id IS NULL OR endpoint.environment <> recovery.environment
        OR recovery.from_time >= recovery.until_time OR recovery.read_created < recovery.from_time
        OR recovery.read_created >= recovery.until_time
        OR recovery.queued < 0 OR recovery.pending < 0 OR recovery.delivered < 0
      ORDER BY id LIMIT ?1`,
  },
];
