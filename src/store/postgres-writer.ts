import { setTimeout as sleep } from 'node:timers/promises';
import { GatewayError } from '../domain/gateway-error.ts';
import { runWithoutOrigin } from '../telemetry/origin.ts';
import { announcedCommits } from './announced-commits.ts';
import { LONGEST_WAIT_MS, isDeferrable, lockOrderOf, writesOf } from './changes.ts';
import type { WriteOptions } from './database.ts';
import { type BatchResult, type Statement, runBatch } from './postgres-batch.ts';
import {
  CONNECT_TIMEOUT_MS,
  type Connections,
  DEADLINE_MS,
  PATIENT_LOCK_TIMEOUT_MS,
  toStoreError,
  sqlStateOf,
} from './postgres-connection.ts';
import { forPostgres } from './postgres-sql.ts';
import type { OnBatch } from './commit-watch.ts';
import type { CommitResult, Conflict } from './store.ts';
import type { Write } from './write-statement.ts';

/** Maximum number of change sets in one batch. */
const MAX_BATCH = 200;
/** Time after which the next batch no longer waits for a batch in flight, and the maximum number of batches in flight. */
const SLOW_AFTER_MS = 5;
const MAX_IN_FLIGHT = 3;
/** Maximum number of change sets in flight alone: each failed in a batch, and is sent in a transaction of its own. */
const MAX_ALONE_AT_ONCE = 3;
/** Maximum number of times that a batch is repeated without a failed set; then all its sets are sent alone. */
const MAX_REPEATS = 3;
// Codes of serialization failures and deadlocks, and of a lock timeout: https://www.postgresql.org/docs/current/mvcc-serialization-failure-handling.html
const ROLLED_BACK = new Set(['40001', '40P01']);
const LOCKED = '55P03';
const MAX_TRIES = 5;
const LONGEST_PAUSE_MS = 50;
const DIVISION_BY_ZERO = '22012';

interface Waiting {
  statements: StatementSet;
  order: string;
  /** Time of the call, by the monotonic clock. */
  since: number;
  resolve(result: CommitResult): void;
  reject(error: unknown): void;
}

/** The statements of a change set. `guard` is the conflict to report if the statement affects no row. */
type StatementSet = (Statement & { guard: Conflict | undefined; locks: string | undefined })[];

/** A statement of a batch, and the index of its change set. */
interface Sent {
  set: number;
  statement: StatementSet[number];
}

export interface WriterOptions {
  connections: Connections;
  /** Random number from 0 up to, not including, 1. */
  random(): number;
  onBatch?: OnBatch | undefined;
}

