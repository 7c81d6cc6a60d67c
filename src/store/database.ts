import type { Select } from './keyset.ts';
import type { Store } from './store.ts';
import type { Write } from './write-statement.ts';

/** Direct access to the tables of a database, for the simulated provider, whose records are no part of the store's port. */
export interface Database {
  select: Select;
  /**
   * Applies the statements in one durable transaction. Returns false, with nothing written, if a guard did not hold.
   * Transactions of several callers take their locks in the order of `lockOrder`.
   */
  write(writes: Write[], lockOrder: string): Promise<boolean>;
}

/** An open store and the database under it. */
export interface OpenedStore extends Store {
  database: Database;
}
