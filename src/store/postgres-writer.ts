import { setTimeout as sleep } from 'node:timers/promises';
import { GatewayError } from '../domain/errors.ts';
import { leavesWork, lockOrderOf, writesOf } from './changes.ts';
import { type BatchResult, type Statement, runBatch } from './postgres-batch.ts';
import { CONNECT_TIMEOUT_MS, type Connections, DEADLINE_MS, asUnavailable, codeOf } from './postgres-connection.ts';
import { forPostgres } from './postgres-sql.ts';
import type { Change, CommitResult, Conflict, Store } from './store.ts';

/** How many change sets travel together at most. */
const MAX_BATCH = 200;
/**
 * The next batch gathers until the one under way is done, since larger ones cost less; but not behind one that takes
 * longer than this, because it waits for a lock or a slow disk. So many may be under way at once.
 */
const SLOW_AFTER_MS = 5;
const MAX_IN_FLIGHT = 4;
// Serialization failures, deadlocks and locks that are held long: https://www.postgresql.org/docs/current/mvcc-serialization-failure-handling.html
const TRY_AGAIN = new Set(['40001', '40P01', '55P03']);
const MAX_TRIES = 5;
const LONGEST_PAUSE_MS = 50;
/** A batch with more sets that fail than this is not repeated without each of them, but taken apart. */
const MAX_REPEATS = 3;
const DIVISION_BY_ZERO = '22012';

interface Waiting {
  changes: Change[];
  order: string;
  /** By the monotonic clock. */
  since: number;
  resolve(result: CommitResult): void;
  reject(error: unknown): void;
}

/** The statements of a change set, each with the conflict that it stands for where it touches no row. */
type StatementSet = (Statement & { guard: Conflict | undefined; locks: string | undefined })[];

/** A statement of a batch, and the number of the set that it belongs to. */
interface Sent {
  set: number;
  statement: StatementSet[number];
  guard: Conflict | undefined;
}

type Outcome = CommitResult | { error: unknown };

export interface WriterOptions {
  connections: Connections;
  /** From 0 up to, not including, 1. */
  random(): number;
}

