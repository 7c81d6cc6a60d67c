import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { TestClock } from '../operations/test-clock.ts';
import type { Store } from '../store/store.ts';
import { type Worker, createWorker } from './worker.ts';

const POLL_MS = 1000;
const PAUSE_MS = 5;
/** Time for which requests pass while work remains at an instant; then new ones wait, so that busy traffic cannot stop time. */
const OPEN_MS = 1000;
/** Less than a receiver may take to answer a webhook, since it can be waiting for a request to this service. */
const HOLD_MS = 3000;
/** Longer than a request can wait for a provider. */
const LONGEST_REQUEST_MS = 15_000;
/** Longest stay at one instant. Work that remains then is done at the next one. */
const LONGEST_STAY_MS = 30_000;

interface TestClockWorkerOptions {
  clock: TestClock;
  store: Pick<Store, 'nextDue'>;
  /** Workers with due times. They pause during an advance and run only as part of it. */
  workers: readonly Worker[];
  routing: Worker;
  log: Logger;
}

/**
 * Carries out advances: moves time to the next instant at which something falls due, does all work that is due there, and
 * repeats that until the target. So all work happens in order and at its own time, and no work in progress is skipped.
 */
export function createTestClockWorker({ clock, store, workers, routing, log }: TestClockWorkerOptions): Worker {
  const { requests } = clock;
  let heldSince = 0;

  async function runOnce(isStopped: () => boolean): Promise<number> {
    if (clock.record().target === null) return 0;
    const began = performance.now();
    await Promise.all(workers.map((worker) => worker.pause()));
    const steps = await advance(isStopped);
    const { target, goalMs } = clock.record();
    if (target !== null) {
      log.info(
        { target: new Date(target).toISOString() },
        'test clock: advance interrupted, the next start continues it',
      );
      return 0;
    }
    for (const worker of workers) worker.resume();
    const took = { steps, advancedSeconds: goalMs / 1000, tookMs: Math.round(performance.now() - began) };
    log.info({ ...took, now: new Date(clock.now()).toISOString() }, 'test clock: time was moved');
    return 1;
  }

  /** Moves time to the target, or until this worker is stopped. Answers the number of steps. */
  async function advance(isStopped: () => boolean): Promise<number> {
    let steps = 0;
    let arrivedAt = performance.now();
    requests.heldUntilMs = arrivedAt;
    while (clock.record().target !== null) {
      const from = clock.now();
      const begunBefore = requests.inProgress === 0 ? requests.begun : undefined;
      let done = 0;
      for (const worker of workers) if (!isStopped()) done += await worker.runOnce();
      if (isStopped()) break;
      const isQuiet = done === 0 && requests.begun === begunBefore;
      if (!isQuiet && performance.now() - arrivedAt < LONGEST_STAY_MS) {
        holdRequests();
        if (done === 0) await sleep(PAUSE_MS);
      } else if (await moveOn(isQuiet ? from - 1 : clock.now())) {
        steps++;
        arrivedAt = performance.now();
      }
    }
    return steps;
  }

  /** Lets requests pass for {@link OPEN_MS}, then holds new ones until those in progress have ended. */
  function holdRequests(): void {
    const now = performance.now();
    if (now > requests.heldUntilMs + OPEN_MS) heldSince = now;
    else if (now > requests.heldUntilMs || requests.inProgress === 0) return;
    requests.heldUntilMs = Math.min(heldSince + LONGEST_REQUEST_MS, now + HOLD_MS);
  }

  /**
   * Moves time to the next instant after `doneUntil` at which something falls due, or to the target. Answers false if something
   * has fallen due by itself meanwhile. No request begins until the new time is stored.
   */
  async function moveOn(doneUntil: number): Promise<boolean> {
    const { heldUntilMs } = requests;
    requests.heldUntilMs = Infinity;
    try {
      const { offsetMs, goalMs, target } = clock.record();
      const due = await store.nextDue(doneUntil);
      const wantedMs = due === undefined ? goalMs : Math.min(due - clock.realNow(), goalMs);
      const isAtTarget = offsetMs === goalMs;
      if (isAtTarget) await routing.runOnce();
      else if (wantedMs <= offsetMs) return false;
      const next = isAtTarget ? { offsetMs, goalMs, target: null } : { offsetMs: wantedMs, goalMs, target };
      if (await clock.change(next)) return true;
      throw new Error('another process has changed the test clock of this database');
    } finally {
      requests.heldUntilMs = heldUntilMs;
    }
  }

  return createWorker({ name: 'test clock', log, runOnce, onWake: clock.onAdvance, pollMs: POLL_MS });
}
