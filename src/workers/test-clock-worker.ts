import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { TestClock } from '../operations/deps.ts';
import type { Store } from '../store/store.ts';
import { type Worker, createWorker } from './worker.ts';

const POLL_MS = 1000;
const PAUSE_MS = 5;
/** Longest stay at one instant. Remaining work is done at the next instant. */
const LONGEST_STAY_MS = 30_000;

interface TestClockWorkerOptions {
  clock: TestClock;
  store: Pick<Store, 'nextDue'>;
  /** Workers with due times. They pause during an advance and run only as part of it. */
  workers: readonly Worker[];
  routing: Worker;
  log: Logger;
}

/** Moves time from one due instant to the next and does all work at each, so that work is done in order and at its time. */
export function createTestClockWorker({ clock, store, workers, routing, log }: TestClockWorkerOptions): Worker {
  async function runOnce(isStopped: () => boolean): Promise<number> {
    if (clock.record().target === null) return 0;
    await Promise.all(workers.map((worker) => worker.pause()));
    await advance(isStopped);
    // The next start continues an interrupted advance.
    if (clock.record().target !== null) return 0;
    for (const worker of workers) worker.resume();
    log.info({ now: new Date(clock.now()).toISOString() }, 'test clock: time was moved');
    return 1;
  }

  /** Moves time to the target, or until this worker is stopped. */
  async function advance(isStopped: () => boolean): Promise<void> {
    let arrivedAt = performance.now();
    while (clock.record().target !== null) {
      const from = clock.now();
      let done = 0;
      for (const worker of workers) if (!isStopped()) done += await worker.runOnce();
      if (isStopped()) return;
      const isQuiet = done === 0 && clock.requests.inProgress === 0;
      if (!isQuiet && performance.now() - arrivedAt < LONGEST_STAY_MS) {
        if (done === 0) await sleep(PAUSE_MS);
      } else if (await moveOn(isQuiet ? from - 1 : clock.now())) {
        arrivedAt = performance.now();
      }
    }
  }

  /** Moves time to the next due instant after `doneUntil`, or to the target. Returns false if other work is already due. */
  async function moveOn(doneUntil: number): Promise<boolean> {
    const { offsetMs, goalMs, target } = clock.record();
    const due = await store.nextDue(doneUntil);
    const wantedMs = due === undefined ? goalMs : Math.min(due - clock.realNow(), goalMs);
    const isAtTarget = offsetMs === goalMs;
    if (isAtTarget) await routing.runOnce();
    else if (wantedMs <= offsetMs) return false;
    const next = isAtTarget ? { offsetMs, goalMs, target: null } : { offsetMs: wantedMs, goalMs, target };
    if (await clock.change(next)) return true;
    throw new Error('another process has changed the test clock of this database');
  }

  return createWorker({ name: 'test clock', log, runOnce, onWake: clock.onAdvance, pollMs: POLL_MS });
}
