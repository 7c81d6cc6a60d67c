import { Client, type ClientBase } from 'pg';
import {
  CREATE_MIGRATIONS,
  INSERT_MIGRATION,
  SELECT_MIGRATIONS,
  migrationRow,
  missingMigrations,
  rejectOutdatedProgram,
  warnOfNewDatabase,
} from './migrate.ts';
import type { Query, Row } from './keyset.ts';
import type { OnBatch } from './commit-watch.ts';
import { runBatch } from './postgres-batch.ts';
import { type PostgresSettings, READ_TIMEOUT_MS, connectionOptions, createConnections } from './postgres-connection.ts';
import { startDatabaseClock } from './postgres-clock.ts';
import type { Migration } from './schema/migrations.ts';
import { forPostgres, migrationForPostgres } from './postgres-sql.ts';
import { createPostgresLongReads, selectOn } from './postgres-reads.ts';
import { createWriter } from './postgres-writer.ts';
import { createReads } from './store-reads.ts';
import type { ExaminedDatabase, OpenedStore, StoreLog } from './database.ts';

export interface PostgresOptions extends PostgresSettings {
  /** Random number from 0 up to, not including, 1. */
  random(): number;
  log: StoreLog;
  onBatch?: OnBatch | undefined;
  /** True if a service opens the database. The store then logs a warning if the database is new. */
  serving?: boolean;
}