/** Commits whatever waits, many change sets in one transaction and one round trip; one that fails, fails alone. */
export function createWriter({ connections, random }: WriterOptions): Pick<Store, 'commit' | 'onCommit' | 'close'> {
  const listeners: (() => void)[] = [];
  let waiting: Waiting[] = [];
  let inFlight = 0;
  let slow = 0;
  let onIdle: (() => void) | undefined;

  function pump(): void {
    if (waiting.length > 0 && inFlight === slow && inFlight < MAX_IN_FLIGHT) void launch(waiting.splice(0, MAX_BATCH));
    if (inFlight === 0 && waiting.length === 0) onIdle?.();
  }

  async function launch(batch: Waiting[]): Promise<void> {
    inFlight++;
    let isSlow = false;
    const timer = setTimeout(() => {
      isSlow = true;
      slow++;
      pump();
    }, SLOW_AFTER_MS);
    await commitBatch(batch);
    clearTimeout(timer);
    if (isSlow) slow--;
    inFlight--;
    pump();
  }

  async function commitBatch(batch: Waiting[]): Promise<void> {
    // Always in the same order: two batches that meet wait in turn.
    batch.sort((a, b) => (a.order < b.order ? -1 : a.order > b.order ? 1 : 0));
    const deadline = Math.min(...batch.map(({ since }) => since)) + DEADLINE_MS;
    let outcomes: Outcome[];
    try {
      outcomes = await applyAll(
        batch.map(({ changes }) => statementsOf(changes)),
        deadline,
      );
    } catch (error) {
      outcomes = batch.map(() => ({ error }));
    }
    let work = false;
    for (const [index, { changes, resolve, reject }] of batch.entries()) {
      const outcome = outcomes[index]!;
      if ('error' in outcome) reject(outcome.error);
      else {
        if (outcome.done) work ||= leavesWork(changes);
        resolve(outcome);
      }
    }
    if (work) for (const listener of listeners) listener();
  }

  async function applyAll(sets: StatementSet[], deadline: number, repeats = MAX_REPEATS): Promise<Outcome[]> {
    const sent = inLockOrder(sets);
    const { counts, refusal } = await send(
      sent.map(({ statement }) => statement),
      deadline,
    );
    if (!refusal) return outcomesOf(sets, sent, counts);
    // After the last statement it is the commit itself that was refused.
    const failed = sent[counts.length];
    if (sets.length === 1) return [outcomeOfRefusal(failed?.guard, refusal)];
    if (failed === undefined || repeats === 0) {
      return (await Promise.all(sets.map((set) => applyAlone(set, deadline)))).flat();
    }
    // The one that was refused goes after the others, which may have been what stood in its way.
    const others = await applyAll(sets.toSpliced(failed.set, 1), deadline, repeats - 1);
    return others.toSpliced(failed.set, 0, ...(await applyAlone(sets[failed.set]!, deadline)));
  }

  function applyAlone(set: StatementSet, deadline: number): Promise<Outcome[]> {
    return applyAll([set], deadline).catch((error: unknown) => [{ error }]);
  }

  /** One round trip, again where the server ended it for the sake of another transaction. */
  async function send(statements: Statement[], deadline: number): Promise<BatchResult> {
    for (let attempt = 1; ; attempt++) {
      // Opening a connection may take what is left, and nobody waits longer than the deadline.
      if (deadline - performance.now() < CONNECT_TIMEOUT_MS)
        throw new GatewayError('unavailable', 'The database does not keep up with what it is asked.');
      const result = await connections.use((client) =>
        runBatch(client, statements, Math.max(1, deadline - performance.now())),
      );
      if (!result.refusal || !TRY_AGAIN.has(codeOf(result.refusal)) || attempt === MAX_TRIES) return result;
      await sleep(random() * LONGEST_PAUSE_MS * attempt);
    }
  }

  return {
    commit(changes) {
      return new Promise((resolve, reject) => {
        const since = performance.now();
        // Whatever arrives in this turn of the event loop travels together.
        if (waiting.push({ changes, order: lockOrderOf(changes), since, resolve, reject }) === 1) setImmediate(pump);
      });
    },
    onCommit(listener) {
      listeners.push(listener);
    },
    async close() {
      if (inFlight > 0 || waiting.length > 0) await new Promise<void>((resolve) => (onIdle = resolve));
      await connections.close();
    },
  };
}

function statementsOf(changes: Change[]): StatementSet {
  const writes = writesOf(changes);
  // Alone, a guard that does not hold has written nothing. With others it must take them back, and so be an error.
  const strict = writes.length > 1;
  return writes.map(({ sql, params, guard, locks }) => {
    const text = forPostgres(sql);
    return { sql: strict && guard !== undefined ? failingOnNone(text) : text, params, guard, locks };
  });
}

/** The statement as one that the server refuses where it touches no row: in one round trip nobody can look in between. */
function failingOnNone(sql: string): string {
  return `WITH touched AS (${sql} RETURNING 1) SELECT 1 / COUNT(*) FROM touched`;
}

function inLockOrder(sets: StatementSet[]): Sent[] {
  const all = sets.flatMap((statements, set) =>
    statements.map((statement): Sent => ({ set, statement, guard: statement.guard })),
  );
  if (!all.some(({ statement }) => statement.locks !== undefined)) return all;
  const early = all.filter(({ statement }) => statement.locks !== undefined);
  early.sort((a, b) => (a.statement.locks! < b.statement.locks! ? -1 : 1));
  return [...early, ...all.filter(({ statement }) => statement.locks === undefined)];
}

function outcomesOf(sets: StatementSet[], sent: Sent[], counts: number[]): Outcome[] {
  const outcomes = sets.map((): Outcome => ({ done: true }));
  for (const [index, { set, guard }] of sent.entries()) {
    const failed = sets[set]!.length === 1 && guard !== undefined && counts[index] === 0;
    if (failed) outcomes[set] = { done: false, conflict: guard };
  }
  return outcomes;
}

function outcomeOfRefusal(guard: Conflict | undefined, refusal: Error): Outcome {
  if (guard !== undefined && codeOf(refusal) === DIVISION_BY_ZERO) return { done: false, conflict: guard };
  return { error: asUnavailable(refusal) };
}
