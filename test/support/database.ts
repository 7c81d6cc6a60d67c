import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Client } from 'pg';
import { pino } from 'pino';
import { readConfig } from '../../src/config.ts';
import { systemClock } from '../../src/runtime.ts';
import { type DatabaseSettings, type OpenStore, openStore } from '../../src/store/open.ts';
import { migrateSqlite } from '../../src/store/sqlite.ts';
import type { Store } from '../../src/store/store.ts';
import { sharedPostgres } from './postgres.ts';

export type DatabaseKind = DatabaseSettings['kind'];

/** The supported databases. */
export const DATABASES: readonly DatabaseKind[] = ['sqlite', 'postgres'];

/** The database of this test process, set by `test/run.ts`. */
export const TEST_DATABASE: DatabaseKind = databaseNamed(process.env['TEST_DATABASE'] ?? 'sqlite');

export function databaseNamed(name: string): DatabaseKind {
  const kind = DATABASES.find((known) => known === name);
  if (!kind) throw new Error(`TEST_DATABASE is ${name}: use ${DATABASES.join(' or ')}`);
  return kind;
}

/** An empty database. `await using` removes it; all its connections must be closed before. */
export interface TestDatabase extends AsyncDisposable {
  kind: DatabaseKind;
  /** Value of `DATABASE_URL`. */
  url: string;
  settings: DatabaseSettings;
}

export async function createTestDatabase(kind: DatabaseKind = TEST_DATABASE): Promise<TestDatabase> {
  return testDatabase(kind, await (kind === 'sqlite' ? createSqlite() : createPostgres()));
}

/** A database with the schema, copied from a template. Tests of migrations use {@link createTestDatabase}. */
export async function createServiceDatabase(kind: DatabaseKind = TEST_DATABASE): Promise<TestDatabase> {
  const postgresTemplate = process.env['TEST_TEMPLATE'];
  if (kind === 'postgres' && postgresTemplate !== undefined) return reusablePostgres(postgresTemplate);
  if (kind === 'postgres') return createTestDatabase(kind);
  const created = await createSqlite();
  writeFileSync(created.url.slice('sqlite:'.length), sqliteTemplate(), { mode: 0o600 });
  return testDatabase('sqlite', created);
}

let template: Buffer | undefined;

/** The file of an SQLite database that has the schema and nothing else. */
function sqliteTemplate(): Buffer {
  if (template) return template;
  const folder = mkdtempSync(join(tmpdir(), 'tillway-test-'));
  const path = join(folder, 'template.db');
  migrateSqlite(path);
  template = readFileSync(path);
  rmSync(folder, { recursive: true });
  return template;
}

function testDatabase(kind: DatabaseKind, { url, remove }: { url: string; remove(): Promise<void> }): TestDatabase {
  return { kind, url, settings: settingsOf(url), [Symbol.asyncDispose]: remove };
}

export function settingsOf(url: string): DatabaseSettings {
  return readConfig({ DATABASE_URL: url }).database;
}

async function createSqlite() {
  const folder = mkdtempSync(join(tmpdir(), 'tillway-test-'));
  return {
    url: `sqlite:${join(folder, 'tillway.db')}`,
    remove: () => Promise.resolve(rmSync(folder, { recursive: true, force: true })),
  };
}

async function createPostgres() {
  const postgres = await sharedPostgres();
  const name = await postgres.createDatabase();
  return { url: postgres.url(name), remove: () => postgres.dropDatabase(name) };
}

/** Emptied databases of finished tests, for reuse if their schema is still equal to `schemaOfTemplate`. */
const reusable: string[] = [];
let schemaOfTemplate: string | undefined;

/** Ends the connections of the database, and deletes its statistics and all rows except migrations, without triggers and foreign keys. */
const EMPTY = `SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid();
  SET session_replication_role = replica;
  DO $$ DECLARE name text; BEGIN
    FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename NOT IN ('schema_migrations', 'feed_lock')
    LOOP
      EXECUTE 'DELETE FROM ' || quote_ident(name);
      PERFORM pg_clear_relation_stats('public', name);
    END LOOP;
    DELETE FROM pg_statistic WHERE starelid >= 16384;
  END $$`;
