/** Something that holds of the whole database in every committed state of it. */
export interface Invariant {
  /** In snake_case: what operators and dashboards know it by. */
  name: string;
  /** One sentence. */
  says: string;
  /**
   * Selects what breaks it as the column `id`, in order, at most `?1` of it. One statement sees one committed state, so
   * that it may run beside a live service; the same text is for every database.
   */
  sql: string;
}

/** `'a', 'b'`, for `IN`. */
export function quoted(values: readonly string[]): string {
  return values.map((value) => `'${value}'`).join(', ');
}
