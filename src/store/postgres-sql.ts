const cache = new Map<string, string>();

/** Converts a statement to PostgreSQL: `?1` becomes `$1`, and `PostgreSQL:` comments become SQL. Statements have no literal `?`. */
export function forPostgres(sql: string): string {
  let text = cache.get(sql);
  if (text === undefined) {
    text = sql.replaceAll(/\/\* PostgreSQL: (.*?) \*\//g, '$1').replaceAll(/\?(\d+)/g, '$$$1');
    cache.set(sql, text);
  }
  return text;
}

/** Adds collation "C" to the text columns of a migration: lists are ranges of ids, which must sort in byte order. */
export function migrationForPostgres(sql: string): string {
  // Skips `CAST(… AS TEXT)`, because a cast takes no collation.
  return sql.replaceAll(/(?<!AS )\bTEXT\b/g, 'TEXT COLLATE "C"');
}
