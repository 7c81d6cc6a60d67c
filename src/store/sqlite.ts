import { closeSync, fsyncSync, mkdirSync, openSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { Worker } from 'node:worker_threads';
import { GatewayError } from '../domain/errors.ts';
import type { Clock } from '../runtime.ts';
import { erases, leavesWork, writesOf } from './changes.ts';
import type { Query, Row, SqlValue } from './keyset.ts';
import {
  CREATE_MIGRATIONS,
  INSERT_MIGRATION,
  SELECT_MIGRATIONS,
  migrationRow,
  missingMigrations,
  refuseForeign,
  refuseOutdated,
} from './migrate.ts';
import type { Migration } from './migrations/migration.ts';
import type { OnBatch } from './observed.ts';
import type { StoreLog } from './postgres-connection.ts';
import { createReads } from './reads.ts';
import { clearRemnants } from './sqlite-remnants.ts';
import type { Batch, PackedWrite, SetResult } from './sqlite-writer.ts';
import type { ExaminedDatabase } from './examined.ts';
import type { Change, CommitResult, Store } from './store.ts';
import type { Write } from './write.ts';

interface Waiting {
  changes: Change[];
  writes: Write[];
  resolve(result: CommitResult): void;
  reject(error: Error): void;
}

export interface SqliteOptions {
  path: string;
  /** This machine's clock: whatever else opens the file runs by the same one. */
  clock: Clock;
  /** Called where the writer has died: nothing can be acknowledged any more, the process must end. */
  onFatal(error: Error): void;
  onBatch?: OnBatch | undefined;
  /** Given by whoever opens it to serve: what erasing has left in the file is removed first, and told there. */
  servingLog?: StoreLog;
}

/** The embedded database: reads on this thread, one writer thread that commits whatever waits at once. */
export async function openSqlite({ path, clock, onFatal, onBatch, servingLog }: SqliteOptions): Promise<Store> {
  migrateSqlite(path);
  if (servingLog) clearRemnants(path, servingLog);
  const writer = await startWriter(path, onFatal, onBatch);
  const reader = new DatabaseSync(path, { readOnly: true });
  reader.exec('PRAGMA busy_timeout = 5000; PRAGMA mmap_size = 268435456');
  const prepared = new Map<string, StatementSync>();

  function rowsOf(sql: string, params: SqlValue[]): Row[] {
    let statement = prepared.get(sql);
    if (!statement) {
      statement = reader.prepare(sql);
      prepared.set(sql, statement);
    }
    return statement.all(...params) as Row[];
  }

  async function select(sql: string, ...params: SqlValue[]): Promise<Row[]> {
    return rowsOf(sql, params);
  }

  async function selectEach(queries: readonly Query[]): Promise<Row[][]> {
    // One snapshot for all: the writer may commit between two of them.
    reader.exec('BEGIN');
    try {
      return queries.map(({ sql, params }) => rowsOf(sql, params));
    } finally {
      reader.exec('COMMIT');
    }
  }

  return {
    ...createReads(select, selectEach),
    now: clock.now,
    commit: writer.commit,
    onCommit: writer.onCommit,
    async ping() {
      await select('SELECT 1');
    },
    async close() {
      await writer.close();
      reader.close();
    },
  };
}

/** SQLite syncs the folder of its files; a new folder's own name is durable once the folder above it is synced. */
function makeFolder(folder: string): void {
  const first = mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (first === undefined) return;
  for (let made = resolve(folder); made.length >= resolve(first).length; made = dirname(made)) {
    const above = openSync(dirname(made), 'r');
    fsyncSync(above);
    closeSync(above);
  }
}

/** A file that is new is its owner's alone, and with it those that SQLite puts beside it. */
function makeFile(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/** The database as it is, read only: a path that holds none is an error. */
export function examineSqlite(path: string): ExaminedDatabase {
  const database = new DatabaseSync(path, { readOnly: true });
  const all = (sql: string, ...params: SqlValue[]) => database.prepare(sql).all(...params) as Row[];
  try {
    const tables = tablesOf(database);
    refuseForeign(tables);
    refuseOutdated(tables.length === 0 ? [] : all(SELECT_MIGRATIONS));
  } catch (error) {
    database.close();
    throw error;
  }
  return {
    violations: (sql, limit) => Promise.resolve(all(sql, limit).map((row) => String(row['id']))),
    integrity: () =>
      Promise.resolve([
        ...all('PRAGMA integrity_check').map((row) => String(row['integrity_check'])),
        ...all('PRAGMA foreign_key_check').map(
          (row) => `${String(row['table'])} row ${String(row['rowid'])} refers to a row that is missing`,
        ),
      ]).then((lines) => lines.filter((line) => line !== 'ok')),
    close: () => Promise.resolve(database.close()),
  };
}

function tablesOf(database: DatabaseSync): string[] {
  const rows = database
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT GLOB 'sqlite_*'")
    .all();
  return (rows as Row[]).map((row) => String(row['name']));
}

/**
 * Brings the schema up to the newest migration, and answers what was missing; refuses a database that is newer than this
 * program, or of another one.
 */
export function migrateSqlite(path: string): readonly Migration[] {
  makeFolder(dirname(path));
  makeFile(path);
  const database = new DatabaseSync(path);
  try {
    database.exec('PRAGMA busy_timeout = 5000');
    refuseForeign(tablesOf(database));
    database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
    database.exec('BEGIN IMMEDIATE');
    database.exec(CREATE_MIGRATIONS);
    const applied = database.prepare(SELECT_MIGRATIONS).all() as Row[];
    const record = database.prepare(INSERT_MIGRATION);
    const missing = missingMigrations(applied);
    for (const migration of missing) {
      database.exec(migration.sql + (migration.only?.sqlite ?? ''));
      record.run(...migrationRow(migration));
    }
    database.exec('COMMIT');
    return missing;
  } finally {
    database.close();
  }
}

interface Writer {
  commit(changes: Change[]): Promise<CommitResult>;
  onCommit(listener: () => void): void;
  close(): Promise<void>;
}

async function startWriter(path: string, onFatal: (error: Error) => void, onBatch?: OnBatch): Promise<Writer> {
  const worker = new Worker(new URL('./sqlite-writer.ts', import.meta.url), { workerData: { path } });
  await new Promise<void>((resolve, reject) => {
    worker.once('message', () => resolve());
    worker.once('error', reject);
  });

  const numbers = new Map<string, number>();
  const listeners: (() => void)[] = [];
  let waiting: Waiting[] = [];
  let inFlight: Waiting[] = [];
  let dead: Error | undefined;
  let onIdle: (() => void) | undefined;

  // Answers come in the order of the change sets, of one batch or of several.
  worker.on('message', (results: SetResult[]) => {
    const settled = inFlight.slice(0, results.length);
    inFlight = inFlight.slice(results.length);
    onBatch?.(settled);
    settle(settled, results);
    if (inFlight.length === 0 && waiting.length === 0) onIdle?.();
  });
  worker.on('error', (error: Error) => {
    dead = error;
    const lost = new GatewayError('unavailable', 'The database cannot be written to.');
    for (const { reject } of [...inFlight, ...waiting]) reject(lost);
    onFatal(error);
  });

  function send(): void {
    const batch = waiting;
    waiting = [];
    inFlight = inFlight.length === 0 ? batch : [...inFlight, ...batch];
    const define: Batch['define'] = [];
    const sets = batch.map(({ writes }) => writes.map((write) => pack(write, define)));
    const forget = batch.some(({ changes }) => erases(changes));
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
    let work = false;
    for (const [index, { changes, resolve, reject }] of settled.entries()) {
      const result = results[index]!;
      if (result === 0) {
        work ||= leavesWork(changes);
        resolve({ done: true });
      } else if (typeof result === 'string') resolve({ done: false, conflict: result });
      else reject(writeError(result.error));
    }
    if (work) for (const listener of listeners) listener();
  }

  return {
    commit(changes) {
      if (dead) return Promise.reject(new GatewayError('unavailable', 'The database cannot be written to.'));
      return new Promise((resolve, reject) => {
        // Whatever arrives in this turn of the event loop travels together.
        if (waiting.push({ changes, writes: writesOf(changes), resolve, reject }) === 1) setImmediate(send);
      });
    },
    onCommit(listener) {
      listeners.push(listener);
    },
    async close() {
      if (inFlight.length > 0 || waiting.length > 0) await new Promise<void>((resolve) => (onIdle = resolve));
      const ended = new Promise((resolve) => worker.once('exit', resolve));
      worker.postMessage('close');
      await ended;
    },
  };
}

// https://www.sqlite.org/rescode.html: conditions of the machine, not of the request.
const AWAY = /disk is full|disk I\/O error|database is locked|unable to open|readonly database/;

function writeError(message: string): Error {
  if (AWAY.test(message)) return new GatewayError('unavailable', 'The database cannot be written to.');
  return new Error(`database: ${message}`);
}
