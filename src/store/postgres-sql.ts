const cache = new Map<string, string>();

/** Converts a statement to PostgreSQL: `$1` for `?1`, and the parts for PostgreSQL only. No statement has a literal `?`. */
export function forPostgres(sql: string): string {
  let text = cache.get(sql);
  if (text === undefined) {
    text = sql.replaceAll(/\/\* PostgreSQL: (.*?) \*\//g, '$1').replaceAll(/\?(\d+)/g, '$$$1');
    cache.set(sql, text);
  }
  return text;
}

/** A migration with byte order for every text: ids sort by it, and pages are ranges of ids. */
export function migrationForPostgres(sql: string): string {
  // Skips casts, in which a type has no collation.
  return sql.replaceAll(/(?<!AS )\bTEXT\b/g, 'TEXT COLLATE "C"');
}
