import { setTimeout as sleep } from 'node:timers/promises';

/** Waits for `work`, but no longer than `ms`. Resolves with true if the work has ended by then. */
export async function endsWithin(ms: number, work: Promise<unknown>): Promise<boolean> {
  const limit = new AbortController();
  const passed = sleep(ms, false, { signal: limit.signal }).catch(() => false);
  try {
    return await Promise.race([work.then(() => true), passed]);
  } finally {
    limit.abort();
  }
}
