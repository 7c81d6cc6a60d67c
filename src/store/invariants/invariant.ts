/** A property of the whole database in every committed state. */
export interface Invariant {
  /** Name for operators and dashboards, in snake_case. */
  name: string;
  /** The property in one sentence. */
  says: string;
  /** Selects the ids of at most `?1` violations as `id`, sorted. A single statement, so that it reads one committed state. */
  sql: string;
}

/** Builds invariants from a record by name. The `sql` of an entry selects all violations, unsorted and without a limit. */
export function invariants(described: Record<string, Omit<Invariant, 'name'>>): readonly Invariant[] {
  return Object.entries(described).map(([name, { says, sql }]) => ({ name, says, sql: `${sql} ORDER BY id LIMIT ?1` }));
}

/** Values as a list of SQL string literals for `IN`: `'a', 'b'`. */
export function sqlList(values: readonly string[]): string {
  return values.map((value) => `'${value}'`).join(', ');
}

/** SQL condition: one of the columns of a row has an unknown value. */
export function unknownValues(columns: Record<string, readonly string[]>): string {
  return Object.entries(columns)
    .map(([column, values]) => `${column} NOT IN (${sqlList(values)})`)
    .join(' OR ');
}

/** SQL of the rows of `table` whose `column` names no row of `parent`, or a row with other values in the columns `same`. */
export function orphans(
  table: string,
  column: string,
  parent: string,
  same: readonly string[],
  { id = 'id', or = '1 = 0' } = {},
): string {
  const differs = same.map((name) => `parent.${name} <> child.${name}`);
  return `SELECT DISTINCT child.${id} AS id FROM ${table} AS child LEFT JOIN ${parent} AS parent ON parent.id = child.${column}
    WHERE ${['parent.id IS NULL', ...differs, or].join(' OR ')}`;
}

/** SQL of duplicates: of each group of rows of `table` with equal values in `columns`, the newest row. */
export function duplicates(table: string, columns: string, { id = 'MAX(id)', where = '1 = 1' } = {}): string {
  return `SELECT ${id} AS id FROM ${table} WHERE ${where} GROUP BY ${columns} HAVING COUNT(*) > 1`;
}
