import type { Instant } from '../domain/records.ts';
import type { Change } from './changes.ts';
import type { Reads } from './store-reads.ts';
import type { Conflict } from './write-statement.ts';

export type { Change } from './changes.ts';
export type { Conflict } from './write-statement.ts';

/** Result of a commit: applied, or a conflict with nothing applied. */
export type CommitResult = { done: true } | { done: false; conflict: Conflict };

/** Receiver of queued change sets. `committed` is the result of the commit, for a listener that needs a durable change. */
export type CommitListener = (changes: readonly Change[], committed: Promise<CommitResult>) => void;

/** Port of the database. Reads return durable data only. While the database is unavailable, calls throw GatewayError `unavailable`. */
export interface Store extends Reads {
  /** Clock of the database, the same for all instances. */
  now(): Instant;
  /** Applies all changes in one durable transaction, or none. Change sets that wait at the same time may share a transaction. */
  commit(changes: Change[]): Promise<CommitResult>;
  /** Calls `listener` with each change set when it is queued. Change sets that it commits synchronously are queued directly after it. */
  onCommit(listener: CommitListener): void;
  /** Throws if the database cannot serve reads and writes. */
  ping(): Promise<void>;
  close(): Promise<void>;
}