const OLDEST_VERSION = 140_000;
const BEGIN_SNAPSHOT = { sql: 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY', params: [] };
const COMMIT = { sql: 'COMMIT', params: [] };
// Id of the advisory lock for migrations: an arbitrary number that no other program on the database uses.
const MIGRATION_LOCK = 7_455_929;

/** Opens the store of a PostgreSQL primary, which several instances can share. */
export async function openPostgres(options: PostgresOptions): Promise<OpenedStore> {
  const { url, poolSize, random, log, onBatch, serving } = options;
  const missing = await migratePostgres(url, log);
  const { host, pathname } = new URL(url);
  if (serving) warnOfNewDatabase(missing, { host, database: pathname.slice(1) }, log);
  const connections = createConnections({ url, poolSize }, log);
  const longReads = createPostgresLongReads(url);
  const select = selectOn(connections);

  function selectEach(queries: readonly Query[]): Promise<Row[][]> {
    const selects = queries.map(({ sql, params }) => ({ sql: forPostgres(sql), params, answersRows: true }));
    return connections.use(async (client) => {
      // Reads all queries in one snapshot, because another transaction can commit between two queries.
      const { rows, refusal } = await runBatch(client, [BEGIN_SNAPSHOT, ...selects, COMMIT], READ_TIMEOUT_MS);
      if (!refusal) return rows;
      await client.query('ROLLBACK');
      throw refusal;
    });
  }

  const clock = await startDatabaseClock(select).catch(async (error: unknown) => {
    await connections.close();
    throw error;
  });
  const writer = createWriter({ connections, random, onBatch });
  return {
    ...createReads(select, selectEach, longReads.select),
    now: clock.now,
    commit: writer.commit,
    onCommit: writer.onCommit,
    database: {
      select,
      write: async (writes, lockOrder, options) => (await writer.write(writes, lockOrder, options)).done,
    },
    async ping() {
      await connections.use(async (client) => {
        // If the server became a standby, the error closes this connection, and the next call can connect to the new primary.
        if ((await setting(client, 'transaction_read_only')) === 'on') throw new Error('the database is read only');
      });
    },
    async close() {
      clock.stop();
      await longReads.close();
      await writer.close();
    },
  };
}

/** Opens the database read-only and without a migration. */
export async function examinePostgres(url: string): Promise<ExaminedDatabase> {
  const client = await connectAlone(url);
  try {
    await client.query('SET default_transaction_read_only = on');
    const { rows } = await client.query<Row>(SELECT_MIGRATIONS);
    rejectOutdatedProgram(rows);
  } catch (error) {
    await client.end();
    throw error;
  }
  return {
    async violations(sql, limit) {
      const { rows } = await client.query<{ id: string }>(forPostgres(sql), [limit]);
      return rows.map(({ id }) => id);
    },
    // PostgreSQL has a separate tool for this check: https://www.postgresql.org/docs/current/app-pgamcheck.html
    integrity: () => Promise.resolve(undefined),
    close: () => client.end(),
  };
}

/** Opens a connection outside the pool and without time limits, for long statements. */
async function connectAlone(url: string): Promise<Client> {
  const client = new Client(connectionOptions(url));
  // Without a listener, the error event would end the process. A query in progress reports the error itself.
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

/** Rejects an unusable database, brings its schema up to date, and returns the migrations that were missing. */
export async function migratePostgres(url: string, log: StoreLog): Promise<readonly Migration[]> {
  const client = await connectAlone(url);
  try {
    await refuseUnusable(client);
    await warnOfRisks(client, log);
    return await migrate(client);
  } finally {
    await client.end();
  }
}

async function refuseUnusable(client: Client): Promise<void> {
  const version = Number(await setting(client, 'server_version_num'));
  if (version < OLDEST_VERSION) {
    throw new Error(`PostgreSQL ${await setting(client, 'server_version')} is too old: 14 or newer is needed`);
  }
  const encoding = await setting(client, 'server_encoding');
  if (encoding !== 'UTF8') {
    throw new Error(`the database's encoding is ${encoding}: create it with ENCODING 'UTF8' TEMPLATE template0`);
  }
  if ((await setting(client, 'transaction_read_only')) === 'on') {
    throw new Error('the database is read-only, like a standby: use the address of the primary');
  }
}

// Settings under which an acknowledged commit can be lost: https://www.postgresql.org/docs/current/runtime-config-wal.html
const RISKS: readonly { name: string; values: readonly string[]; risk: string; ifStandbys?: true }[] = [
  { name: 'fsync', values: ['off'], risk: 'a power cut can lose everything' },
  { name: 'full_page_writes', values: ['off'], risk: 'a power cut can corrupt the database' },
  { name: 'synchronous_commit', values: ['off'], risk: 'a crash of the database can lose the last commits' },
  {
    name: 'synchronous_commit',
    values: ['local', 'remote_write'],
    risk: 'a commit does not wait for the disk of a standby, and a failover can lose the last commits',
    ifStandbys: true,
  },
];

async function warnOfRisks(client: Client, log: StoreLog): Promise<void> {
  const standbys = (await setting(client, 'synchronous_standby_names')) !== '';
  for (const { name, values, risk, ifStandbys } of RISKS) {
    const value = await setting(client, name);
    if (!values.includes(value) || (ifStandbys && !standbys)) continue;
    log.warn({ setting: name, value }, `PostgreSQL ${name} = ${value}: ${risk}`);
  }
}

async function setting(client: ClientBase, name: string): Promise<string> {
  const { rows } = await client.query<{ value: string }>('SELECT current_setting($1) AS value', [name]);
  return rows[0]!.value;
}

/** Migrates in one transaction under a lock: if several instances start at once, the first one migrates and the others wait. */
async function migrate(client: Client): Promise<readonly Migration[]> {
  await client.query('BEGIN');
  await client.query('SELECT pg_advisory_xact_lock($1)', [MIGRATION_LOCK]);
  await client.query(migrationForPostgres(CREATE_MIGRATIONS));
  const { rows } = await client.query<Row>(SELECT_MIGRATIONS);
  const missing = missingMigrations(rows);
  for (const migration of missing) {
    await client.query(migrationForPostgres(migration.sql) + (migration.only?.postgres ?? ''));
    await client.query(forPostgres(INSERT_MIGRATION), migrationRow(migration));
  }
  await client.query('COMMIT');
  return missing;
}
