import type { FastifyRateLimitStore } from '@fastify/rate-limit';

interface Window {
  /** Milliseconds since 1970. */
  began: number;
  count: number;
}

/** Counts requests per key in time windows. A key's window starts with its first request. A full store evicts the oldest window. */
export class WindowStore implements FastifyRateLimitStore {
  readonly #now: () => number;
  readonly #places: number;
  // Windows in the order of their starts, which is also the order of their ends, because all windows have the same length.
  readonly #windows = new Map<string, Window>();

  constructor(now: () => number, places: number) {
    this.#now = now;
    this.#places = places;
  }

  get size(): number {
    return this.#windows.size;
  }

  incr(key: string, callback: (error: null, result: { current: number; ttl: number }) => void, lengthMs: number): void {
    const now = this.#now();
    const open = this.#windows.get(key);
    const window = open && isOpen(open, now, lengthMs) ? open : this.#begin(key, now, lengthMs);
    window.count += 1;
    callback(null, { current: window.count, ttl: window.began + lengthMs - now });
  }

  /** Creates a separate store for each limit. */
  child(): WindowStore {
    return new WindowStore(this.#now, this.#places);
  }

  #begin(key: string, now: number, lengthMs: number): Window {
    this.#windows.delete(key);
    for (const [oldest, window] of this.#windows) {
      if (this.#windows.size < this.#places && isOpen(window, now, lengthMs)) break;
      this.#windows.delete(oldest);
    }
    const window = { began: now, count: 0 };
    this.#windows.set(key, window);
    return window;
  }
}

/** True while a window is open. If the clock was set back before its start, the window closes, so that it never lasts longer. */
function isOpen({ began }: Window, now: number, lengthMs: number): boolean {
  return now >= began && now < began + lengthMs;
}
