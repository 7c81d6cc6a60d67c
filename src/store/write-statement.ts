import type { SqlValue } from './keyset.ts';

/** The guard that did not hold. The operation reads and decides again. */
export type Conflict =
  | 'version'
  | 'customer_exists'
  /** The key is taken, or the customer is not active or has another address. */
  | 'session_refused'
  | 'key_revoked'
  /** The key is revoked, or would exceed its spend limit. */
  | 'spend_limit'
  /** Another refund has the idempotency key. */
  | 'refund_exists'
  | 'duplicate_message'
  /** The customer is blocked or erased. */
  | 'customer_blocked'
  | 'overtaken';

/** One statement of a change set; with `guard`, touching no row makes the whole set a conflict. */
export interface Write {
  sql: string;
  params: SqlValue[];
  guard?: Conflict | undefined;
  /** Name of a lock for which the creation of a session can wait. A batch takes these locks first, sorted by name. */
  locks?: string | undefined;
}

export function statement(sql: string, params: SqlValue[], guard?: Conflict, locks?: string): Write {
  return { sql, params, guard, locks };
}

/** Keeps the rows of a subquery unchanged until the commit: PostgreSQL locks their keys, SQLite has one writer. */
export const KEY_SHARE = '/* PostgreSQL: FOR KEY SHARE */';

/** `INSERT INTO table (columns) VALUES (?1, ...)`, with an optional conflict clause. */
export function insertSql(table: string, columns: readonly string[], onConflict = ''): string {
  const places = columns.map((_, index) => `?${index + 1}`).join(', ');
  return `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${places})${onConflict === '' ? '' : ` ${onConflict}`}`;
}
