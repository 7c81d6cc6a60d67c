import type { Page, WebhookEvent } from '../../../sdk/src/index.ts';

export interface EventFeed {
  /** Takes everything that is there for known. Rejects where it cannot be read. */
  start(): Promise<void>;
  /**
   * The events that have become visible since the last call that did not reject, oldest first, each once. Rejects where
   * the service cannot be read; nothing is missed by that: the next call finds what this one would have.
   */
  poll(): Promise<{ events: WebhookEvent[]; isOtherHistory: boolean }>;
}

interface Mark {
  /** By the clock here. */
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
 * here is days there; that is why the minute is one of the clock here. `pages` answers the list from its beginning.
 */
export function createEventFeed(options: {
  pages(): AsyncIterable<Pick<Page<WebhookEvent>, 'data'>>;
  /** Milliseconds since 1970, by the clock here. */
  now(): number;
}): EventFeed {
  const { pages, now } = options;
  let known = new Map<string, number>();
  let marks: Mark[] = [];

  /** The events since `floor`, newest first; without a floor those of the margin before the newest. */
  async function read(floor?: number): Promise<{ found: WebhookEvent[]; newest: number }> {
    const found = new Map<string, WebhookEvent>();
    let newest = -Infinity;
    let end = floor;
    for await (const { data } of pages()) {
      newest = Math.max(newest, ...data.map(madeAt));
      end ??= newest - OVERLAP_MS - MARGIN_MS;
      for (const event of data) if (madeAt(event) >= end) found.set(event.id, event);
      if (data.some((event) => madeAt(event) < end!)) break;
    }
    return { found: [...found.values()], newest };
  }

  async function start(): Promise<void> {
    const { found, newest } = await read();
    known = new Map(found.map((event) => [event.id, madeAt(event)]));
    marks = [{ at: now(), newest }];
  }

  return {
    start,
    async poll() {
      // The newest of a minute ago; the marks before it are of no use any more.
      const settled = marks.findLastIndex(({ at }) => at <= now() - OVERLAP_MS);
      marks = marks.slice(Math.max(0, settled));
      const before = Math.max(...marks.map(({ newest }) => newest));
      const margin = settled === -1 ? OVERLAP_MS + MARGIN_MS : MARGIN_MS;
      const floor = marks[0]!.newest - margin;
      const { found, newest } = await read(floor);
      // Events are never deleted: where the newest is gone, the database is another one.
      if (newest < before) {
        await start();
        return { events: [], isOtherHistory: true };
      }
      const events = found.filter(({ id }) => !known.has(id)).toReversed();
      for (const event of events) known.set(event.id, madeAt(event));
      for (const [id, made] of known) if (made < floor) known.delete(id);
      marks.push({ at: now(), newest });
      return { events, isOtherHistory: false };
    },
  };
}

function madeAt({ created }: WebhookEvent): number {
  return Date.parse(created);
}
