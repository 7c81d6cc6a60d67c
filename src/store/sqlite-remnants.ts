import { dirname, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { StoreLog } from './postgres-connection.ts';
import { explained, isDamage, sqliteCodeOf } from './sqlite-faults.ts';

/** In the header of the file, and in the transaction that erases: what was erased may still lie in unused parts of pages. */
export const NOTE_REMNANTS = 'PRAGMA user_version = 1';
const NO_REMNANTS = 'PRAGMA user_version = 0';

/**
 * Writes the file anew where something was erased of it, without the old text that lies between its rows: SQLite
 * overwrites what is deleted, and not the copies that moving rows from page to page has left. Only while nobody else has the
 * file open. Where it cannot be done, the log says so, and the next time tries again.
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
    log.info({ ms: Math.round(performance.now() - since) }, 'what erasing had left in the database file is removed');
  } catch (error) {
    if (isDamage(sqliteCodeOf(error))) throw explained(path, error);
    log.warn(
      { reason: String(error) },
      'what erasing has left in the database file is still there: stop whatever else has it open, see that twice its size is free on its disk, and start again',
    );
  }
}

function rewrite(path: string): void {
  const database = new DatabaseSync(path);
  try {
    // Others that have it open make the first statement fail, and nobody can open it until the end.
    database.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA synchronous = FULL; BEGIN IMMEDIATE; COMMIT');
    // Beside the database there is room for it, and nobody else reads it; the usual folder can be small, or memory.
    useFolder(database, dirname(resolve(path)));
    database.exec('VACUUM');
    const copied = database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get();
    if (copied?.['busy'] !== 0) throw new Error('the write-ahead log could not be emptied');
    database.exec(NO_REMNANTS);
  } finally {
    // It is the whole process's.
    useFolder(database, '');
    database.close();
  }
}

/** Where SQLite puts files that it needs for a while; empty for the usual place. */
function useFolder(database: DatabaseSync, folder: string): void {
  database.exec(`PRAGMA temp_store_directory = '${folder.replaceAll("'", "''")}'`);
}
