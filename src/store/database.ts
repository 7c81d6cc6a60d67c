import type { Select } from './keyset.ts';
import type { Store } from './store.ts';
import type { Write } from './write-statement.ts';

/** Direct access to the tables of a database, for the simulated provider, whose records are not part of the store port. */
export interface Database {
  select: Select;
  /** Applies the statements in one durable transaction, in `lockOrder`. Returns false if a guard did not hold. */
  write(writes: Write[], lockOrder: string): Promise<boolean>;
}

/** An open store and the database under it. */
export interface OpenedStore extends Store {
  database: Database;
}

/** A database opened read-only, without migrating it. */
export interface ExaminedDatabase {
  /** Returns at most `limit` ids that violate an invariant. Reads one snapshot, even of a running service; can take long. */
  violations(sql: string, limit: number): Promise<string[]>;
  /** Faults that the database itself finds in its files and references; undefined if it has no such check. */
  integrity(): Promise<string[] | undefined>;
  close(): Promise<void>;
}
