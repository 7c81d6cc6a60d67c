// @run on=sqlite,postgres needs=process
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import { INVARIANTS } from '../../src/store/invariants.ts';
import { MIGRATIONS } from '../../src/store/schema/migrations.ts';
import { creationOf, checkoutRecords, write } from '../fixtures/store-records.ts';
import {
  TEST_DATABASE,
  type TestDatabase,
  createServiceDatabase,
  createTestDatabase,
  openTestStore,
  runSql,
} from '../support/database.ts';
import { startTestService } from '../support/service.ts';
import { type CommandResult, SERVICE_FILE, temporaryFolder, tillway } from './program.ts';

async function databaseWithSession(): Promise<TestDatabase> {
  const database = await createServiceDatabase();
  const store = await openTestStore(database.settings);
  const [customer, session] = creationOf(checkoutRecords(1));
  await write(store, customer!, session!);
  await store.close();
  return database;
}

describe('tillway doctor', () => {
  it('tillway doctor reports every invariant and exits with 0', async () => {
    await using database = await databaseWithSession();
    const { code, stdout, stderr } = await tillway({ DATABASE_URL: database.url }, 'doctor');
    assert.deepEqual([code, stderr], [0, '']);
    const lines = stdout.trimEnd().split('\n');
    // On SQLite, doctor also checks the integrity of the file.
    const checked = INVARIANTS.length + (TEST_DATABASE === 'sqlite' ? 1 : 0);
    assert.match(lines[0]!, /^Database: (?:sqlite|postgres):/);
    assert.equal(lines.at(-1), `All ${checked} invariants hold.`);
    assert.equal(lines.filter((line) => line.startsWith('ok ')).length, checked);
  });

  it('tillway doctor names broken records by id, exits with 1 and repairs nothing', async () => {
    await using database = await databaseWithSession();
    await runSql(database.url, "UPDATE sessions SET customer_email = 'somebody@else.example'");
    for (const attempt of ['first', 'second']) {
      const { code, stdout } = await tillway({ DATABASE_URL: database.url }, 'doctor');
      assert.equal(code, 1, attempt);
      assert.match(stdout, /^BROKEN {2}(\w+) .*\n {8}\1: chk_\w+$/m);
    }
    const { code, stdout } = await tillway({ DATABASE_URL: database.url }, 'doctor', '--json');
    const document = JSON.parse(stdout) as { ok: boolean; invariants: { ok: boolean; violations: string[] }[] };
    assert.deepEqual([code, document.ok], [1, false]);
    assert.deepEqual(document.invariants.find(({ ok }) => !ok)!.violations, [checkoutRecords(1).session.id]);
  });

  it('tillway doctor exits with 2 if the database does not exist, and does not create the database', async () => {
    using folder = temporaryFolder();
    const unknownDatabase =
      TEST_DATABASE === 'sqlite' ? `sqlite:${folder.path('none.db')}` : 'postgres://nobody:secret@127.0.0.1:1/none';
    const { code, stdout, stderr } = await tillway({ DATABASE_URL: unknownDatabase }, 'doctor');
    assert.deepEqual([code, stdout], [2, '']);
    assert.match(stderr, /^tillway: The database could not be checked: DATABASE_URL (?:sqlite|postgres):\S+: .+\n$/);
    assert.ok(!stderr.includes('secret'));
    assert.ok(!existsSync(folder.path('none.db')));
  });

  it('tillway doctor exits with 2 on a database of another version', async () => {
    await using database = await databaseWithSession();
    await runSql(database.url, 'DELETE FROM schema_migrations');
    const { code, stderr } = await tillway({ DATABASE_URL: database.url }, 'doctor');
    assert.equal(code, 2);
    assert.match(stderr, /lacks migration 14 \(schema\): start this version of Tillway on it first\n$/);
  });
});

