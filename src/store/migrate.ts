import { hash } from 'node:crypto';
import type { Row, SqlValue } from './keyset.ts';
import type { StoreLog } from './postgres-connection.ts';
import type { Migration } from './migrations/migration.ts';
import { MIGRATIONS } from './migrations/migrations.ts';

export const CREATE_MIGRATIONS =
  'CREATE TABLE IF NOT EXISTS schema_migrations (version BIGINT PRIMARY KEY, name TEXT NOT NULL, hash TEXT NOT NULL)';
export const SELECT_MIGRATIONS = 'SELECT version, name, hash FROM schema_migrations ORDER BY version';
export const INSERT_MIGRATION = 'INSERT INTO schema_migrations (version, name, hash) VALUES (?1, ?2, ?3)';

/** The migrations that a database still needs. Throws if a newer or a different program created the database. */
export function missingMigrations(applied: readonly Row[]): readonly Migration[] {
  for (const [index, row] of applied.entries()) {
    const known = MIGRATIONS[index];
    if (!known || known.version !== row['version'] || known.name !== row['name']) {
      throw new Error(
        `the database has migration ${String(row['version'])} (${String(row['name'])}), which this version of Tillway does not know: start the version that made it, or a newer one`,
      );
    }
    if (row['hash'] !== hashOf(known)) {
      throw new Error(
        `the database was made with another form of migration ${known.version} (${known.name}) than this version of Tillway has: start the version that made it`,
      );
    }
  }
  return MIGRATIONS.slice(applied.length);
}

/** Logs that a new database was created, so that a mistyped DATABASE_URL does not go unnoticed. */
export function warnOfNewDatabase(missing: readonly Migration[], where: object, log: StoreLog): void {
  if (missing.length < MIGRATIONS.length) return;
  log.warn(where, 'created a new, empty database; if there is one already, correct DATABASE_URL');
}

/** Throws if the database does not have exactly the migrations of this program. */
export function rejectOutdatedProgram(applied: readonly Row[]): void {
  const [missing] = missingMigrations(applied);
  if (missing) {
    throw new Error(
      `the database lacks migration ${missing.version} (${missing.name}): start this version of Tillway on it first`,
    );
  }
}

const SHOWN_TABLES = 3;

/** Throws if a database has the tables of another program, because ours would be mixed with them. */
export function refuseForeign(tables: readonly string[]): void {
  if (tables.length === 0 || tables.includes('schema_migrations')) return;
  const hidden = tables.length - SHOWN_TABLES;
  const shown = `${tables.slice(0, SHOWN_TABLES).join(', ')}${hidden > 0 ? ` and ${hidden} more` : ''}`;
  throw new Error(`the database holds the tables of another program (${shown}): name one that is Tillway's alone`);
}

export function migrationRow(migration: Migration): SqlValue[] {
  return [migration.version, migration.name, hashOf(migration)];
}

function hashOf({ sql, only }: Migration): string {
  return hash('sha256', only ? `${sql}${only.sqlite}${only.postgres}` : sql, 'hex');
}
