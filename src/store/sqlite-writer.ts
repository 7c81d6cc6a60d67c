import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import type { SqlValue } from './keyset.ts';
import { BUSY_TIMEOUT_MS, isDamage, isUnavailable, isUnwritable, sqliteCodeOf, untilFree } from './sqlite-faults.ts';
import { COPY_LOG, EMPTY_LOG } from './sqlite-log-copier.ts';
import { NOTE_REMNANTS } from './sqlite-remnants.ts';
import type { Conflict } from './store.ts';

/** Number of a defined statement, its parameters, and the conflict to report if it affects no row. */
export type PackedWrite = [statement: number, params: SqlValue[], guard?: Conflict];

/** One batch: the numbers and texts of statements that the writer does not know yet, and the change sets to apply. */
export interface Batch {
  define: [number, string][];
  sets: PackedWrite[][];
  /** True if the batch erases personal data: the writer then empties the write-ahead log and marks the file for its next start. */
  forget: boolean;
}

export type WriterMessage = Batch | 'copy log' | 'close';

/** Result of one change set: 0 if committed, a conflict, or the database error with SQLite's primary result code. */
export type SetResult = 0 | Conflict | { error: string; code: number };

/** The only writer of the file, in its own thread: commits all waiting change sets at once, with one fsync. */
function runWriter(path: string): void {
  const database = new DatabaseSync(path);
  database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL`);
  // Makes SQLite overwrite deleted text with zeros instead of only marking its space as free.
  database.exec('PRAGMA secure_delete = ON');
  // Many commits visit every page of SQLite's cache, so a larger cache takes more time than it saves.
  database.exec('PRAGMA foreign_keys = ON; PRAGMA wal_autocheckpoint = 60000; PRAGMA cache_size = -4096');
  assertDurable(database);
  const texts: string[] = [];
  const statements: StatementSync[] = [];
  const begin = database.prepare('BEGIN IMMEDIATE');
  const commit = database.prepare('COMMIT');
  const savepoint = database.prepare('SAVEPOINT change_set');
  const release = database.prepare('RELEASE change_set');
  const undo = database.prepare('ROLLBACK TO change_set');

  /** True if the disk refused a write, or if erased text is left in the log. */
  let mustEmptyLog = false;

  const port = parentPort!;
  port.on('message', (first: WriterMessage) => {
    // Commits all batches that arrived during the last commit in one transaction.
    const batches: Batch[] = [];
    for (let next: WriterMessage | undefined = first; next !== undefined; next = receiveNext()) {
      if (next === 'close') {
        finish(batches);
        database.close();
        port.close();
        return;
      }
      if (next === 'copy log') moveLog(COPY_LOG, false);
      else batches.push(next);
    }
    finish(batches);
  });
  port.postMessage('ready');

  function receiveNext(): WriterMessage | undefined {
    return receiveMessageOnPort(port)?.message;
  }

  function finish(batches: Batch[]): void {
    for (const { define } of batches) for (const [number, sql] of define) texts[number] = sql;
    if (batches.length === 0) return;
    const forget = batches.some((batch) => batch.forget);
    const sets = batches.flatMap((batch) => batch.sets);
    if (mustEmptyLog) mustEmptyLog = !emptyLog({ waits: false });
    const results = applyBatch(sets, forget);
    if (forget) mustEmptyLog = !emptyLog({ waits: true });
    // Frees disk space: the log can be much longer than the pages that it contains.
    mustEmptyLog ||= results.some((result) => typeof result === 'object' && isUnwritable(result.code));
    port.postMessage(results);
  }

  /**
   * Copies the log to the file and truncates it. Returns false if the disk refuses that, or if another connection copies the log or
   * reads its old pages.
   */
  function emptyLog({ waits }: { waits: boolean }): boolean {
    let isEmpty = false;
    const attempt = (): boolean => {
      const moved = moveLog(EMPTY_LOG, waits);
      isEmpty = moved === 'done';
      return moved !== 'busy';
    };
    untilFree(attempt, waits ? BUSY_TIMEOUT_MS : 0);
    return isEmpty;
  }

  function moveLog(how: typeof COPY_LOG | typeof EMPTY_LOG, waits: boolean): 'done' | 'busy' | 'refused' {
    database.exec(`PRAGMA busy_timeout = ${waits ? BUSY_TIMEOUT_MS : 0}`);
    try {
      return database.prepare(how).get()?.['busy'] === 0 ? 'done' : 'busy';
    } catch (error) {
      if (isUnavailable(sqliteCodeOf(error))) return 'refused';
      throw error;
    } finally {
      database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
    }
  }

  function applyBatch(sets: PackedWrite[][], forget: boolean): SetResult[] {
    try {
      return applySets(sets, forget, false) ?? applySets(sets, forget, true)!;
    } catch (error) {
      const refusal = refusalOf(error);
      if (database.isTransaction) database.exec('ROLLBACK');
      return sets.map(() => refusal);
    }
  }

  /**
   * Applies all change sets in one transaction. With `isApart`, each set has a savepoint, so that a failed set does not fail the
   * others; the savepoints take three times as long as the rows. Without `isApart`, rolls back and returns undefined if a set
   * failed after one of its statements had written.
   */
  function applySets(sets: PackedWrite[][], forget: boolean, isApart: boolean): SetResult[] | undefined {
    begin.run();
    const results: SetResult[] = [];
    for (const writes of sets) {
      if (isApart) savepoint.run();
      const { result, written } = applyWrites(writes);
      if (result !== 0 && written > 0 && !isApart) {
        database.exec('ROLLBACK');
        return undefined;
      }
      if (isApart && result !== 0) undo.run();
      if (isApart) release.run();
      results.push(result);
    }
    if (forget) database.exec(NOTE_REMNANTS);
    commit.run();
    return results;
  }

  function prepared(number: number): StatementSync {
    return (statements[number] ??= database.prepare(texts[number]!));
  }

  /** Result of a change set, and the number of its statements that may have written something. */
  function applyWrites(writes: PackedWrite[]): { result: SetResult; written: number } {
    let written = 0;
    try {
      for (const [statement, params, guard] of writes) {
        const { changes } = prepared(statement).run(...params);
        if (guard !== undefined && changes === 0) return { result: guard, written };
        written++;
      }
      return { result: 0, written };
    } catch (error) {
      // Rethrows if the error has ended the whole transaction, as a full disk or a failed write can.
      if (!database.isTransaction) throw error;
      return { result: refusalOf(error), written: written + 1 };
    }
  }
}

/** Throws if SQLite would acknowledge writes before they are on disk. */
function assertDurable(database: DatabaseSync): void {
  const mode = database.prepare('PRAGMA journal_mode').get()?.['journal_mode'];
  const level = database.prepare('PRAGMA synchronous').get()?.['synchronous'];
  if (mode !== 'wal' || level !== 2) {
    throw new Error(`SQLite is not durable here: journal_mode ${String(mode)}, synchronous ${String(level)}`);
  }
}

/** Converts a database error to a result. Rethrows if the file is damaged, which ends this thread and the service. */
function refusalOf(error: unknown): { error: string; code: number } {
  const code = sqliteCodeOf(error);
  if (isDamage(code)) throw error;
  return { error: error instanceof Error ? error.message : String(error), code };
}

runWriter((workerData as { path: string }).path);
