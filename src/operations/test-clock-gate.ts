import { setTimeout as sleep } from 'node:timers/promises';

// Longer than a request can be with a provider.
const INSIDE_MS = 15_000;
// Less than a receiver is given to answer, which may be waiting for this service in turn.
const SHUT_MS = 3000;

/** Lets requests pass side by side, and time be moved only between them. */
export interface Gate {
  /** Waits while the gate is shut. Whoever came in calls the answer when it has ended. */
  enter(): Promise<() => void>;
  /**
   * Lets nobody in until `work` is done, or for a limited time where that takes long: `isShut` tells which. It begins when
   * nobody is inside any more; whoever stays for longer than any request may is not waited for.
   */
  alone<Result>(work: (isShut: () => boolean) => Promise<Result>): Promise<Result>;
}

export interface GateLimits {
  insideMs?: number;
  shutMs?: number;
}

export function createGate({ insideMs = INSIDE_MS, shutMs = SHUT_MS }: GateLimits = {}): Gate {
  const inside = new Set<Promise<void>>();
  let shut: Promise<void> | undefined;
  return {
    async enter() {
      while (shut) await shut;
      const { promise, resolve } = Promise.withResolvers<void>();
      inside.add(promise);
      return () => {
        inside.delete(promise);
        resolve();
      };
    },
    async alone(work) {
      const { promise, resolve } = Promise.withResolvers<void>();
      shut = promise;
      let timer: NodeJS.Timeout | undefined;
      try {
        await atMost(insideMs, [...inside]);
        timer = setTimeout(open, shutMs);
        return await work(() => shut !== undefined);
      } finally {
        clearTimeout(timer);
        open();
      }

      function open(): void {
        shut = undefined;
        resolve();
      }
    },
  };
}

async function atMost(ms: number, work: readonly Promise<void>[]): Promise<void> {
  const limit = new AbortController();
  const passed = sleep(ms, undefined, { signal: limit.signal }).catch(() => undefined);
  await Promise.race([Promise.all(work), passed]);
  limit.abort();
}
