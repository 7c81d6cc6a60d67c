import { type RequestOptions, type Tillway, TillwayError, type WebhookEvent } from '../../sdk/src/index.ts';
import type { Terminal } from './command-context.ts';

const POLL_MS = 500;

type FeedQuery = Omit<NonNullable<Parameters<Tillway['events']['feed']>[0]>, 'after'>;

interface FollowOptions {
  client: Tillway;
  /** The last event that was read; empty for the beginning. The follower moves it on. */
  position: { after: string };
  query: FeedQuery;
  /** True if the service has answered already; by default the first request must succeed. */
  wasReached?: boolean;
  /** Ends the follower; undefined to read once. */
  signal: AbortSignal | undefined;
  requests?: RequestOptions;
  sleep: Terminal['sleep'];
  /** The service became unreachable after it had answered once, or reachable again. */
  onReach(reason: string | null): void;
}

/** The events after a position, each once, in order; with a signal also new ones. Rejects if the service refuses a request. */
export async function* followFeed(options: FollowOptions): AsyncGenerator<WebhookEvent, void> {
  const { client, position, query, signal, requests, sleep, onReach } = options;
  let { wasReached = false } = options;
  let isAway = false;
  for (;;) {
    const feed = client.events.feed({ ...query, after: position.after }, { ...requests, signal });
    try {
      for await (const event of feed) {
        position.after = event.id;
        yield event;
      }
      position.after = feed.cursor;
      if (isAway) onReach(null);
      [wasReached, isAway] = [true, false];
    } catch (cause) {
      if (signal?.aborted) return;
      if (!wasReached || !signal || !isPassing(cause)) throw cause;
      if (!isAway) onReach(cause.message);
      isAway = true;
    }
    if (!signal) return;
    await sleep(POLL_MS, signal);
    if (signal.aborted) return;
  }
}

/** True if the failure can be over at the next poll: a restart, a deploy, too many calls. */
function isPassing(cause: unknown): cause is TillwayError {
  if (!(cause instanceof TillwayError)) return false;
  const { status = 0 } = cause;
  return status < 400 || status === 429 || status >= 500;
}
