import type { OpenedStore } from './database.ts';
import type { SqliteOptions } from './sqlite.ts';
import type { PostgresOptions } from './postgres.ts';
import type { ExaminedDatabase } from './examined-database.ts';
import type { Migration } from './migrations/migration.ts';

/** Database named by `DATABASE_URL`. */
export type DatabaseSettings = { kind: 'sqlite'; path: string } | { kind: 'postgres'; url: string; poolSize: number };

export type OpenStore = (database: DatabaseSettings, options: OpenStoreOptions) => Promise<OpenedStore>;

export type OpenStoreOptions = Omit<SqliteOptions, 'path'> & Omit<PostgresOptions, 'url' | 'poolSize'>;

/** Loads only the driver of the database. */
export const openStore: OpenStore = async (database, options) => {
  try {
    if (database.kind === 'sqlite') {
      const { openSqlite } = await import('./sqlite.ts');
      return await openSqlite({ ...options, path: database.path });
    }
    const { openPostgres } = await import('./postgres.ts');
    return await openPostgres({ ...options, ...database });
  } catch (error) {
    throw naming(database, error);
  }
};

/** Brings the schema up to date and returns the migrations that were missing, oldest first. */
export async function migrateDatabase(
  database: DatabaseSettings,
  log: OpenStoreOptions['log'],
): Promise<readonly Migration[]> {
  try {
    if (database.kind === 'sqlite') return (await import('./sqlite.ts')).migrateSqlite(database.path);
    return await (await import('./postgres.ts')).migratePostgres(database.url, log);
  } catch (error) {
    throw naming(database, error);
  }
}

/** Opens a database read-only. */
export async function examineDatabase(database: DatabaseSettings): Promise<ExaminedDatabase> {
  try {
    if (database.kind === 'sqlite') return (await import('./sqlite.ts')).examineSqlite(database.path);
    return await (await import('./postgres.ts')).examinePostgres(database.url);
  } catch (error) {
    throw naming(database, error);
  }
}

function naming(database: DatabaseSettings, error: unknown): Error {
  return new Error(`DATABASE_URL ${describeDatabase(database)}: ${messageOf(error)}`, { cause: error });
}

/** A host name with several addresses gives one error for each. */
function messageOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(messageOf).join('; ');
  return error instanceof Error ? error.message : String(error);
}

/** Address of a database for messages and logs, without user and password. */
export function describeDatabase(database: DatabaseSettings): string {
  if (database.kind === 'sqlite') return `sqlite:${database.path}`;
  const { protocol, host, pathname } = new URL(database.url);
  return `${protocol}//${host}${pathname}`;
}
