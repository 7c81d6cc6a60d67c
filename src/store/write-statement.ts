import type { SqlValue } from './keyset.ts';

/** Reason of a conflict: the guard of the change set that did not hold. The operation then reads and decides again. */
export type Conflict =
  | 'version'
  | 'customer_exists'
  /** The idempotency key is taken, or the customer is not active or has another email address. */
  | 'session_refused'
  | 'key_revoked'
  /** The API key is revoked or the operator disabled, or the amount exceeds one of their limits. */
  | 'spend_limit'
  /** The last production admin would lose the role. */
  | 'last_admin'
  /** Another refund has the idempotency key. */
  | 'refund_exists'
  | 'duplicate_message'
  /** The customer is blocked or erased. */
  | 'customer_blocked'
  /** Another instance or request changed the row first. */
  | 'overtaken';

/** One statement of a change set. If it has a `guard` and affects no row, the whole change set is a conflict. */
export interface Write {
  sql: string;
  params: SqlValue[];
  guard?: Conflict | undefined;
  /** Name of the lock of a row that many new sessions write. A batch runs statements with locks first, sorted by this name. */
  locks?: string | undefined;
}

/** Creates one statement of a change set. */
export function statement(sql: string, params: SqlValue[], guard?: Conflict, locks?: string): Write {
  return { sql, params, guard, locks };
}

/** SQL suffix that keeps the rows of a subquery until the commit. Only PostgreSQL needs the lock; SQLite has one writer. */
export const KEY_SHARE = '/* PostgreSQL: FOR KEY SHARE */';
