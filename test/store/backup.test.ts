// @run on=postgres needs=process
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chownSync, copyFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { SAMPLE_PROVIDER_SECRET } from '../../src/operations/webhook-samples.ts';
import { signCallback } from '../../src/webhooks/sign.ts';
import { startServiceProgram, temporaryFolder } from '../process/program.ts';
import { settingsOf } from '../support/database.ts';
import { type Postgres, startPostgres } from '../support/postgres.ts';
import { until } from '../support/until.ts';
import { brokenInvariants } from '../support/sound.ts';

const CLIENTS = 4;
const SESSIONS_BEFORE = 5 * CLIENTS;
const run = promisify(execFile);

/** The ids of acknowledged sessions. The value is true if the service also acknowledged the payment. */
type Acknowledged = Map<string, boolean>;

interface Load extends AsyncDisposable {
  acknowledged: Acknowledged;
}

/** Creates and pays sessions continuously until disposal. */
function startLoad(url: string): Load {
  const acknowledged: Acknowledged = new Map();
  let stopped = false;
  async function client(name: number): Promise<void> {
    for (let count = 0; !stopped; count++) {
      const { id } = await post(`${url}/api/gateway/sessions`, {
        product: 'Field guide',
        amount: 49.99,
        customer: `buyer-${name}-${count}@example.com`,
      });
      acknowledged.set(id, false);
      const payload = { eventId: `event-${id}`, sessionId: id, status: 'paid', amount: 49.99 };
      const signature = signCallback(SAMPLE_PROVIDER_SECRET, Math.floor(Date.now() / 1000), JSON.stringify(payload));
      await post(`${url}/api/agent/actions/webhook.verify_sample`, { payload, signature });
      acknowledged.set(id, true);
    }
  }
  const clients = Promise.all(Array.from({ length: CLIENTS }, (_, name) => client(name)));
  return {
    acknowledged,
    async [Symbol.asyncDispose]() {
      stopped = true;
      await clients;
    },
  };
}

async function post(url: string, body: unknown): Promise<{ id: string }> {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  const answer = (await response.json()) as { id: string };
  assert.equal(response.status, 200, JSON.stringify(answer));
  return answer;
}

/** Takes a backup of a service under load. Returns the sessions that the service acknowledged before the backup began. */
async function backUp(databaseUrl: string, take: () => void | Promise<void>): Promise<Acknowledged> {
  await using service = await startServiceProgram({ DATABASE_URL: databaseUrl });
  await using load = startLoad(service.url);
  const { acknowledged } = load;
  await until(() => acknowledged.size >= SESSIONS_BEFORE);
  const before = new Map(acknowledged);
  await take();
  const meanwhile = acknowledged.size;
  await until(
    () => acknowledged.size > meanwhile,
    () => 'the service was no longer under load',
  );
  return before;
}

/** Acknowledged sessions that are missing or unpaid in a service on the restored database. */
async function missingFrom(databaseUrl: string, acknowledged: Acknowledged): Promise<string[]> {
  await using service = await startServiceProgram({ DATABASE_URL: databaseUrl });
  const missing: string[] = [];
  const check = async (id: string, paid: boolean): Promise<void> => {
    const response = await fetch(`${service.url}/api/gateway/sessions/${id}`);
    const { status } = (await response.json()) as { status?: string };
    if (response.status !== 200 || (paid && status !== 'paid')) missing.push(`${id}: ${response.status} ${status}`);
  };
  await Promise.all(Array.from(acknowledged, ([id, paid]) => check(id, paid)));
  // The restored database also accepts writes.
  await post(`${service.url}/api/gateway/sessions`, { product: 'New', amount: 5, customer: 'new@example.com' });
  return missing;
}

function sessionsIn(path: string): number {
  const database = new DatabaseSync(path);
  const row = database.prepare('SELECT COUNT(*) AS count FROM sessions').get();
  database.close();
  return Number(row!['count']);
}

describe('a backup of a service under load', { concurrency: true }, () => {
  it('a backup by VACUUM INTO on SQLite contains every session and payment acknowledged before it', async () => {
    using folder = temporaryFolder();
    const [path, copy, file] = ['tillway.db', 'backup.db', 'file.db'].map(folder.path) as [string, string, string];
    const acknowledged = await backUp(`sqlite:${path}`, () => {
      const database = new DatabaseSync(path, { readOnly: true });
      database.exec(`VACUUM INTO '${copy}'`);
      database.close();
      copyFileSync(path, file);
    });
    // A copy without the write-ahead log lacks sessions, because SQLite writes to the log before the database file.
    assert(sessionsIn(file) < acknowledged.size);
    assert(sessionsIn(copy) >= acknowledged.size);
    assert.deepEqual(await brokenInvariants(settingsOf(`sqlite:${copy}`)), []);
    assert.deepEqual(await missingFrom(`sqlite:${copy}`, acknowledged), []);
  });

  it('a base backup of PostgreSQL contains every session and payment acknowledged before it', async () => {
    using folder = temporaryFolder();
    const copy = folder.path('.');
    await using postgres = await startPostgres();
    const database = await postgres.createDatabase();
    const acknowledged = await backUp(postgres.url(database), () => baseBackup(postgres, copy));
    await postgres.stop();
    await using restored = await startPostgres({ folder: copy });
    const url = restored.url(database);
    assert.deepEqual(await brokenInvariants(settingsOf(url)), []);
    assert.deepEqual(await missingFrom(url, acknowledged), []);
  });
});

/** Copies the data files while they change, then the write-ahead log. The npm package of PostgreSQL lacks `pg_basebackup`. */
async function baseBackup(postgres: Postgres, folder: string): Promise<void> {
  const client = new Client({ connectionString: postgres.adminUrl });
  await client.connect();
  try {
    await client.query("SELECT pg_backup_start('test', fast => true)");
    await copyInto(folder, join(postgres.folder, 'data'), join(postgres.folder, 'password'));
    const { rows } = await client.query<{ label: string }>(
      'SELECT labelfile AS label FROM pg_backup_stop(wait_for_archive => false)',
    );
    await copyInto(join(folder, 'data'), join(postgres.folder, 'data/pg_wal'));
    const { uid, gid } = statSync(join(folder, 'data'));
    writeFileSync(join(folder, 'data/backup_label'), rows[0]!.label);
    chownSync(join(folder, 'data/backup_label'), uid, gid);
    rmSync(join(folder, 'data/postmaster.pid'));
  } finally {
    await client.end();
  }
}

/** Copies files with their owners and modes, which PostgreSQL checks at its start. Skips files that disappear meanwhile. */
async function copyInto(folder: string, ...paths: string[]): Promise<void> {
  try {
    await run('cp', ['-a', ...paths, folder]);
  } catch (error) {
    const errors = (error as { stderr: string }).stderr.trim().split('\n');
    if (!errors.every((line) => line.endsWith('No such file or directory'))) throw error;
  }
}