// A fingerprint of the schema: a schema change writes catalog rows, and `xmin` is the id of the writing transaction.
const SCHEMA = ['pg_attribute', 'pg_constraint', 'pg_index', 'pg_proc', 'pg_trigger', 'schema_migrations']
  .map((catalog) => `SELECT count(*), max(xmin::text::bigint) FROM ${catalog}`)
  .join(' UNION ALL ');

/** A copy of the template, reused after a test: creating and dropping a database takes ten times as long as emptying it. */
async function reusablePostgres(template: string): Promise<TestDatabase> {
  const postgres = await sharedPostgres();
  const schemaOf = async (database: string) => JSON.stringify(await postgres.query(database, SCHEMA));
  const name = reusable.pop() ?? (await postgres.createDatabase(template));
  schemaOfTemplate ??= await schemaOf(name);
  return testDatabase('postgres', {
    url: postgres.url(name),
    async remove() {
      if ((await schemaOf(name)) !== schemaOfTemplate) return postgres.dropDatabase(name);
      await postgres.query(name, EMPTY);
      reusable.push(name);
    },
  });
}

/** Runs SQL without the service and returns the rows. On PostgreSQL, only the rows of a single statement. */
export async function queryRows(url: string, sql: string): Promise<Record<string, unknown>[]> {
  if (!url.startsWith('sqlite:')) {
    return withClient(url, async (client) => (await client.query<Record<string, unknown>>(sql)).rows);
  }
  // The timeout covers writes of the service at the same time.
  using database = new DatabaseSync(url.slice('sqlite:'.length), { timeout: 5000 });
  return database.prepare(sql).all();
}

/** The names of all tables. */
export async function tablesOf(url: string): Promise<string[]> {
  const rows = await queryRows(
    url,
    url.startsWith('sqlite:')
      ? "SELECT name FROM sqlite_schema WHERE type = 'table'"
      : "SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'",
  );
  return rows.map(({ name }) => String(name));
}

/** The whole content of a database as text: the raw files of SQLite, every row of PostgreSQL. */
export async function contentsOf(url: string): Promise<string> {
  if (url.startsWith('sqlite:')) {
    const folder = dirname(url.slice('sqlite:'.length));
    const files = readdirSync(folder).map((file) => readFileSync(join(folder, file), 'latin1'));
    return files.join('\n');
  }
  const tables: unknown[] = [];
  for (const name of await tablesOf(url)) tables.push(await queryRows(url, `SELECT * FROM ${name}`));
  return JSON.stringify(tables);
}

/** Runs `use` with a direct connection to a PostgreSQL database, which stands for another program. */
export async function withClient<Result>(url: string, use: (client: Client) => Promise<Result>): Promise<Result> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}

/** Runs SQL statements without the service. */
export async function runSql(url: string, sql: string): Promise<void> {
  if (!url.startsWith('sqlite:')) return void (await withClient(url, (client) => client.query(sql)));
  // The timeout covers writes of the service at the same time.
  using database = new DatabaseSync(url.slice('sqlite:'.length), { timeout: 5000 });
  database.exec(sql);
}

/** Usual options of a store: system clock, no log, and fatal errors that fail the test. */
export const STORE_OPTIONS: Parameters<OpenStore>[1] = {
  clock: systemClock,
  random: () => Math.random(),
  log: pino({ level: 'silent' }),
  onFatal(error) {
    throw error;
  },
};

/** Opens a store with the clock of the test and without disk syncs, for tests that do not test durability. */
export async function openTestStore(settings: DatabaseSettings, clock = systemClock): Promise<Store> {
  const { database: _, ...store } = await openStore(withoutSync(settings), { ...STORE_OPTIONS, clock });
  return { ...store, now: clock.now };
}

/** Makes commits return before the disk sync, which on a shared disk can exceed the time limit of a change set. */
function withoutSync(settings: DatabaseSettings): DatabaseSettings {
  if (settings.kind === 'sqlite') return settings;
  const url = new URL(settings.url);
  url.searchParams.set('options', '-csynchronous_commit=off');
  return { ...settings, url: url.href };
}
