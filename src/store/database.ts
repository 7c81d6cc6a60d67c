import type { Select } from './keyset.ts';
import type { Store } from './store.ts';
import type { Write } from './write-statement.ts';

/** Options of a write. */
export interface WriteOptions {
  /** True if no answer waits for the write: it then waits a few milliseconds for another one, whose transaction it shares. */
  isDeferrable?: boolean;
}

/** Direct access to the tables of a database, for the simulated provider and adapters, whose records are not part of the store port. */
export interface Database {
  select: Select;
  /** Applies the statements in one durable transaction. Transactions of one batch are ordered by `lockOrder`. Returns false if a guard did not hold. */
  write(writes: Write[], lockOrder: string, options?: WriteOptions): Promise<boolean>;
}

/** An open store, with direct access to its database. */
export interface OpenedStore extends Store {
  database: Database;
}

/** Log of a database driver, for messages to the operator. */
export interface StoreLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

/** A database opened read-only and not migrated, for `tillway doctor`. */
export interface ExaminedDatabase {
  /** Ids of at most `limit` rows that violate the invariant `sql`. The statement reads one snapshot, and can take long. */
  violations(sql: string, limit: number): Promise<string[]>;
  /** Faults that the database's own check finds in its files and references; undefined if the database has no such check. */
  integrity(): Promise<string[] | undefined>;
  close(): Promise<void>;
}
