import type { Logger } from 'pino';
import type { TestClock } from '../operations/test-clock.ts';
import type { TestClockRecord } from '../store/clock.ts';
import type { Store } from '../store/store.ts';
import { type Worker, createWorker } from './worker.ts';

// How soon the other processes of a database know.
const POLL_MS = 1000;
/** How long an advance is left to a process that says nothing more of it, in real time. */
const LEASE_MS = 3000;
const RENEW_MS = 1000;
/** How long requests pass while there is something to do at an instant; then they wait, so that there is an end to it. */
const OPEN_MS = 1000;
/** After that an instant is left, though more keeps coming: what came late is done at the next one. */
const LEAVE_MS = 30_000;

export interface TestClockWorkerOptions {
  clock: TestClock;
  store: Store;
  /** Those that do what falls due. Of an advance they rest, but for what they are told to do. */
  workers: readonly Worker[];
  /** Looks at the routes as always meanwhile, and once more when time is where it was to be. */
  routing: Worker;
  log: Logger;
}

/**
 * Carries advances out: from one instant at which something falls due to the next, all of which is done before time is
 * moved on, so that it happens in its order and at its own time. Of several processes one does it, and the workers of the
 * others rest meanwhile; where that one has died, another goes on from where it was.
 */
export function createTestClockWorker({ clock, store, workers, routing, log }: TestClockWorkerOptions): Worker {
  let stopping = false;
  let resting = false;
  let steps = 0;
  /** When time got to the instant at which it stands. */
  let since = 0;

  async function runOnce(): Promise<number> {
    const { target } = await clock.look();
    if (target === null) {
      rouse();
      return 0;
    }
    if (!(await hold())) {
      void rest();
      return 0;
    }
    const renewal = setInterval(() => void renew(), RENEW_MS);
    try {
      await rest();
      const isDone = await carryOut(target);
      if (isDone) rouse();
      return isDone ? 1 : 0;
    } finally {
      clearInterval(renewal);
      // Whoever is next need not wait.
      if (stopping) await letGo();
    }
  }

  async function rest(): Promise<void> {
    resting = true;
    await Promise.all(workers.map((worker) => worker.pause()));
  }

  function rouse(): void {
    if (resting) for (const worker of workers) worker.resume();
    resting = false;
  }

  /** Answers whether it has got to the target. */
  async function carryOut(target: number): Promise<boolean> {
    const began = (since = performance.now());
    steps = 0;
    while (goesOn()) {
      const opened = performance.now();
      // A receiver may ask this service for something before it answers.
      const isQuiet = (await settle(() => performance.now() - opened < OPEN_MS)) !== undefined;
      const isDone = await clock.gate.alone((isShut) => moveWhile(isShut, isQuiet));
      if (!isDone) continue;
      const took = {
        steps,
        advancedSeconds: clock.known().goalMs / 1000,
        tookMs: Math.round(performance.now() - began),
      };
      log.info({ ...took, now: new Date(clock.now()).toISOString() }, 'test clock: time was moved');
      return true;
    }
    if (stopping) {
      log.info({ target: new Date(target).toISOString() }, 'test clock: stopped on the way, the next start goes on');
    }
    return false;
  }

  /** Moves time on by one instant, or, where requests keep it busy, by as many as it can while those wait. */
  async function moveWhile(isShut: () => boolean, isQuiet: boolean): Promise<boolean> {
    do {
      // Who was inside may have committed what was due a moment ago.
      const isOver = performance.now() - since > LEAVE_MS;
      const doneUntil = isOver ? clock.now() : await settle(isShut);
      if (doneUntil === undefined || !isShut() || !goesOn()) return false;
      if (await moveOn(doneUntil)) return true;
    } while (!isQuiet);
    return false;
  }

  /**
   * Does everything that is due, and what comes of it; answers the last instant of which nothing is left, nor can come.
   * Undefined where there is no end to it while `mayGoOn`.
   */
  async function settle(mayGoOn: () => boolean): Promise<number | undefined> {
    do {
      const from = clock.now();
      let done = 0;
      for (const worker of workers) if (!stopping) done += await worker.runOnce();
      if (done === 0) return from - 1;
    } while (mayGoOn() && goesOn());
    return undefined;
  }

  /** To the next instant at which something falls due, or to the goal; answers whether the advance is done. */
  async function moveOn(doneUntil: number): Promise<boolean> {
    const { offsetMs, goalMs } = clock.known();
    if (offsetMs === goalMs) {
      await routing.runOnce();
      const ended = { target: null, holder: null, heldUntil: 0 };
      const done = await clock.change((record) => (isOurs(record) ? { ...record, ...ended } : undefined));
      return done !== undefined;
    }
    const due = await store.nextDue(doneUntil);
    const wanted = due === undefined ? goalMs : Math.min(due - clock.realNow(), goalMs);
    // What fell due of itself meanwhile needs no move.
    if (wanted <= offsetMs) return false;
    const moved = await clock.change((record) =>
      isOurs(record) ? { ...record, offsetMs: wanted, heldUntil: leaseEnd() } : undefined,
    );
    if (moved) steps++;
    since = performance.now();
    return false;
  }

  const leaseEnd = () => clock.realNow() + LEASE_MS;
  const goesOn = () => !stopping && isOurs(clock.known());
  const isOurs = ({ target, holder }: TestClockRecord) => target !== null && holder === clock.id;

  async function hold(): Promise<boolean> {
    const held = await clock.change((record) => {
      const isFree = record.holder === null || record.holder === clock.id || record.heldUntil <= clock.realNow();
      return record.target !== null && isFree ? { ...record, holder: clock.id, heldUntil: leaseEnd() } : undefined;
    });
    return held !== undefined;
  }

  async function renew(): Promise<void> {
    try {
      await clock.change((record) => (isOurs(record) ? { ...record, heldUntil: leaseEnd() } : undefined));
    } catch (error) {
      log.warn({ reason: String(error) }, 'test clock: the advance could not be held');
    }
  }

  async function letGo(): Promise<void> {
    await clock.change((record) => (isOurs(record) ? { ...record, holder: null, heldUntil: 0 } : undefined));
  }

  clock.onAdvance(() => void rest());
  const loop = createWorker({ name: 'test clock', log, runOnce, onWake: clock.onAdvance, pollMs: POLL_MS });
  return {
    ...loop,
    async stop() {
      stopping = true;
      await loop.stop();
    },
  };
}
