import { setTimeout as sleep } from 'node:timers/promises';
import { GatewayError } from '../domain/gateway-error.ts';
import type { Pace } from '../operations/deps.ts';
import type { Change, CommitResult, Store } from '../store/store.ts';
import type { Log } from '../webhooks/lane.ts';

// Pause after a failure, which slows down a loop that repeats while due work remains.
const ERROR_PAUSE_MS = 200;
/** Shortest time in which the utilization of the event loop is measured, and its highest value in an idle service. */
const [SAMPLE_MS, IDLE] = [5, 0.2];
const LONGEST_REST_MS = 3000;

/** A loop that does due work. */
export interface Worker {
  /** Does all due work, and returns the number of items, even if the loop is not running. */
  runOnce(): Promise<number>;
  start(): void;
  /** Stops the loop until `resume`, and waits for work in progress. During the pause, callers can still use `runOnce`. */
  pause(): Promise<void>;
  resume(): void;
  /** Begins no more work and waits for work in progress. */
  stop(): Promise<void>;
}

/** The loop of a worker, as its creator uses it. */
export interface Loop {
  /** Has the loop look for due work now. */
  wake(): void;
  /** Runs work that is due, without a search. Returns false if the loop is not running. `pause` and `stop` wait for the work. */
  begin(work: () => Promise<unknown>): boolean;
}

interface WorkerOptions {
  name: string;
  log: Log;
  /** Does all due work, and returns the number of items. Begins no further item once `isStopped` returns true. Only the loop passes `pace`. */
  runOnce(isStopped: () => boolean, pace?: Pace): Promise<number>;
  /** Called once with the loop. The callee can wake the loop when work becomes due, before the next poll. */
  onCreated?(loop: Loop): void;
  pollMs: number;
}

/** Creates a loop around `runOnce`, which polls for due work. */
export function createWorker({ name, log, runOnce, onCreated, pollMs }: WorkerOptions): Worker {
  let running: Promise<void> | undefined;
  let stopped = true;
  let paused = false;
  let again = false;
  let timer: NodeJS.Timeout | undefined;
  const begun = new Set<Promise<void>>();
  let lastError: string | undefined;
  // Only `stop` sets this flag, so that `runOnce` also works on a worker that was never started.
  let isEnding = false;
  const isStopped = () => isEnding;

  function wake(): void {
    if (stopped || paused) return;
    again = true;
    running ??= run();
  }

  async function run(): Promise<void> {
    clearTimeout(timer);
    try {
      while (again && !stopped && !paused) {
        again = false;
        await runOnce(isStopped, createPace());
        if (lastError !== undefined) log.info({ worker: name }, 'worker continues');
        lastError = undefined;
      }
    } catch (error) {
      report(error);
    }
    running = undefined;
    if (!stopped && !paused) timer = setTimeout(wake, pollMs);
  }

  /** Logs an error. The next poll tries again. An unavailable database is logged once, not at every poll. */
  function report(error: unknown): void {
    const isAway = error instanceof GatewayError && error.code === 'unavailable';
    const isRepeated = lastError === String(error);
    if (isAway && !isRepeated) log.warn({ worker: name, reason: error.message }, 'worker waits for the database');
    else if (!isRepeated) log.error({ err: error, worker: name }, 'worker failed');
    lastError = String(error);
  }

  function begin(work: () => Promise<unknown>): boolean {
    if (stopped || paused) return false;
    const done: Promise<void> = work()
      .then(() => undefined, report)
      .finally(() => begun.delete(done));
    begun.add(done);
    return true;
  }

  async function idle(): Promise<void> {
    await running;
    await Promise.all(begun);
  }

  onCreated?.({ wake, begin });
  return {
    runOnce: () => runOnce(isStopped),
    start() {
      stopped = false;
      wake();
    },
    async pause() {
      paused = true;
      clearTimeout(timer);
      await idle();
    },
    resume() {
      paused = false;
      wake();
    },
    async stop() {
      [stopped, isEnding] = [true, true];
      clearTimeout(timer);
      await idle();
    },
  };
}

/**
 * Returns a function that a worker calls after each batch of background work. While the event loop has other work, it rests for up to
 * 100 times the length of the batch, in proportion to that work.
 */
function createPace(): Pace {
  let resumed = performance.now();
  return async () => {
    const lengthMs = performance.now() - resumed;
    const before = performance.eventLoopUtilization();
    await sleep(Math.max(lengthMs / 2, SAMPLE_MS));
    const { utilization } = performance.eventLoopUtilization(before);
    if (utilization > IDLE) await sleep(Math.min(lengthMs * utilization * 100, LONGEST_REST_MS));
    resumed = performance.now();
  };
}

/** Function for `onCreated`: wakes the loop after each commit with a change for which `isWork` returns true. */
export function afterCommits({ onCommit }: Pick<Store, 'onCommit'>, isWork: (change: Change) => boolean) {
  return (loop: Loop) =>
    onCommit((changes, committed) => {
      if (changes.some(isWork)) wakeAfter(loop, committed);
    });
}

/** Wakes a loop if a write succeeds. The caller of a failed write gets its error. */
export function wakeAfter({ wake }: Loop, written: Promise<Pick<CommitResult, 'done'>>): void {
  written.then(({ done }) => done && wake()).catch(() => undefined);
}

/** Handles `items`, at most `width` at once. Reports each failure to `onError`; after failures, the call ends with a pause. */
export async function forEachOf<Item>(
  items: readonly Item[],
  width: number,
  handle: (item: Item) => Promise<void>,
  onError: (error: unknown, item: Item) => void,
): Promise<void> {
  const queue = [...items];
  let failed = false;
  async function lane(): Promise<void> {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) {
      try {
        await handle(item);
      } catch (error) {
        failed = true;
        onError(error, item);
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(width, items.length) }, lane));
  if (failed) await sleep(ERROR_PAUSE_MS);
}
