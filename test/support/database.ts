import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Client } from 'pg';
import { pino } from 'pino';
import { readConfig } from '../../src/config.ts';
import { systemClock } from '../../src/runtime.ts';
import { type DatabaseSettings, type OpenStore, openStore } from '../../src/store/open.ts';
import type { Store } from '../../src/store/store.ts';
import { MOST_STARTS } from '../process/program.ts';
import { sharedPostgres } from './postgres.ts';

export type DatabaseKind = DatabaseSettings['kind'];

/** The databases there are: what belongs to one driver alone is tested on it alone. */
export const DATABASES: readonly DatabaseKind[] = ['sqlite', 'postgres'];

/** The database that tests of the whole service use: TEST_DATABASE, which `test/run.ts` sets to each in turn. */
export const TEST_DATABASE: DatabaseKind = databaseNamed(process.env['TEST_DATABASE'] ?? 'sqlite');

export function databaseNamed(name: string): DatabaseKind {
  const kind = DATABASES.find((known) => known === name);
  if (!kind) throw new Error(`TEST_DATABASE is ${name}: use ${DATABASES.join(' or ')}`);
  return kind;
}

/** An empty database of its own. `await using` removes it, once whoever uses it has closed it. */
export interface TestDatabase extends AsyncDisposable {
  kind: DatabaseKind;
  /** What `DATABASE_URL` is to be. */
  url: string;
  settings: DatabaseSettings;
}

export async function createTestDatabase(kind: DatabaseKind = TEST_DATABASE): Promise<TestDatabase> {
  return testDatabase(kind, await (kind === 'sqlite' ? createSqlite() : createPostgres()));
}

/** One for a service that is not asked how it makes its schema: that is there already, where the test run has it ready. */
export async function createServiceDatabase(kind: DatabaseKind = TEST_DATABASE): Promise<TestDatabase> {
  const template = process.env['TEST_TEMPLATE'];
  return testDatabase(kind, await (kind === 'sqlite' ? createSqlite() : createPostgres(template)));
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

async function createPostgres(template?: string) {
  const postgres = await sharedPostgres();
  const name = await postgres.createDatabase(template);
  return { url: postgres.url(name), remove: () => postgres.dropDatabase(name) };
}

/** All that a database keeps, as text: its files, or every row where the files are not ours to read. */
export async function contentsOf(url: string): Promise<string> {
  if (url.startsWith('sqlite:')) {
    const folder = dirname(url.slice('sqlite:'.length));
    return readdirSync(folder)
      .map((file) => readFileSync(join(folder, file), 'latin1'))
      .join('\n');
  }
  return withClient(url, async (client) => {
    const { rows } = await client.query<{ name: string }>(
      "SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'",
    );
    const tables: unknown[] = [];
    for (const { name } of rows) tables.push((await client.query(`SELECT * FROM ${name}`)).rows);
    return JSON.stringify(tables);
  });
}

/** Another program at the same PostgreSQL database. */
export async function withClient<Result>(url: string, use: (client: Client) => Promise<Result>): Promise<Result> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}

/** Runs SQL past the service, as somebody with the password could. */
export async function runSql(url: string, sql: string): Promise<void> {
  if (url.startsWith('sqlite:')) {
    // A service that runs may be writing.
    const database = new DatabaseSync(url.slice('sqlite:'.length), { timeout: 5000 });
    database.exec(sql);
    database.close();
    return;
  }
  await withClient(url, (client) => client.query(sql));
}

/** What a store is opened with where nothing of it is tested. */
export const usual: Parameters<OpenStore>[1] = {
  clock: systemClock,
  random: () => Math.random(),
  log: pino({ level: 'silent' }),
  onFatal(error) {
    throw error;
  },
};

/** Opens a database, with time as the test has it, for what is in it and not for how durable that is. */
export async function openTestStore(settings: DatabaseSettings, clock = systemClock): Promise<Store> {
  const store = await openPatiently(hasty(settings), { ...usual, clock });
  return { ...store, now: clock.now };
}

/** A commit answers before it is on the disk: one that many use can take the seconds that a change set has to be done in. */
function hasty(settings: DatabaseSettings): DatabaseSettings {
  if (settings.kind === 'sqlite') return settings;
  const url = new URL(settings.url);
  url.searchParams.set('options', '-csynchronous_commit=off');
  return { ...settings, url: url.href };
}

/** Of the driver, where a connection is not made or a question not answered in time. */
const TOO_LATE = /timeout expired|connection timeout|query read timeout/i;

/** Opens a database as whoever watches over a service does: one that did not answer in time is tried again. */
export const openPatiently: OpenStore = async (settings, options) => {
  for (let starts = 1; ; starts++) {
    try {
      return await openStore(settings, options);
    } catch (error) {
      if (starts === MOST_STARTS || !isTooLate(error)) throw error;
    }
  }
};

function isTooLate(error: unknown): boolean {
  return error instanceof Error && (TOO_LATE.test(error.message) || isTooLate(error.cause));
}
