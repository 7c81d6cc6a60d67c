import { type Page, TillwayError, type WebhookEvent } from '../../../sdk/src/index.ts';

/** The start of the past events to show: a time of the service, or one of its events. */
export interface Since {
  /** Milliseconds since 1970, by the clock of the service. */
  from: number;
  /** The event that was made at that time; events that became visible before it are not shown. */
  event?: WebhookEvent | undefined;
}

export interface EventFeed {
  /** Marks all present events as read; answers those since `since`, oldest first. */
  start(since?: Since): Promise<WebhookEvent[]>;
  /**
   * The events that have become visible since the last successful call, oldest first, each once. Rejects if the service
   * cannot be read; the next call then reads the same events.
   */
  poll(): Promise<{ events: WebhookEvent[]; isOtherHistory: boolean }>;
}

type Pages = AsyncIterable<Pick<Page<WebhookEvent>, 'data'>>;

/**
 * Follows the feed of a service. The feed only grows at its end, so that the id of the last event that was read is the
 * whole state. `newestFirst` answers the list of events, `feed` the events after one of them.
 */
export function createEventFeed({
  newestFirst,
  feed,
}: {
  newestFirst(): Pages;
  feed(after: string): Pages;
}): EventFeed {
  /** The last event that was read; empty while there is none. */
  let cursor = '';
  let newestMade = -Infinity;
  /** Events of the list that were shown at the start; the feed can answer them once more after the cursor. */
  let shown: ReadonlySet<string> = new Set();

  /** Reads everything after `from`. The cursor moves only if all pages could be read. */
  async function readOn(from: string): Promise<WebhookEvent[]> {
    const events: WebhookEvent[] = [];
    for await (const { data } of feed(from)) events.push(...data);
    cursor = events.at(-1)?.id ?? from;
    noteNewest(events);
    return events;
  }

  function noteNewest(events: readonly WebhookEvent[]): void {
    newestMade = Math.max(newestMade, ...events.map(madeAt));
  }

  async function newest(): Promise<string> {
    for await (const { data } of newestFirst()) {
      noteNewest(data);
      return data[0]?.id ?? '';
    }
    return '';
  }

  async function madeSince(from: number): Promise<WebhookEvent[]> {
    const found: WebhookEvent[] = [];
    for await (const { data } of newestFirst()) {
      found.push(...data.filter((event) => madeAt(event) >= from));
      if (data.some((event) => madeAt(event) < from)) break;
    }
    return found.toReversed();
  }

  async function start(since?: Since): Promise<WebhookEvent[]> {
    if (since?.event) {
      noteNewest([since.event]);
      return [since.event, ...(await readOn(since.event.id))];
    }
    // The end of the feed is read before the list, so that an event missing from both is later than that end.
    await readOn(await newest());
    const events = since === undefined ? [] : await madeSince(since.from);
    shown = new Set(events.map(({ id }) => id));
    return events;
  }

  return {
    start,
    async poll() {
      try {
        return { events: (await readOn(cursor)).filter(({ id }) => !shown.has(id)), isOtherHistory: false };
      } catch (error) {
        const isUnknown = error instanceof TillwayError && error.code === 'invalid_input' && error.field === 'after';
        if (!isUnknown) throw error;
        // Events are never deleted: if a known event is missing, the service has another database.
        return { events: await start({ from: newestMade + 1 }), isOtherHistory: true };
      }
    },
  };
}

function madeAt({ created }: WebhookEvent): number {
  return Date.parse(created);
}
