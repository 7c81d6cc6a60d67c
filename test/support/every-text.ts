import { queryRows, tablesOf } from './database.ts';

/** One text value of one row. */
export interface StoredText {
  table: string;
  column: string;
  text: string;
}

/** Every text value in a database, of all columns of all tables. */
export async function everyText(databaseUrl: string): Promise<StoredText[]> {
  const texts: StoredText[] = [];
  for (const table of await tablesOf(databaseUrl)) {
    for (const row of await queryRows(databaseUrl, `SELECT * FROM ${table}`)) {
      for (const [column, text] of Object.entries(row))
        if (typeof text === 'string') texts.push({ table, column, text });
    }
  }
  return texts;
}
