import type { Instant } from '../domain/records.ts';
import type { Change } from './changes.ts';
import type { Reads } from './store-reads.ts';
import type { Conflict } from './write-statement.ts';

export type { Change } from './changes.ts';
export type { Conflict } from './write-statement.ts';

export type CommitResult = { done: true } | { done: false; conflict: Conflict };

/** Port of the database. Reads see durable data only. Calls fail with GatewayError `unavailable` while it is unavailable. */
export interface Store extends Reads {
  /** Clock of the database, the same for all instances. */
  now(): Instant;
  /** Applies the changes in one durable transaction, or none of them. Waiting change sets may share a transaction. */
  commit(changes: Change[]): Promise<CommitResult>;
  /** Calls `listener` after every commit that can leave work for a worker. */
  onCommit(listener: () => void): void;
  /** Fails if the database cannot serve. */
  ping(): Promise<void>;
  close(): Promise<void>;
}
