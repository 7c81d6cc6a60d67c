import { dirname, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { StoreLog } from './database.ts';
import { describeSqliteError, isDamage, sqliteCodeOf } from './sqlite-faults.ts';

/** Marks in the file header that unused parts of pages may still contain erased text. Part of the transaction that erases. */
export const NOTE_REMNANTS = 'PRAGMA user_version = 1';
const NO_REMNANTS = 'PRAGMA user_version = 0';

/**
 * Rewrites a file that {@link NOTE_REMNANTS} marked, to remove erased text from unused parts of pages: SQLite overwrites deleted
 * rows, but leaves copies behind when it moves rows between pages. Needs exclusive access to the file. Logs a failure; the next
 * start then tries again.
 */
export function clearRemnants(path: string, log: StoreLog): void {
  const since = performance.now();
  const database = new DatabaseSync(path);
  try {
    if (database.prepare('PRAGMA user_version').get()?.['user_version'] === 0) return;
  } finally {
    database.close();
  }
  try {
    rewrite(path);
    log.info(
      { ms: Math.round(performance.now() - since) },
      'remnants of erased text are removed from the database file',
    );
  } catch (error) {
    if (isDamage(sqliteCodeOf(error))) throw describeSqliteError(path, error);
    log.warn(
      { reason: String(error) },
      'remnants of erased text are still in the database file: stop other processes that have it open, provide free disk space of twice its size, and start again',
    );
  }
}

function rewrite(path: string): void {
  const database = new DatabaseSync(path);
  try {
    // Fails if another process has the file open. Afterwards, no other process can open the file until the database is closed.
    database.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA synchronous = FULL; BEGIN IMMEDIATE; COMMIT');
    // Writes the temporary copy to the folder of the database: the default temporary folder can be small, in memory, or readable
    // by other users.
    useFolder(database, dirname(resolve(path)));
    database.exec('VACUUM');
    const copied = database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get();
    if (copied?.['busy'] !== 0) throw new Error('the write-ahead log could not be emptied');
    database.exec(NO_REMNANTS);
  } finally {
    // Restores the default temporary folder, because the setting applies to the whole process.
    useFolder(database, '');
    database.close();
  }
}

/** Sets the folder of SQLite's temporary files; the empty string sets the default folder. */
function useFolder(database: DatabaseSync, folder: string): void {
  database.exec(`PRAGMA temp_store_directory = '${folder.replaceAll("'", "''")}'`);
}
