/** A property of the whole database in every committed state. */
export interface Invariant {
  /** Name for operators and dashboards, in snake_case. */
  name: string;
  /** One sentence. */
  says: string;
  /** Selects violations as `id`, in order, at most `?1`. One statement for every database, which reads one committed state. */
  sql: string;
}

/** Invariants by name, whose `sql` selects every violation in any order. */
export function invariants(described: Record<string, Omit<Invariant, 'name'>>): readonly Invariant[] {
  return Object.entries(described).map(([name, { says, sql }]) => ({ name, says, sql: `${sql} ORDER BY id LIMIT ?1` }));
}

/** `'a', 'b'`, for `IN`. */
export function sqlList(values: readonly string[]): string {
  return values.map((value) => `'${value}'`).join(', ');
}

/** A condition that a column of a row has a value that is not known. */
export function unknownValues(columns: Record<string, readonly string[]>): string {
  return Object.entries(columns)
    .map(([column, values]) => `${column} NOT IN (${sqlList(values)})`)
    .join(' OR ');
}

/** Rows of `table` without the row of `parent` that `column` names, or with another value than it has in the columns `same`. */
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

/** The newest of several rows of `table` that agree in `columns`. */
export function duplicates(table: string, columns: string, { id = 'MAX(id)', where = '1 = 1' } = {}): string {
  return `SELECT ${id} AS id FROM ${table} WHERE ${where} GROUP BY ${columns} HAVING COUNT(*) > 1`;
}
