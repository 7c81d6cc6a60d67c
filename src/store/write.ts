import type { SqlValue } from './keyset.ts';
import type { Conflict } from './store.ts';

/** One statement of a change set; with `guard`, touching no row makes the whole set a conflict. */
export interface Write {
  sql: string;
  params: SqlValue[];
  guard?: Conflict;
  /**
   * What it locks, where whoever creates a session may wait for that: where several change sets share a transaction, such
   * locks are taken before all others, in the order of this text, so that two transactions never wait crosswise.
   */
  locks?: string;
}

/**
 * Ends a subquery whose rows must stay as they are until the commit: PostgreSQL locks them against a change of what they
 * are known by (`forPostgres`), and SQLite has one writer.
 */
export const KEY_SHARE = '/* PostgreSQL: FOR KEY SHARE */';

/**
 * `INSERT INTO table (columns) VALUES (?1, ...)`, with an optional conflict clause. `written` makes SQL of the place of a
 * column that is not written as it is given.
 */
export function insertSql(
  table: string,
  columns: readonly string[],
  onConflict = '',
  written: Readonly<Record<string, (place: string) => string>> = {},
): string {
  const places = columns.map((column, index) => written[column]?.(`?${index + 1}`) ?? `?${index + 1}`).join(', ');
  return `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${places})${onConflict === '' ? '' : ` ${onConflict}`}`;
}
