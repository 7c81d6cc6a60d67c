import { setTimeout as sleep } from 'node:timers/promises';

/** Waits for `work`, at most `ms`. Resolves with true if the work ends in this time, otherwise with false. */
export async function endsWithin(ms: number, work: Promise<unknown>): Promise<boolean> {
  const limit = new AbortController();
  const passed = sleep(ms, false, { signal: limit.signal }).catch(() => false);
  try {
    return await Promise.race([work.then(() => true), passed]);
  } finally {
    limit.abort();
  }
}
