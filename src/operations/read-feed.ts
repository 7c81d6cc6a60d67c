import { GatewayError, invalidField } from '../domain/gateway-error.ts';
import type { FeedFilter } from '../store/tables/feed-table.ts';
import type { PageResult } from '../store/list-page.ts';
import type { Store } from '../store/store.ts';
import type { MerchantEvent } from '../store/webhooks-port.ts';

/** Number of events that one commit gives a position in the feed. Such a commit takes some milliseconds. */
const ROUND_EVENTS = 200;
/** Limit of such commits per request; the next request continues. */
const MAX_ROUNDS = 20;

/** The events after `after`, in commit order. Throws GatewayError `invalid_input` for an unknown event, `unavailable` while events lack a position. */
export async function readFeed(
  { store }: { store: Store },
  filter: FeedFilter,
  { after, limit }: { after: string; limit: number },
): Promise<PageResult<MerchantEvent>> {
  const position = after === '' ? 0 : await positionOf(store, after);
  for (let round = 0; ; round++) {
    const page = await store.listFeed(filter, position, limit);
    if (page.hasMore || !(await store.hasUnplacedEvents())) return page;
    if (round === MAX_ROUNDS) return { ...page, hasMore: true };
    await placeRound(store);
  }
}

/** Gives committed events their positions in at most {@link MAX_ROUNDS} commits; returns the number of commits. */
export async function placeEvents(store: Store): Promise<number> {
  let rounds = 0;
  for (; rounds < MAX_ROUNDS && (await store.hasUnplacedEvents()); rounds++) await placeRound(store);
  return rounds;
}

async function placeRound(store: Store): Promise<void> {
  await store.commit([{ type: 'events_placed', limit: ROUND_EVENTS }]);
}

async function positionOf(store: Store, eventId: string): Promise<number> {
  for (let round = 0; round <= MAX_ROUNDS; round++) {
    const position = await store.feedPosition(eventId);
    if (position === undefined) {
      const advice =
        'Use the id of the last event that you have read from this service, or an empty after= to begin with the oldest event.';
      throw invalidField('after', 'invalid_value', `no event ${eventId} exists here`, advice);
    }
    if (position !== null) return position;
    await placeRound(store);
  }
  throw new GatewayError(
    'unavailable',
    `Event ${eventId} has no position in the feed yet: older events get theirs first.`,
    {
      suggestion: 'Ask again in a second.',
    },
  );
}
