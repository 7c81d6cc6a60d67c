import { setTimeout as sleep } from 'node:timers/promises';
import type { Deps } from '../operations/deps.ts';
import type { TestClock } from '../operations/test-clock.ts';
import { type Worker, createWorker } from './worker.ts';

/** Longest time until an accepted advance begins. */
const POLL_MS = 50;
const PAUSE_MS = 5;

/**
 * Moves time from one due instant to the next and does all work at each, so that work is done in order and at its time. The
 * workers pause during an advance and run only as part of it.
 */
export function createTestClockWorker(
  { store, realNow, log }: Deps,
  clock: TestClock,
  { workers, routing }: { workers: readonly Worker[]; routing: Worker },
): Worker {
  async function runOnce(isStopped: () => boolean): Promise<number> {
    if (clock.record().target === null) return 0;
    await Promise.all(workers.map((worker) => worker.pause()));
    while (clock.record().target !== null) {
      const startedAt = clock.now();
      let done = 0;
      for (const worker of workers) if (!isStopped()) done += await worker.runOnce();
      // The next start continues the advance.
      if (isStopped()) return 0;
      if (clock.requestsInProgress > 0) await sleep(PAUSE_MS);
      else if (done === 0) await moveOn(startedAt);
    }
    for (const worker of workers) worker.resume();
    log.info({ now: new Date(clock.now()).toISOString() }, 'test clock: time was moved');
    return 1;
  }

  /** Moves time to the next due instant, or to the target; ends the advance at the target. All work before `doneUntil` is done. */
  async function moveOn(doneUntil: number): Promise<void> {
    const { offsetMs, goalMs } = clock.record();
    if (offsetMs === goalMs) {
      await routing.runOnce();
      return clock.change({ target: null });
    }
    const nextMs = Math.min((await store.nextDue(doneUntil)) - realNow(), goalMs);
    // Otherwise more work fell due during the last round.
    if (nextMs > offsetMs) await clock.change({ offsetMs: nextMs });
  }

  return createWorker({ name: 'test clock', log, runOnce, pollMs: POLL_MS });
}
