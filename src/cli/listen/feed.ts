import { type Page, TillwayError, type WebhookEvent } from '../../../sdk/src/index.ts';

/** From where on events are wanted that are there already: from a time of the service on, or from one of its events on. */
export interface Since {
  /** Milliseconds since 1970, by the clock of the service. */
  from: number;
  /** The event that was made then; what was visible before it is not wanted. */
  event?: WebhookEvent | undefined;
}

export interface EventFeed {
  /** Takes everything that is there for known; answers what is wanted of it, oldest first. Rejects where it cannot be read. */
  start(since?: Since): Promise<WebhookEvent[]>;
  /**
   * The events that have become visible since the last call that did not reject, oldest first, each once. Rejects where
   * the service cannot be read; nothing is missed by that: the next call finds what this one would have.
   */
  poll(): Promise<{ events: WebhookEvent[]; isOtherHistory: boolean }>;
}

type Pages = AsyncIterable<Pick<Page<WebhookEvent>, 'data'>>;

/**
 * Follows the feed of a service, which has an order that only grows at its end, so that the last event that was read is
 * all there is to remember. `newestFirst` answers the list from its beginning, `feed` what comes behind an event.
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
  /** When the newest event that was read was made. */
  let newestMade = -Infinity;
  /** What was shown of the list, and comes again where its place in the feed is behind the cursor. */
  let shown: ReadonlySet<string> = new Set();

  /** Everything behind the cursor, which moves only where all of it could be read. */
  async function readOn(from: string): Promise<WebhookEvent[]> {
    const events: WebhookEvent[] = [];
    for await (const { data } of feed(from)) {
      requireEvents(data);
      events.push(...data);
    }
    cursor = events.at(-1)?.id ?? from;
    note(events);
    return events;
  }

  function note(events: readonly WebhookEvent[]): void {
    for (const event of events) newestMade = Math.max(newestMade, madeAt(event));
  }

  async function newest(): Promise<string> {
    for await (const { data } of newestFirst()) {
      requireEvents(data);
      note(data);
      return data[0]?.id ?? '';
    }
    return '';
  }

  async function madeSince(from: number): Promise<WebhookEvent[]> {
    const found: WebhookEvent[] = [];
    for await (const { data } of newestFirst()) {
      requireEvents(data);
      found.push(...data.filter((event) => madeAt(event) >= from));
      if (data.some((event) => madeAt(event) < from)) break;
    }
    return found.toReversed();
  }

  async function start(since?: Since): Promise<WebhookEvent[]> {
    if (since?.event) {
      note([since.event]);
      return [since.event, ...(await readOn(since.event.id))];
    }
    // First the end of the feed, and then the list: what is in neither comes behind that end.
    await readOn(await newest());
    const events = since === undefined ? [] : await madeSince(since.from);
    shown = new Set(events.map(({ id }) => id));
    return events;
  }

  return {
    start,
    async poll() {
      try {
        const events = (await readOn(cursor)).filter(({ id }) => !shown.has(id));
        return { events, isOtherHistory: false };
      } catch (error) {
        if (!isUnknownEvent(error)) throw error;
        // Events are never deleted: where one is gone, the database is another one.
        return { events: await start({ from: newestMade + 1 }), isOtherHistory: true };
      }
    },
  };
}

function isUnknownEvent(error: unknown): boolean {
  return error instanceof TillwayError && error.code === 'invalid_input' && error.field === 'after';
}

/** Throws TillwayError where somebody else has answered, such as a proxy that says that the service is starting. */
function requireEvents(data: unknown): void {
  if (Array.isArray(data) && data.every(isEvent)) return;
  throw new TillwayError('unexpected_response', 'it answered, and not as Tillway does');
}

function isEvent(value: unknown): boolean {
  const { id, type, created, data } = Object(value) as Record<keyof WebhookEvent, unknown>;
  const { session_id: session, amount } = Object(data) as Record<keyof WebhookEvent['data'], unknown>;
  const texts = [id, type, created, session];
  return (
    texts.every((text) => typeof text === 'string') &&
    typeof amount === 'number' &&
    !Number.isNaN(Date.parse(String(created)))
  );
}

function madeAt({ created }: WebhookEvent): number {
  return Date.parse(created);
}