/** Creates the writer, which commits many waiting change sets in one transaction and round trip. A failed set fails no other. */
export function createWriter(options: WriterOptions) {
  const { connections, random, onBatch } = options;
  let waiting: Waiting[] = [];
  let timer: NodeJS.Timeout | undefined;
  let isPumping = false;
  let inFlight = 0;
  let slow = 0;
  /** Change sets that wait to be sent alone, and the number of such sets in flight. A set alone waits longer for a lock. */
  const alone: Waiting[] = [];
  let goingAlone = 0;
  let onIdle: (() => void) | undefined;

  function pump(): void {
    clearTimeout(timer);
    [timer, isPumping] = [undefined, false];
    if (waiting.length > 0 && inFlight === slow && inFlight < MAX_IN_FLIGHT) void launch(waiting.splice(0, MAX_BATCH));
    while (alone.length > 0 && goingAlone < MAX_ALONE_AT_ONCE) void sendAlone(alone.shift()!);
    if (isIdle()) onIdle?.();
  }

  const isIdle = (): boolean => inFlight + goingAlone + waiting.length === 0;

  async function launch(batch: Waiting[]): Promise<void> {
    inFlight++;
    let isSlow = false;
    const timer = setTimeout(() => {
      isSlow = true;
      slow++;
      pump();
    }, SLOW_AFTER_MS);
    // Sorts the sets, so that two concurrent batches take their locks in the same order and never deadlock.
    await commitTogether(batch.toSorted((a, b) => compare(a.order, b.order)));
    clearTimeout(timer);
    if (isSlow) slow--;
    inFlight--;
    pump();
  }

  async function sendAlone(set: Waiting): Promise<void> {
    goingAlone++;
    await commitTogether([set], { patient: true });
    goingAlone--;
    pump();
  }

  /** Commits a batch. Never rejects: each caller of `commit` receives the result or the error of its own change set. */
  async function commitTogether(batch: Waiting[], { patient = false, repeats = MAX_REPEATS } = {}): Promise<void> {
    const sent = inLockOrder(batch.map(({ statements }) => statements));
    let result: BatchResult;
    try {
      const statements = sent.map(({ statement }) => statement);
      result = await send(statements, Math.min(...batch.map(({ since }) => since)) + DEADLINE_MS, patient);
    } catch (error) {
      for (const { reject } of batch) reject(error);
      return;
    }
    const { counts, refusal } = result;
    if (!refusal) {
      settle(batch, sent, counts);
      return;
    }
    // The failed statement; undefined if all statements succeeded and the server refused the commit.
    const refused = sent[counts.length];
    const isLocked = sqlStateOf(refusal) === LOCKED;
    const [only] = batch;
    if (batch.length > 1 && refused === undefined) alone.push(...batch);
    else if (batch.length > 1) await commitOthers(batch, batch[refused!.set]!, isLocked, repeats);
    else if (isLocked && !patient) alone.push(only!);
    else settleRefusal(only!, refused?.statement.guard, refusal);
  }

  /** Commits the batch without the failed set, and queues the failed set to be sent alone. */
  async function commitOthers(batch: Waiting[], refused: Waiting, isLocked: boolean, repeats: number): Promise<void> {
    // After a lock timeout, removes all sets with the same lock order, because each would wait for the same lock.
    const isRefused = (set: Waiting) =>
      set === refused || (isLocked && set.order === refused.order && set.order !== '');
    const others = batch.filter((set) => !isRefused(set));
    if (repeats === 0) alone.push(...others);
    else if (others.length > 0) await commitTogether(others, { repeats: repeats - 1 });
    // Queues the failed sets after the other sets, because another set of the batch may have caused the failure.
    alone.push(...batch.filter(isRefused));
  }

  function settle(batch: Waiting[], sent: Sent[], counts: number[]): void {
    const conflicts = new Map<number, Conflict>();
    for (const [index, { set, statement }] of sent.entries()) {
      // In a set of several statements, the server reports a failed guard as an error (see `statementsOf`).
      const failed = batch[set]!.statements.length === 1 && counts[index] === 0;
      if (failed && statement.guard !== undefined) conflicts.set(set, statement.guard);
    }
    onBatch?.(batch);
    for (const [set, { resolve }] of batch.entries()) {
      const conflict = conflicts.get(set);
      resolve(conflict === undefined ? { done: true } : { done: false, conflict });
    }
  }

  function settleRefusal({ resolve, reject }: Waiting, guard: Conflict | undefined, refusal: Error): void {
    if (guard !== undefined && sqlStateOf(refusal) === DIVISION_BY_ZERO) resolve({ done: false, conflict: guard });
    else reject(toStoreError(refusal));
  }

  /** Sends a batch. Repeats it after a deadlock or a serialization failure, and after a lock timeout if it is `patient`. */
  async function send(statements: Statement[], deadline: number, patient: boolean): Promise<BatchResult> {
    for (let attempt = 1; ; attempt++) {
      // Fails early if opening a connection could take longer than the time that is left until the deadline.
      if (deadline - performance.now() < CONNECT_TIMEOUT_MS)
        throw new GatewayError('unavailable', 'The database does not keep up with the requests.');
      const result = await connections.use(async (client) => {
        const left = Math.max(1, deadline - performance.now());
        if (!patient) return runBatch(client, statements, left);
        const { counts, ...rest } = await runBatch(client, [PATIENCE, ...statements], left);
        return { ...rest, counts: counts.slice(1) };
      });
      const code = result.refusal ? sqlStateOf(result.refusal) : '';
      const again = ROLLED_BACK.has(code) || (code === LOCKED && patient);
      if (!again || attempt === MAX_TRIES) return result;
      await sleep(random() * LONGEST_PAUSE_MS * attempt);
    }
  }

  function enqueue(
    writes: Write[],
    order: string,
    { isDeferrable: canWait }: WriteOptions = {},
  ): Promise<CommitResult> {
    return new Promise((resolve, reject) => {
      const since = performance.now();
      const statements = statementsOf(writes);
      waiting.push({ statements, order, since, resolve, reject });
      if (isPumping) return;
      if (canWait) {
        timer ??= runWithoutOrigin(() => setTimeout(pump, LONGEST_WAIT_MS));
        return;
      }
      // Waits for the end of this turn of the event loop, so that its change sets are sent together.
      isPumping = true;
      setImmediate(runWithoutOrigin, pump);
    });
  }

  return {
    ...announcedCommits(async (changes) =>
      enqueue(writesOf(changes), lockOrderOf(changes), { isDeferrable: isDeferrable(changes) }),
    ),
    /** Commits statements that are not changes of the store port. A batch sorts its sets by `lockOrder`. */
    write: (writes: Write[], lockOrder: string, options?: WriteOptions) => enqueue(writes, lockOrder, options),
    async close() {
      if (!isIdle()) await new Promise<void>((resolve) => (onIdle = resolve));
      await connections.close();
    },
  };
}

/** Sets the longer lock timeout of a set that is sent alone: no other set has to wait with it. */
const PATIENCE: Statement = {
  sql: "SELECT set_config('lock_timeout', $1, true)",
  params: [String(PATIENT_LOCK_TIMEOUT_MS)],
};

/** Converts the writes of a change set to PostgreSQL. Throws TypeError for an undefined parameter. */
function statementsOf(writes: Write[]): StatementSet {
  // If the guard of a single statement fails, nothing was written. In a set of several statements, a failed guard must be an
  // error, so that the server rolls back the other statements.
  const strict = writes.length > 1;
  return writes.map(({ sql, params, guard, locks }) => {
    if ((params as unknown[]).includes(undefined)) throw new TypeError(`a value is undefined: ${sql}`);
    const text = forPostgres(sql);
    return { sql: strict && guard !== undefined ? failingOnNone(text) : text, params, guard, locks };
  });
}

/** Makes a statement fail with a division by zero if it affects no row: within one round trip, the client cannot check the count. */
function failingOnNone(sql: string): string {
  return `WITH touched AS (${sql} RETURNING 1) SELECT 1 / COUNT(*) FROM touched`;
}

function inLockOrder(sets: StatementSet[]): Sent[] {
  const all = sets.flatMap((statements, set) => statements.map((statement): Sent => ({ set, statement })));
  const early = all.filter(({ statement }) => statement.locks !== undefined);
  if (early.length === 0) return all;
  early.sort((a, b) => compare(a.statement.locks!, b.statement.locks!));
  return [...early, ...all.filter(({ statement }) => statement.locks === undefined)];
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
