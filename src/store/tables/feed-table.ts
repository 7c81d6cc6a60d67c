import { ENVIRONMENTS, type Environment } from '../../domain/route.ts';
import { EVENT_TYPES } from '../webhooks-port.ts';
import { type Select, filterKeyset, keysetQuery } from '../keyset.ts';
import { createReader } from '../row-reader.ts';
import { statement } from '../write-statement.ts';
import { eventFromRow } from './deliveries-table.ts';

// A transaction that assigns positions holds this lock until its commit, and reads the events only after it has the lock. It
// sees all earlier rounds, so that no position becomes visible before a lower one.
const TAKE_LOCK = 'UPDATE feed_lock SET rounds = rounds + 1 WHERE id = 1';
// Places the visible events in the order in which they happened. If a clock was set back within a session, its later event
// waits for the next round. MATERIALIZED and COALESCE prevent quadratic plans if PostgreSQL's statistics have no such events.
const PLACE = `WITH fresh AS MATERIALIZED (
    SELECT oldest.id AS event_id,
      (SELECT COALESCE(MAX(feed_position), 0) FROM events WHERE feed_position IS NOT NULL)
        + ROW_NUMBER() OVER (ORDER BY oldest.created, oldest.sequence, oldest.id) AS place
    FROM (
      SELECT created, sequence, id FROM events AS unplaced
      WHERE feed_position IS NULL AND NOT EXISTS (
        SELECT 1 FROM events AS earlier
        WHERE earlier.session_id = unplaced.session_id AND earlier.sequence < unplaced.sequence
          AND COALESCE(earlier.feed_position, 0) = 0 AND earlier.created > unplaced.created)
      ORDER BY created, sequence, id LIMIT ?1) AS oldest)
  UPDATE events SET feed_position = fresh.place FROM fresh WHERE events.id = fresh.event_id`;

const SELECT_POSITION = 'SELECT feed_position FROM events WHERE id = ?1';
const SELECT_UNPLACED = 'SELECT 1 AS found FROM events WHERE feed_position IS NULL LIMIT 1';

export interface FeedFilter {
  type?: string;
  environment?: Environment;
}

export const feedWrites = {
  /** Gives at most `limit` of the oldest committed events their position in the feed, one instance at a time. */
  events_placed: ({ limit }: { limit: number }) => [statement(TAKE_LOCK, []), statement(PLACE, [limit])],
};

export function createFeedReads(select: Select) {
  const { one, all } = createReader(select);
  return {
    /** Position of an event in the feed, from 1; null before it has one, undefined for an unknown event. */
    feedPosition: (eventId: string) => one((row) => row['feed_position'] as number | null, SELECT_POSITION, eventId),
    /** The events after a position, oldest first. No event appears later at a position that was already passed. */
    async listFeed(filter: FeedFilter, after: number, limit: number) {
      const leading = { environment: ENVIRONMENTS, type: EVENT_TYPES };
      const keyset = { ...filterKeyset('events', { ...filter }, leading), sortedBy: ['feed_position'] };
      const { sql, params } = keysetQuery([keyset], { limit: limit + 1, direction: 'ASC', after: [after] });
      const events = await all(eventFromRow, sql, ...params);
      return { items: events.slice(0, limit), hasMore: events.length > limit };
    },
    hasUnplacedEvents: async () => (await select(SELECT_UNPLACED)).length > 0,
  };
}
