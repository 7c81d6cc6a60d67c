import type { SqlValue } from './keyset.ts';
import type { Conflict } from './store.ts';

/** One statement of a change set; with `guard`, touching no row makes the whole set a conflict. */
export interface Write {
  sql: string;
  params: SqlValue[];
  guard?: Conflict;
  /**
   * Name of a lock that the creation of a session can wait for. A transaction with several change sets takes these locks before
   * all others, in the order of their names, so that two transactions never wait crosswise.
   */
  locks?: string;
}

/**
 * Ends a subquery whose rows must not change until the commit: PostgreSQL locks their keys (`forPostgres`), and SQLite has one
 * writer.
 */
export const KEY_SHARE = '/* PostgreSQL: FOR KEY SHARE */';

/** `INSERT INTO table (columns) VALUES (?1, ...)`, with an optional conflict clause. */
export function insertSql(table: string, columns: readonly string[], onConflict = ''): string {
  const places = columns.map((_, index) => `?${index + 1}`).join(', ');
  return `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${places})${onConflict === '' ? '' : ` ${onConflict}`}`;
}
