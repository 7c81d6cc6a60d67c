/** A database opened read-only, without migrating it. */
export interface ExaminedDatabase {
  /**
   * Ids of at most `limit` violations of an invariant, whose `sql` is one of `invariants.ts`. Can take long; reads one snapshot,
   * so that a running service causes no false finding.
   */
  violations(sql: string, limit: number): Promise<string[]>;
  /** Faults that the database itself finds in its files and references; undefined if it has no such check. */
  integrity(): Promise<string[] | undefined>;
  close(): Promise<void>;
}