describe('tillway migrate', () => {
  it('tillway migrate creates the database and lists the applied migrations; a second run applies no migration', async () => {
    await using database = await createTestDatabase();
    const first = await tillway({ DATABASE_URL: database.url }, 'migrate');
    assert.deepEqual([first.code, first.stderr], [0, '']);
    assert.match(
      first.stdout,
      /^Database: (?:sqlite|postgres):\S+\n(?:applied {2}\d+ [\w ]+\n)+The database is up to date\.\n$/,
    );
    assert.equal(first.stdout.match(/^applied/gm)?.length, MIGRATIONS.length);
    const again = await tillway({ DATABASE_URL: database.url }, 'migrate', '--json');
    assert.equal(again.code, 0);
    assert.deepEqual((JSON.parse(again.stdout) as { applied: unknown[] }).applied, []);
    assert.equal((await tillway({ DATABASE_URL: database.url }, 'doctor', '--json')).code, 0);
  });

  it('tillway migrate exits with 1 on a database of a newer version', async () => {
    await using database = await databaseWithSession();
    await runSql(database.url, "UPDATE schema_migrations SET name = 'other'");
    const { code, stdout, stderr } = await tillway({ DATABASE_URL: database.url }, 'migrate');
    assert.deepEqual([code, stdout], [1, '']);
    assert.match(stderr, /^tillway: The database could not be migrated: DATABASE_URL .* does not know: /);
  });
});

describe('the command tillway', () => {
  it('the command tillway rejects environment variables that are set but empty', async () => {
    const examples: [name: string, command: string][] = [
      ['TILLWAY_URL', 'sessions list'],
      ['TILLWAY_API_KEY', 'sessions list'],
      ['DATABASE_URL', 'migrate'],
    ];
    for (const [name, command] of examples) {
      const { code, stderr } = await tillway({ [name]: '' }, ...command.split(' '));
      assert.notEqual(code, 0, name);
      assert.match(stderr, new RegExp(`${name} is set but empty: unset it, or give it a value`));
    }
  });

  it('the command tillway calls the service at TILLWAY_URL', async () => {
    await using service = await startTestService();
    const { code, stdout, stderr } = await tillway({ TILLWAY_URL: service.url }, 'fees', '49.99');
    assert.deepEqual([code, stderr], [0, '']);
    assert.match(stdout, /^You get +48\.54 USD$/m);
    assert.equal((await tillway({ TILLWAY_URL: service.url }, 'routes', 'why', 'chk_nothing')).code, 1);
  });

  async function runWithClosedOutput(variables: Record<string, string>, command: string): Promise<CommandResult> {
    // `true` exits without reading before the program starts.
    const line = `exec 3> >(true); wait $!; exec "${process.execPath}" "${SERVICE_FILE.pathname}" ${command} >&3`;
    const env = { PATH: process.env['PATH'], ...variables };
    return promisify(execFile)('bash', ['--norc', '-c', line], { env }).then(
      (result) => ({ code: 0, ...result }),
      (error: CommandResult) => error,
    );
  }

  it('the command tillway exits with 0 and without a message if its output pipe is closed', async () => {
    await using service = await startTestService();
    const { code, stderr } = await runWithClosedOutput({ TILLWAY_URL: service.url }, 'schema checkout.create');
    assert.deepEqual([code, stderr], [0, '']);
  });

  it('tillway doctor exits with its own exit code even if its output pipe is closed', async () => {
    await using database = await databaseWithSession();
    await runSql(database.url, "UPDATE sessions SET customer_email = 'somebody@else.example'");
    const { code, stderr } = await runWithClosedOutput({ DATABASE_URL: database.url }, 'doctor');
    assert.deepEqual([code, stderr], [1, '']);
  });

  it('the command tillway does not open the database of another program', async () => {
    using folder = temporaryFolder();
    const path = folder.path('notes.db');
    const other = new DatabaseSync(path);
    other.exec('CREATE TABLE notes (text TEXT)');
    const refusal = /: the database holds the tables of another program \(notes\): use one for Tillway alone\n$/;
    for (const [command, expected] of [
      ['migrate', 1],
      ['doctor', 2],
    ] as const) {
      const { code, stderr } = await tillway({ DATABASE_URL: `sqlite:${path}` }, command);
      assert.equal(code, expected);
      assert.match(stderr, refusal);
    }
    const tables = other.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
    assert.deepEqual(tables, [Object.assign(Object.create(null), { name: 'notes' })]);
    other.close();
  });
});
