import { type Page, TillwayError, type WebhookEvent } from '../../../sdk/src/index.ts';

/** From where on events are wanted that are there already: from a time of the service on, or from one of its events on. */
export interface Since {
  /** Milliseconds since 1970, by the clock of the service. */
  from: number;
  /** The event that was made then; those that stand below it are not wanted. */
  id?: string | undefined;
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

interface Mark {
  /** By the clock of the feed. */
  at: number;
  /** When the newest event that was visible then was made, by the clock of the service. */
  newest: number;
}

/** For so long an event can become visible below others after it was made; the bound of the service is a sixth of it. */
const OVERLAP_MS = 60_000;
/** How much further back is read all the same, in the time of the service: its clock may be set back a little. */
const MARGIN_MS = 30_000;

/**
 * Reads a list of events, newest first, again and again, without missing or repeating one. An event is stamped before it
 * is committed, so that it can appear below others that were seen before: every poll reads back to what was the newest
 * a minute ago, and knows by their ids those that it has seen. Where the clock of the service is moved ahead, a minute
 * here is days there; that is why the minute is one of the clock here, which never goes back. On the first page every
 * event counts, however old: the list only grows, so that what is on it and was not before is new, also where the clock
 * of the service was set back. `pages` answers the list from its beginning.
 */
export function createEventFeed(options: {
  pages(): AsyncIterable<Pick<Page<WebhookEvent>, 'data'>>;
  /** Milliseconds since 1970, by the clock here; it may be set while this reads. */
  now(): number;
}): EventFeed {
  const { pages } = options;
  const passedMs = createStopwatch(options.now);
  /** Everything that was read last: what is not in there can no longer come again. */
  let known: ReadonlySet<string> = new Set();
  /** What stood on top then. */
  let newestId: string | undefined;
  let marks: Mark[] = [];

  /** Whole pages, newest first, down to a floor that may depend on the newest. */
  async function read(floorOf: (newest: number) => number): Promise<ReadEvents> {
    const all = new Map<string, WebhookEvent>();
    let first: ReadonlySet<string> | undefined;
    let newest = -Infinity;
    for await (const { data } of pages()) {
      requireEvents(data);
      first ??= new Set(data.map(({ id }) => id));
      newest = Math.max(newest, ...data.map(madeAt));
      for (const event of data) all.set(event.id, event);
      if (data.some((event) => madeAt(event) < floorOf(newest))) break;
    }
    return { all: [...all.values()], first: first ?? new Set(), newest };
  }

  function remember({ all, newest }: ReadEvents): void {
    known = new Set(all.map(({ id }) => id));
    newestId = all[0]?.id;
    marks.push({ at: passedMs(), newest });
  }

  async function start(since?: Since): Promise<WebhookEvent[]> {
    const found = await read((newest) => Math.min(since?.from ?? Infinity, newest - OVERLAP_MS - MARGIN_MS));
    marks = [];
    remember(found);
    if (since === undefined) return [];
    const wanted = found.all.filter((event) => madeAt(event) >= since.from);
    const last = wanted.findIndex(({ id }) => id === since.id);
    return wanted.slice(0, last === -1 ? wanted.length : last + 1).toReversed();
  }

  return {
    start,
    async poll() {
      // The newest of a minute ago; the marks before it are of no use any more.
      const now = passedMs();
      const settled = marks.findLastIndex(({ at }) => at <= now - OVERLAP_MS);
      marks = marks.slice(Math.max(0, settled));
      const margin = settled === -1 ? OVERLAP_MS + MARGIN_MS : MARGIN_MS;
      const floor = marks[0]!.newest - margin;
      const found = await read(() => floor);
      // Events are never deleted: where one is gone, the database is another one.
      if (newestId !== undefined && !found.all.some(({ id }) => id === newestId)) {
        const before = Math.max(...marks.map(({ newest }) => newest));
        return { events: await start({ from: before + 1 }), isOtherHistory: true };
      }
      const fresh = found.all.filter(({ id }) => !known.has(id));
      const events = fresh.filter((event) => found.first.has(event.id) || madeAt(event) >= floor).toReversed();
      remember(found);
      return { events, isOtherHistory: false };
    },
  };
}

interface ReadEvents {
  /** Newest first. */
  all: WebhookEvent[];
  /** The ids on the first page. */
  first: ReadonlySet<string>;
  /** When the newest was made; -Infinity where there is none. */
  newest: number;
}

/** Milliseconds since it was made. It stands still while the clock is set back. */
function createStopwatch(now: () => number): () => number {
  let passed = 0;
  let last = now();
  return () => {
    const time = now();
    passed += Math.max(0, time - last);
    last = time;
    return passed;
  };
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
