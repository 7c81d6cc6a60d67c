import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';
import type { Query, Row } from './keyset.ts';
import { BUSY_TIMEOUT_MS, sqliteCodeOf } from './sqlite-faults.ts';

/** Result of one query: its rows, or the database error with SQLite's primary result code. */
export type ReadResult = { rows: Row[] } | { error: string; code: number };

/** Runs long reads in a thread of its own, on a connection that cannot change data, and answers them in the order of their arrival. */
function runReader(path: string): void {
  const database = new DatabaseSync(path);
  // The connection is not `readOnly`, because it also copies the log to the file. FULL syncs the log before each copy.
  database.exec('PRAGMA query_only = ON; PRAGMA synchronous = FULL');
  database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}; PRAGMA mmap_size = 268435456`);
  const prepared = new Map<string, StatementSync>();

  function resultOf({ sql, params }: Query): ReadResult {
    try {
      const statement = prepared.get(sql) ?? database.prepare(sql);
      prepared.set(sql, statement);
      return { rows: statement.all(...params) as Row[] };
    } catch (error) {
      return { error: (error as Error).message, code: sqliteCodeOf(error) };
    }
  }

  const port = parentPort!;
  port.on('message', (query: Query | 'close') => {
    if (query !== 'close') return port.postMessage(resultOf(query));
    database.close();
    port.close();
  });
}

runReader((workerData as { path: string }).path);
