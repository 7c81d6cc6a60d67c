import { closeSync, existsSync, fsyncSync, mkdirSync, openSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { objectBuilder } from '../domain/object-builder.ts';
import type { Clock } from '../runtime.ts';
import type { Query, Row, SqlValue } from './keyset.ts';
import {
  CREATE_MIGRATIONS,
  INSERT_MIGRATION,
  SELECT_MIGRATIONS,
  migrationRow,
  missingMigrations,
  rejectForeignTables,
  rejectOutdatedProgram,
  warnOfNewDatabase,
} from './migrate.ts';
import type { Migration } from './schema/migrations.ts';
import type { OnBatch } from './commit-watch.ts';
import { COPY_LOG } from './sqlite-log-copier.ts';
import { createSqliteLongReads } from './sqlite-long-reads.ts';
import { createReads } from './store-reads.ts';
import {
  BUSY,
  BUSY_TIMEOUT_MS,
  CORRUPT,
  describeSqliteError,
  isDamage,
  sqliteCodeOf,
  untilFree,
} from './sqlite-faults.ts';
import { clearRemnants } from './sqlite-remnants.ts';
import { REWRITE_HEADER, startWriter } from './sqlite-write-queue.ts';
import type { ExaminedDatabase, OpenedStore, StoreLog } from './database.ts';

export interface SqliteOptions {
  path: string;
  /** Clock of this machine, which all processes that open the file share. */
  clock: Clock;
  /** Called once when the writer thread has failed or the file is damaged. The store rejects all writes; the process must exit. */
  onFatal(error: Error): void;
  onBatch?: OnBatch | undefined;
  log: StoreLog;
  /** True if a service opens the file. The store then checks the file after an unclean shutdown and removes erased text. */
  serving?: boolean;
}

/** Opens the embedded database. This thread reads, and one writer thread commits all waiting writes together. */
export async function openSqlite(options: SqliteOptions): Promise<OpenedStore> {
  const { path, clock, onFatal, onBatch, log, serving } = options;
  if (serving) checkAfterUncleanEnd(path, log);
  const missing = migrateSqlite(path);
  if (serving) {
    warnOfNewDatabase(missing, { file: resolve(path) }, log);
    clearRemnants(path, log);
  }
  const longReads = createSqliteLongReads(path);
  const writer = await startWriter({ path, copyLog: () => longSelect(COPY_LOG), onFatal, onBatch });
  const reader = new DatabaseSync(path, { readOnly: true });
  // Without a memory map, which SQLite would remove and create again after each commit of the writer.
  reader.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
  const prepared = new Map<string, Prepared>();

  function rowsOf(sql: string, params: SqlValue[]): Row[] {
    writer.assertUsable();
    try {
      return rowsOfStatement(sql, params);
    } catch (error) {
      throw faultOf(error);
    }
  }

  function rowsOfStatement(sql: string, params: SqlValue[]): Row[] {
    let known = prepared.get(sql);
    if (!known) prepared.set(sql, (known = prepare(reader, sql)));
    const found = known.statement.all(...params) as unknown as SqlValue[][];
    if (found.length === 0 || found[0]!.length === known.width) return found.map(known.rowOf);
    // A migration by another process has added columns.
    prepared.delete(sql);
    return rowsOfStatement(sql, params);
  }

  /** Error of a read for the caller. A damaged file ends the service. */
  function faultOf(error: unknown): unknown {
    if (isDamage(sqliteCodeOf(error))) writer.fail(error as Error);
    writer.assertUsable();
    return error;
  }

  function longSelect(sql: string, ...params: SqlValue[]): Promise<Row[]> {
    writer.assertUsable();
    return longReads.select(sql, ...params).catch((error: unknown) => {
      throw faultOf(error);
    });
  }

  async function select(sql: string, ...params: SqlValue[]): Promise<Row[]> {
    return rowsOf(sql, params);
  }

  async function selectEach(queries: readonly Query[]): Promise<Row[][]> {
    if (queries.length === 1) return [rowsOf(queries[0]!.sql, queries[0]!.params)];
    // Reads all queries in one snapshot, because the writer can commit between two queries.
    reader.exec('BEGIN');
    try {
      return queries.map(({ sql, params }) => rowsOf(sql, params));
    } finally {
      reader.exec('COMMIT');
    }
  }

  return {
    ...createReads(select, selectEach, longSelect),
    now: clock.now,
    commit: writer.commit,
    onCommit: writer.onCommit,
    database: { select, write: async (writes, _, options) => (await writer.write(writes, options)).done },
    async ping() {
      await select('SELECT 1');
      await writer.assertWritable();
    },
    async close() {
      // Closes the writer last: SQLite then removes the write-ahead log, and a missing log means a clean shutdown.
      await writer.finished();
      await longReads.close();
      reader.close();
      await writer.close();
    },
  };
}

interface Prepared {
  statement: StatementSync;
  /** Number of columns of a row. */
  width: number;
  rowOf(values: SqlValue[]): Row;
}

/**
 * Prepares a statement that returns arrays, and compiles a function that builds its rows, because row objects of node:sqlite are
 * slow hash tables.
 */
function prepare(reader: DatabaseSync, sql: string): Prepared {
  const statement = reader.prepare(forSqlite(sql));
  statement.setReturnArrays(true);
  const properties = statement.columns().map(({ name }, index) => ({ name, from: index }));
  return { statement, width: properties.length, rowOf: objectBuilder(properties) as Prepared['rowOf'] };
}

/** Hides the value of a limit from SQLite, which would otherwise compile the statement again at each execution. */
function forSqlite(sql: string): string {
  return sql.replaceAll(/LIMIT (\?\d+)/g, 'LIMIT CAST($1 AS BIGINT)');
}

/** Checks the whole file if a leftover write-ahead log shows an unclean shutdown; throws if the file is damaged. */
function checkAfterUncleanEnd(path: string, log: StoreLog): void {
  if (!existsSync(`${path}-wal`) || !existsSync(path)) return;
  const since = performance.now();
  try {
    const database = new DatabaseSync(path, { readOnly: true });
    try {
      database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
      const found = database.prepare('PRAGMA quick_check(1)').get()?.['quick_check'];
      if (found !== 'ok') throw Object.assign(new Error(String(found).replaceAll('\n', ' ')), { errcode: CORRUPT });
    } finally {
      database.close();
    }
  } catch (error) {
    throw describeSqliteError(path, error);
  }
  const ms = Math.round(performance.now() - since);
  log.info(
    { ms },
    'another process has the database open, or did not close it: the file was checked and is not damaged',
  );
}

/** Creates a folder, and syncs the parents of all new folders: SQLite only syncs the folder that contains its files. */
function makeFolder(folder: string): void {
  const first = mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (first === undefined) return;
  for (let made = resolve(folder); made.length >= resolve(first).length; made = dirname(made)) {
    const above = openSync(dirname(made), 'r');
    fsyncSync(above);
    closeSync(above);
  }
}

/** Creates a file that only its owner can read. SQLite copies the permissions to the files that it creates beside it. */
function makeFile(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/** Opens the database read-only and without a migration; throws if the file does not exist. */
export function examineSqlite(path: string): ExaminedDatabase {
  const database = new DatabaseSync(path, { readOnly: true });
  const all = (sql: string, ...params: SqlValue[]) => database.prepare(sql).all(...params) as Row[];
  try {
    const tables = tablesOf(database);
    rejectForeignTables(tables);
    rejectOutdatedProgram(tables.length === 0 ? [] : all(SELECT_MIGRATIONS));
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

/** Applies and returns the missing migrations. Throws for a newer, foreign or read-only database. */
export function migrateSqlite(path: string): readonly Migration[] {
  try {
    makeFolder(dirname(path));
    makeFile(path);
    return migrate(path);
  } catch (error) {
    throw describeSqliteError(path, error);
  }
}

/**
 * Sets the page size of a new file and switches the file to WAL. SQLite does not wait if another process switches it at the same
 * moment, so this function tries again.
 */
function switchToWal(database: DatabaseSync): void {
  let refusal: unknown;
  const isDone = untilFree(() => {
    try {
      database.exec('PRAGMA page_size = 2048; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
      return true;
    } catch (error) {
      if (sqliteCodeOf(error) !== BUSY) throw error;
      refusal = error;
      return false;
    }
  });
  if (!isDone) throw refusal;
}

function migrate(path: string): readonly Migration[] {
  const database = new DatabaseSync(path);
  try {
    database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
    rejectForeignTables(tablesOf(database));
    switchToWal(database);
    database.exec('BEGIN IMMEDIATE');
    database.exec(CREATE_MIGRATIONS);
    const applied = database.prepare(SELECT_MIGRATIONS).all() as Row[];
    const record = database.prepare(INSERT_MIGRATION);
    const missing = missingMigrations(applied);
    for (const migration of missing) {
      database.exec(migration.sql + (migration.only?.sqlite ?? ''));
      record.run(...migrationRow(migration));
    }
    // Fails if the file is not writable. SQLite opens such a file read-only, and even begins a write transaction without an error.
    database.exec(REWRITE_HEADER);
    database.exec('COMMIT');
    return missing;
  } finally {
    database.close();
  }
}
