/** A database that is looked at and not touched: not even its schema is brought up. */
export interface ExaminedDatabase {
  /**
   * Ids of what breaks an invariant, `limit` at most: `sql` is one of `invariants.ts`. May take long, and reads one
   * snapshot, so that a live service is no reason for a finding.
   */
  violations(sql: string, limit: number): Promise<string[]>;
  /** What the database itself finds wrong with its files and references; undefined where it has no such check. */
  integrity(): Promise<string[] | undefined>;
  close(): Promise<void>;
}
