import { hash } from 'node:crypto';
import type { StoreLog } from './database.ts';
import type { Row, SqlValue } from './keyset.ts';
import { MIGRATIONS, type Migration } from './schema/migrations.ts';

export const CREATE_MIGRATIONS =
  'CREATE TABLE IF NOT EXISTS schema_migrations (version BIGINT PRIMARY KEY, name TEXT NOT NULL, hash TEXT NOT NULL)';
export const SELECT_MIGRATIONS = 'SELECT version, name, hash FROM schema_migrations ORDER BY version';
export const INSERT_MIGRATION = 'INSERT INTO schema_migrations (version, name, hash) VALUES (?1, ?2, ?3)';

/** The migrations that a database still needs. Throws if a newer or a different program created the database. */
export function missingMigrations(history: readonly Row[]): readonly Migration[] {
  const applied = withoutReplaced(history);
  for (const [index, row] of applied.entries()) {
    const known = MIGRATIONS[index];
    if (!known || known.version !== row['version'] || known.name !== row['name']) {
      throw new Error(
        `the database has migration ${String(row['version'])} (${String(row['name'])}), which this version of Tillway does not know: start the version that made it, or a newer one`,
      );
    }
    if (row['hash'] !== hashOf(known)) {
      throw new Error(
        `migration ${known.version} (${known.name}) of the database differs from the same migration in this version of Tillway: start the version that created the database`,
      );
    }
  }
  return MIGRATIONS.slice(applied.length);
}

/** Hash of the last of the 14 migrations that the first migration of this program replaces. */
const LAST_REPLACED = '379e797aebaec6d97ff38ef9927505ed7653f34d22389d8af02d4616930d7f9b';

/** Replaces the 14 old migrations in a history by the first migration of this program; throws if some were not applied. */
function withoutReplaced(history: readonly Row[]): readonly Row[] {
  const [first] = MIGRATIONS;
  if (Number(history[0]?.['version'] ?? first!.version) >= first!.version) return history;
  const last = history.findIndex((row) => row['hash'] === LAST_REPLACED);
  if (last === -1) {
    throw new Error(
      `the database has a schema from before migration ${first!.version}, which this version of Tillway cannot upgrade: docs/operate.md names the version to start on it first`,
    );
  }
  return [{ version: first!.version, name: first!.name, hash: hashOf(first!) }, ...history.slice(last + 1)];
}

/** Logs a warning if the database is new, because a mistyped DATABASE_URL also creates a new database. */
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

/** Throws if the database has tables but no migrations of Tillway: it then belongs to another program. */
export function rejectForeignTables(tables: readonly string[]): void {
  if (tables.length === 0 || tables.includes('schema_migrations')) return;
  const hidden = tables.length - SHOWN_TABLES;
  const shown = `${tables.slice(0, SHOWN_TABLES).join(', ')}${hidden > 0 ? ` and ${hidden} more` : ''}`;
  throw new Error(`the database holds the tables of another program (${shown}): use one for Tillway alone`);
}

export function migrationRow(migration: Migration): SqlValue[] {
  return [migration.version, migration.name, hashOf(migration)];
}

function hashOf({ sql, only }: Migration): string {
  return hash('sha256', only ? `${sql}${only.sqlite}${only.postgres}` : sql, 'hex');
}
