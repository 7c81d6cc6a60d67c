import type { SqliteOptions } from './sqlite.ts';
import type { PostgresOptions } from './postgres.ts';
import type { ExaminedDatabase, OpenedStore } from './database.ts';
import type { Migration } from './schema/migrations.ts';

export type DatabaseSettings = { kind: 'sqlite'; path: string } | { kind: 'postgres'; url: string; poolSize: number };

/** Opens the store of a database and migrates its schema. */
export type OpenStore = (database: DatabaseSettings, options: OpenStoreOptions) => Promise<OpenedStore>;

export type OpenStoreOptions = Omit<SqliteOptions, 'path'> & Omit<PostgresOptions, 'url' | 'poolSize'>;

/** Opens a store. Imports only the driver of the chosen database. */
export const openStore: OpenStore = (database, options) =>
  naming(database, async () =>
    database.kind === 'sqlite'
      ? (await import('./sqlite.ts')).openSqlite({ ...options, path: database.path })
      : (await import('./postgres.ts')).openPostgres({ ...options, ...database }),
  );

/** Brings the schema up to date and returns the migrations that were missing, oldest first. */
export function migrateDatabase(
  database: DatabaseSettings,
  log: OpenStoreOptions['log'],
): Promise<readonly Migration[]> {
  return naming(database, async () =>
    database.kind === 'sqlite'
      ? (await import('./sqlite.ts')).migrateSqlite(database.path)
      : (await import('./postgres.ts')).migratePostgres(database.url, log),
  );
}

/** Opens a database read-only and without a migration, for `tillway doctor`. */
export function examineDatabase(database: DatabaseSettings): Promise<ExaminedDatabase> {
  return naming(database, async () =>
    database.kind === 'sqlite'
      ? (await import('./sqlite.ts')).examineSqlite(database.path)
      : (await import('./postgres.ts')).examinePostgres(database.url),
  );
}

/** Runs `use`; if it fails, adds the address of the database to the error message. */
async function naming<Result>(database: DatabaseSettings, use: () => Promise<Result>): Promise<Result> {
  try {
    return await use();
  } catch (error) {
    throw new Error(`DATABASE_URL ${describeDatabase(database)}: ${messageOf(error)}`, { cause: error });
  }
}

/** Message of an error. A failed connection to a host with several addresses has the messages of all addresses. */
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
