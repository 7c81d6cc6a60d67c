import { DatabaseSync } from 'node:sqlite';
import { withClient } from './database.ts';

/** One value of one column of one row. */
export interface StoredText {
  table: string;
  column: string;
  text: string;
}

/** Every text that a database holds, of every column of every table there is. */
export async function everyText(databaseUrl: string): Promise<StoredText[]> {
  const tables = databaseUrl.startsWith('sqlite:') ? tablesOfSqlite(databaseUrl) : await tablesOfPostgres(databaseUrl);
  return tables.flatMap(({ table, rows }) =>
    rows.flatMap((row) =>
      Object.entries(row).flatMap(([column, value]) =>
        typeof value === 'string' ? [{ table, column, text: value }] : [],
      ),
    ),
  );
}

interface Table {
  table: string;
  rows: Record<string, unknown>[];
}

function tablesOfSqlite(databaseUrl: string): Table[] {
  const database = new DatabaseSync(databaseUrl.slice('sqlite:'.length), { readOnly: true });
  try {
    const named = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
    return named.map(({ name }) => ({
      table: String(name),
      rows: database.prepare(`SELECT * FROM ${String(name)}`).all(),
    }));
  } finally {
    database.close();
  }
}

function tablesOfPostgres(databaseUrl: string): Promise<Table[]> {
  return withClient(databaseUrl, async (client) => {
    const { rows: named } = await client.query<{ name: string }>(
      "SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'",
    );
    const tables: Table[] = [];
    for (const { name } of named) {
      const { rows } = await client.query<Record<string, unknown>>(`SELECT * FROM ${name}`);
      tables.push({ table: name, rows });
    }
    return tables;
  });
}
