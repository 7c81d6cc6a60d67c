import { type RequestOptions, type Tillway, TillwayError, type WebhookEvent } from '../../sdk/src/index.ts';
import type { Terminal } from './command-context.ts';

const POLL_MS = 500;

type FeedQuery = Omit<NonNullable<Parameters<Tillway['events']['feed']>[0]>, 'after'>;

interface FollowOptions {
  client: Tillway;
  /** Id of the last event read; empty for the start of the feed. The follower updates it. */
  position: { after: string };
  query: FeedQuery;
  /** True if the service has answered before. If false (default), a failure of the first request rejects. */
  wasReached?: boolean;
  /** Stops the follower; undefined to read the existing events and return. */
  signal: AbortSignal | undefined;
  requests?: RequestOptions;
  sleep: Terminal['sleep'];
  /** Called with the reason when the service becomes unreachable, and with null when it is reachable again. */
  onReach(reason: string | null): void;
}

/** Yields the events after a position, each once and in order; with a signal also new events. Rejects if a request is refused. */
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

/** True for temporary failures: connection errors, 429 and 5xx. */
function isPassing(cause: unknown): cause is TillwayError {
  if (!(cause instanceof TillwayError)) return false;
  const { status = 0 } = cause;
  return status < 400 || status === 429 || status >= 500;
}
