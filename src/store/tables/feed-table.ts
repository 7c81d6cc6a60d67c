import { ENVIRONMENTS, type Environment } from '../../domain/route.ts';
import { EVERY_TYPE } from '../../domain/webhook-endpoint.ts';
import { type Select, filterKeyset, keysetQuery } from '../keyset.ts';
import { createReader } from '../row-reader.ts';
import { statement } from '../write-statement.ts';
import { eventFromRow } from './deliveries-table.ts';

// A transaction that assigns positions takes this lock before it reads the events, and holds it until its commit. It therefore
// sees all positions assigned before, and no position becomes visible before a lower position.
const TAKE_LOCK = 'UPDATE feed_lock SET rounds = rounds + 1 WHERE id = 1';
// Places the committed events by creation time. If the clock was set back between two events of a session, the later event
// waits for the next round. MATERIALIZED and COALESCE prevent quadratic plans when PostgreSQL's statistics are out of date.
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
  /** Assigns feed positions to at most `limit` of the oldest events without a position. Only one instance at a time does this. */
  events_placed: ({ limit }: { limit: number }) => [statement(TAKE_LOCK, []), statement(PLACE, [limit])],
};

export function createFeedReads(select: Select) {
  const { one, all } = createReader(select);
  return {
    /** Position of an event in the feed, from 1; null if the event has no position yet, undefined if the event is unknown. */
    feedPosition: (eventId: string) => one((row) => row['feed_position'] as number | null, SELECT_POSITION, eventId),
    /** The events after a position, in feed order. New events only get higher positions, so a reader misses none. */
    async listFeed(filter: FeedFilter, after: number, limit: number) {
      const leading = { environment: ENVIRONMENTS, type: EVERY_TYPE };
      const keyset = { ...filterKeyset('events', { ...filter }, leading), sortedBy: ['feed_position'] };
      const { sql, params } = keysetQuery([keyset], { limit: limit + 1, direction: 'ASC', after: [after] });
      const events = await all(eventFromRow, sql, ...params);
      return { items: events.slice(0, limit), hasMore: events.length > limit };
    },
    hasUnplacedEvents: async () => (await select(SELECT_UNPLACED)).length > 0,
  };
}
