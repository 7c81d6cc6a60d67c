import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { GatewayError } from '../domain/errors.ts';

// Whoever asks for more as long as there is some does not ask a thousand times a second.
const ERROR_PAUSE_MS = 200;

/** Something that does what has come due. */
export interface Worker {
  /** Does everything that is due now; answers how many things it did. */
  runOnce(): Promise<number>;
  start(): void;
  /** Begins nothing of itself until `resume`, and waits for what is under way; `runOnce` works all the same. */
  pause(): Promise<void>;
  resume(): void;
  /** Begins nothing new, and waits for what is under way. */
  stop(): Promise<void>;
}

export interface WorkerOptions {
  name: string;
  log: Logger;
  runOnce(): Promise<number>;
  /** Registers what wakes the worker before its next poll. */
  onWake(wake: () => void): void;
  pollMs: number;
}

/** A loop around `runOnce`: woken by commits, polling for what others left and for what time brings. */
export function createWorker({ name, log, runOnce, onWake, pollMs }: WorkerOptions): Worker {
  let running: Promise<void> | undefined;
  let stopped = true;
  let paused = false;
  let again = false;
  let timer: NodeJS.Timeout | undefined;
  let complaint: string | undefined;

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
        await runOnce();
        if (complaint !== undefined) log.info({ worker: name }, 'worker goes on');
        complaint = undefined;
      }
    } catch (error) {
      // The next poll tries again: the database may be away for a while, which is worth one line and not two a second.
      const isAway = error instanceof GatewayError && error.code === 'unavailable';
      if (complaint === String(error)) log.trace({ worker: name }, 'worker failed as before');
      else if (isAway) log.warn({ worker: name, reason: error.message }, 'worker waits for the database');
      else log.error({ err: error, worker: name }, 'worker failed');
      complaint = String(error);
    }
    running = undefined;
    if (!stopped && !paused) timer = setTimeout(wake, pollMs);
  }

  onWake(wake);
  return {
    runOnce,
    start() {
      stopped = false;
      wake();
    },
    async pause() {
      paused = true;
      clearTimeout(timer);
      await running;
    },
    resume() {
      paused = false;
      wake();
    },
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}

/** Handles `items` with at most `width` under way at once; one that fails is logged and left for later, after a pause. */
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
