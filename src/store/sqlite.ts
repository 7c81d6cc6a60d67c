import { hash } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { Worker } from 'node:worker_threads';
import { GatewayError } from '../domain/errors.ts';
import { leavesWork, writesOf } from './changes.ts';
import type { Row, SqlValue } from './keyset.ts';
import { MIGRATIONS } from './migrations/migrations.ts';
import { createReads } from './reads.ts';
import type { Batch, PackedWrite, SetResult } from './sqlite-writer.ts';
import type { Change, CommitResult, Store } from './store.ts';

interface Waiting {
  changes: Change[];
  resolve(result: CommitResult): void;
  reject(error: Error): void;
}

export interface SqliteOptions {
  path: string;
  /** Called where the writer has died: nothing can be acknowledged any more, the process must end. */
  onFatal(error: Error): void;
}

/** The embedded database: reads on this thread, one writer thread that commits whatever waits at once. */
export async function openSqlite({ path, onFatal }: SqliteOptions): Promise<Store> {
  try {
    mkdirSync(dirname(path), { recursive: true });
    migrate(path);
  } catch (error) {
    throw new Error(`DATABASE_URL sqlite:${path}: ${(error as Error).message}`, { cause: error });
  }
  const writer = await startWriter(path, onFatal);
  const reader = new DatabaseSync(path, { readOnly: true });
  reader.exec('PRAGMA busy_timeout = 5000; PRAGMA mmap_size = 268435456');
  const prepared = new Map<string, StatementSync>();

  async function select(sql: string, ...params: SqlValue[]): Promise<Row[]> {
    let statement = prepared.get(sql);
    if (!statement) {
      statement = reader.prepare(sql);
      prepared.set(sql, statement);
    }
    return statement.all(...params) as Row[];
  }

  return {
    ...createReads(select),
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

/** Brings the schema up to the newest migration; refuses a database that is newer than this program. */
function migrate(path: string): void {
  const database = new DatabaseSync(path);
  try {
    database.exec('PRAGMA busy_timeout = 5000; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
    database.exec('BEGIN IMMEDIATE');
    database.exec(
      'CREATE TABLE IF NOT EXISTS schema_migrations (version BIGINT PRIMARY KEY, name TEXT NOT NULL, hash TEXT NOT NULL)',
    );
    const applied = database.prepare('SELECT version, name, hash FROM schema_migrations ORDER BY version').all();
    for (const [index, row] of applied.entries()) {
      const known = MIGRATIONS[index];
      if (!known || known.version !== row['version'] || known.name !== row['name']) {
        throw new Error(
          `the database has migration ${String(row['version'])} (${String(row['name'])}), which this version of Tillway does not know: start the version that made it, or a newer one`,
        );
      }
      if (row['hash'] !== hashOf(known.sql)) {
        throw new Error(
          `the database was made with another form of migration ${known.version} (${known.name}) than this version of Tillway has: start the version that made it`,
        );
      }
    }
    const record = database.prepare('INSERT INTO schema_migrations (version, name, hash) VALUES (?1, ?2, ?3)');
    for (const migration of MIGRATIONS.slice(applied.length)) {
      database.exec(migration.sql);
      record.run(migration.version, migration.name, hashOf(migration.sql));
    }
    database.exec('COMMIT');
  } finally {
    database.close();
  }
}

function hashOf(sql: string): string {
  return hash('sha256', sql, 'hex');
}

interface Writer {
  commit(changes: Change[]): Promise<CommitResult>;
  onCommit(listener: () => void): void;
  close(): Promise<void>;
}

async function startWriter(path: string, onFatal: (error: Error) => void): Promise<Writer> {
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
    const sets = batch.map(({ changes }) => writesOf(changes).map((write) => pack(write, define)));
    worker.postMessage({ define, sets } satisfies Batch);
  }

  function pack(write: ReturnType<typeof writesOf>[number], define: Batch['define']): PackedWrite {
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
        if (waiting.push({ changes, resolve, reject }) === 1) setImmediate(send);
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
