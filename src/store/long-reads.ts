import type { Select } from './keyset.ts';

/**
 * Port of the database for reads that can take long, such as bounded scans and exports, beside the short reads of the store. On
 * SQLite they run in a thread of their own, on PostgreSQL on connections of their own with a time limit per statement, so
 * that they delay neither requests nor commits.
 */
export interface LongReads {
  select: Select;
  /** Waits for the reads in progress. */
  close(): Promise<void>;
}
