import { statfsSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { GatewayError } from '../domain/gateway-error.ts';
import { announcedCommits } from './announced-commits.ts';
import { LONGEST_WAIT_MS, erasesPersonalData, isDeferrable, writesOf } from './changes.ts';
import type { OnBatch } from './commit-watch.ts';
import type { WriteOptions } from './database.ts';
import { createLogCopier } from './sqlite-log-copier.ts';
import { describeSqliteError, isUnavailable, isUnwritable } from './sqlite-faults.ts';
import type { Batch, PackedWrite, SetResult, WriterMessage } from './sqlite-writer.ts';
import type { Change, CommitResult } from './store.ts';
import type { Write } from './write-statement.ts';

interface Waiting {
  changes: Change[];
  writes: Write[];
  resolve(result: CommitResult): void;
  reject(error: Error): void;
}

/** Number of change sets that are sent before the turn of the event loop ends, so that the writer works while this thread handles requests. */
const SETS_AT_ONCE = 20;
/** Smallest possible write: rewrites the application id in the file header with its current value. */
export const REWRITE_HEADER = 'PRAGMA application_id = 0';
/** Free disk space that the service needs to become ready again after a full disk, so that the next commits do not fill it. */
const LEAST_ROOM_BYTES = 1 << 20;

interface WriterOptions {
  path: string;
  /** Copies the log to the file in another thread. */
  copyLog(): Promise<unknown>;
  onFatal(error: Error): void;
  onBatch?: OnBatch | undefined;
}

/** Starts the writer thread, and queues change sets for it. */
export async function startWriter({ path, copyLog, onFatal, onBatch }: WriterOptions) {
  const worker = new Worker(new URL('./sqlite-writer.ts', import.meta.url), { workerData: { path } });
  await new Promise<void>((resolve, reject) => {
    worker.once('message', () => resolve());
    worker.once('error', reject);
  });

  const copier = createLogCopier(copyLog, () => worker.postMessage('copy log' satisfies WriterMessage));
  const numbers = new Map<string, number>();
  let waiting: Waiting[] = [];
  let inFlight: Waiting[] = [];
  let timer: NodeJS.Timeout | undefined;
  let isSending = false;
  let isDead = false;
  let isRefused = false;
  let onIdle: (() => void) | undefined;

  // Each message has the results of one or more batches, in the order of their change sets.
  worker.on('message', (results: SetResult[]) => {
    if (isDead) return;
    const settled = inFlight.slice(0, results.length);
    inFlight = inFlight.slice(results.length);
    onBatch?.(settled);
    settle(settled, results);
    copier.count(settled.reduce((sum, { writes }) => sum + writes.length, 0));
    if (inFlight.length === 0 && waiting.length === 0) onIdle?.();
  });
  worker.on('error', fail);

  function fail(error: Error): void {
    if (isDead) return;
    isDead = true;
    for (const { reject } of [...inFlight, ...waiting]) reject(unwritable());
    [inFlight, waiting] = [[], []];
    onFatal(describeSqliteError(path, error) as Error);
  }

  function write(
    changes: Change[],
    writes: Write[],
    { isDeferrable: canWait }: WriteOptions = {},
  ): Promise<CommitResult> {
    if (isDead) return Promise.reject(unwritable());
    return new Promise((resolve, reject) => {
      waiting.push({ changes, writes, resolve, reject });
      if (waiting.length === SETS_AT_ONCE) return send();
      if (isSending) return;
      if (canWait) {
        timer ??= setTimeout(send, LONGEST_WAIT_MS);
        return;
      }
      // Waits for the end of this turn of the event loop, so that its change sets are sent together.
      isSending = true;
      setImmediate(send);
    });
  }

  function send(): void {
    clearTimeout(timer);
    [timer, isSending] = [undefined, false];
    if (waiting.length === 0) return;
    const batch = waiting;
    waiting = [];
    inFlight = inFlight.length === 0 ? batch : [...inFlight, ...batch];
    const define: Batch['define'] = [];
    const sets = batch.map(({ writes }) => writes.map((write) => pack(write, define)));
    const forget = batch.some(({ changes }) => erasesPersonalData(changes));
    worker.postMessage({ define, sets, forget } satisfies Batch);
  }

  function pack(write: Write, define: Batch['define']): PackedWrite {
    let number = numbers.get(write.sql);
    if (number === undefined) {
      number = numbers.size;
      numbers.set(write.sql, number);
      define.push([number, write.sql]);
    }
    return write.guard === undefined ? [number, write.params] : [number, write.params, write.guard];
  }

  function settle(settled: Waiting[], results: SetResult[]): void {
    for (const [index, { resolve, reject }] of settled.entries()) {
      const result = results[index]!;
      if (result === 0) resolve({ done: true });
      else if (typeof result === 'string') resolve({ done: false, conflict: result });
      else {
        isRefused ||= isUnwritable(result.code);
        reject(isUnavailable(result.code) ? unwritable(result.error) : new Error(`database: ${result.error}`));
      }
    }
  }

  return {
    ...announcedCommits((changes) => write(changes, writesOf(changes), { isDeferrable: isDeferrable(changes) })),
    /** Commits statements that are not changes of the store port. */
    write: (writes: Write[], options?: WriteOptions) => write([], writes, options),
    /** Throws if the writer has died or the file is damaged. */
    assertUsable() {
      if (isDead) throw unwritable();
    },
    /** Throws if the disk refused the last write and still refuses a small write, or is almost full. */
    async assertWritable() {
      if (!isRefused) return;
      await write([], [{ sql: REWRITE_HEADER, params: [] }]);
      const { bavail, bsize } = statfsSync(path);
      if (bavail * bsize < LEAST_ROOM_BYTES) throw unwritable('its disk is almost full');
      isRefused = false;
    },
    /** Rejects every write from now on. */
    fail,
    /** Resolves when no write is waiting or in progress. */
    async finished() {
      if (inFlight.length > 0 || waiting.length > 0) await new Promise<void>((resolve) => (onIdle = resolve));
    },
    async close() {
      const ended = new Promise((resolve) => worker.once('exit', resolve));
      worker.postMessage('close');
      await ended;
    },
  };
}

function unwritable(reason?: string): GatewayError {
  const cause = reason === undefined ? {} : { cause: new Error(reason) };
  return new GatewayError('unavailable', 'The database cannot be written to.', {}, cause);
}
