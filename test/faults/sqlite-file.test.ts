// @run needs=process
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, closeSync, existsSync, mkdirSync, openSync, readdirSync, statSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import {
  type RunningService,
  SERVICE_FILE,
  startProgram,
  startServiceProgram,
  httpStatusOf,
  temporaryFolder,
} from '../process/program.ts';
import { assertSound } from '../support/sound.ts';
import { until } from '../support/until.ts';
import { SESSIONS, ask, sessionBody } from './requests.ts';
import { mountSmallDisk, whyNoDisk } from './small-disk.ts';

const MEGABYTE = 1 << 20;
const PAGE_BYTES = 4096;
const MOST_REQUESTS = 500;
const OPEN = new URL('../../src/store/open.ts', import.meta.url);
// An unprivileged account. The test switches to it, because root may write to every file.
const NOBODY = 65_534;
const noDisk = await whyNoDisk();

const start = (path: string) => startServiceProgram({ DATABASE_URL: `sqlite:${path}`, SHUTDOWN_DELAY: '0' });
const readiness = ({ url }: RunningService) => httpStatusOf(`${url}/readyz`);
const create = ({ url }: RunningService, key: string) => ask(url + SESSIONS, sessionBody(key));
const linesWith = ({ stdout }: RunningService, text: string) =>
  stdout()
    .split('\n')
    .filter((line) => line.includes(text));

async function stop(service: RunningService): Promise<void> {
  service.signal('SIGTERM');
  assert.equal(await service.exited, 0, service.stdout());
}

/** Creates a database with some sessions, and shuts its service down cleanly. */
async function createDatabase(path: string, sessions = 0): Promise<void> {
  await using service = await start(path);
  for (let number = 0; number < sessions; number++) {
    assert.equal((await create(service, `first-key-${number}`)).status, 200);
  }
  await stop(service);
  assert.ok(!existsSync(`${path}-wal`), 'a clean shutdown removes the write-ahead log');
}

/** Creates a session, and kills the service: its write-ahead log remains. */
async function killAfterWrite(path: string): Promise<void> {
  await using killed = await start(path);
  assert.deepEqual(linesWith(killed, 'the file was checked'), [], 'after a clean shutdown');
  assert.equal((await create(killed, 'last-key')).status, 200);
}

/** Asserts that the service exits at its start with one line on stderr, which matches `line`. */
async function assertRefused(path: string, line: RegExp): Promise<void> {
  await using program = startProgram(SERVICE_FILE, { DATABASE_URL: `sqlite:${path}`, PORT: '0' });
  assert.equal(await program.exited, 1);
  assert.match(program.stderr(), /^Tillway cannot start: DATABASE_URL sqlite:[^\n]+\n$/);
  assert.match(program.stderr(), line);
}

/** Creates sessions until the service rejects one. Returns the ids of the acknowledged sessions. */
async function createUntilRefused(service: RunningService): Promise<string[]> {
  const acknowledged: string[] = [];
  for (;;) {
    const { status, body } = await create(service, `disk-key-${acknowledged.length}`);
    if (status !== 200) {
      assert.deepEqual([status, body.error?.code], [503, 'unavailable']);
      return acknowledged;
    }
    acknowledged.push(body.id!);
  }
}

/** Waits until the service becomes ready by itself, then checks that it writes again and has lost nothing. */
async function expectRecovery(service: RunningService, path: string, acknowledged: string[]): Promise<void> {
  await until(async () => (await readiness(service)) === 200);
  assert.equal((await create(service, 'disk-key-after')).status, 200);
  for (const id of acknowledged) assert.equal(await httpStatusOf(`${service.url}${SESSIONS}/${id}`), 200, id);
  await stop(service);
  await assertSound(`sqlite:${path}`);
}

describe('a full disk', { skip: noDisk ?? false }, () => {
  it('the service is not ready while the disk is full, and then recovers and truncates the write-ahead log', async () => {
    await using disk = mountSmallDisk(16);
    const path = join(disk.folder, 'a.db');
    await using service = await start(path);
    disk.fill(3 * MEGABYTE);
    const acknowledged = await createUntilRefused(service);
    assert.equal(await readiness(service), 503);
    assert.equal(await httpStatusOf(`${service.url}/healthz`), 200);
    assert.equal(await httpStatusOf(`${service.url}${SESSIONS}?limit=3`), 200);
    assert.ok(statSync(`${path}-wal`).size > 2 * MEGABYTE);
    disk.fill(2 * MEGABYTE);
    await until(async () => (await readiness(service)) === 200);
    assert.ok(statSync(`${path}-wal`).size < MEGABYTE);
    await expectRecovery(service, path, acknowledged);
  });

  it('the service does not start on a full disk, and one line names the file and the remedy', async () => {
    await using disk = mountSmallDisk(8);
    const path = join(disk.folder, 'a.db');
    await createDatabase(path);
    disk.fill(0);
    await assertRefused(path, /a\.db cannot be written: [^\n]*; make room on its disk/);
  });
});

describe('a limit on the size of files', () => {
  it('the service is not ready while a file size limit stops its writes, and recovers without the limit', async () => {
    using folder = temporaryFolder();
    const path = folder.path('a.db');
    await using service = await start(path);
    assert.equal((await create(service, 'disk-key-before')).status, 200);
    limitFiles(service.pid, '4096');
    const acknowledged = await createUntilRefused(service);
    assert.deepEqual([acknowledged, await readiness(service), await readiness(service)], [[], 503, 503]);
    assert.equal(await httpStatusOf(`${service.url}${SESSIONS}?limit=3`), 200);
    limitFiles(service.pid, 'unlimited');
    await expectRecovery(service, path, acknowledged);
  });
});

describe('a database that cannot be written', () => {
  it('the service does not start on a read-only file system', { skip: noDisk ?? false }, async () => {
    await using disk = mountSmallDisk(8);
    const path = join(disk.folder, 'a.db');
    await createDatabase(path);
    // With the write-ahead log of a killed process, SQLite can read a database on a read-only file system.
    await killAfterWrite(path);
    remount(disk.folder, 'ro');
    await assertRefused(path, /a\.db cannot be written: [^\n]*mount its file system read-write/);
    await assertRefused(join(disk.folder, 'new', 'b.db'), /b\.db cannot be written: [^\n]*mount its/);
    remount(disk.folder, 'rw');
    await using service = await start(path);
    assert.equal(await readiness(service), 200);
  });

  it('an account without write permission cannot open the database, and one line names the remedy', async () => {
    using folder = temporaryFolder();
    const path = folder.path('data/a.db');
    mkdirSync(dirname(path));
    await createDatabase(path);
    chmodSync(path, 0o444);
    chmodSync(dirname(path), 0o555);
    chmodSync(dirname(dirname(path)), 0o755);
    const before = readdirSync(dirname(path));
    // The imports precede `setuid`, because the account may not be able to read the files.
    const program = `
      const { openStore } = await import(${JSON.stringify(OPEN.href)});
      await import(${JSON.stringify(new URL('./sqlite.ts', OPEN).href)});
      if (process.getuid() === 0) process.setuid(${NOBODY});
      const log = { info() {}, warn() {} };
      const database = { kind: 'sqlite', path: ${JSON.stringify(path)} };
      await openStore(database, { clock: { now: Date.now }, log, serving: true, onFatal() {} }).then(
        () => console.log('opened'), (error) => console.log(error.message));
      process.exit();`;
    const ended = spawnSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' });
    chmodSync(dirname(path), 0o755);
    assert.match(
      ended.stdout,
      /^DATABASE_URL sqlite:\S+a\.db: \S+a\.db cannot be written: [^\n]+ write access to the file and its folder\n$/,
      ended.stderr,
    );
    assert.deepEqual(readdirSync(dirname(path)), before);
  });
});

describe('a new database', () => {
  it('the log names the path of a new database only when the service creates it', async () => {
    using folder = temporaryFolder();
    const path = folder.path('mistyped.db');
    const announcements: number[] = [];
    for (let count = 0; count < 2; count++) {
      await using service = await start(path);
      await stop(service);
      announcements.push(linesWith(service, 'created a new').filter((line) => line.includes(path)).length);
    }
    assert.deepEqual(announcements, [1, 0]);
  });
});

describe('a damaged database file', () => {
  it('a damaged database file ends a running service with one log line, and prevents later starts', async () => {
    using folder = temporaryFolder();
    const path = folder.path('a.db');
    await createDatabase(path, 60);
    await using service = await start(path);
    damage(path);
    const statuses = await statusesUntilExit(service);
    assert.equal(await service.exited, 1);
    // Until the process exits, a request gets a 503 because of the damage, or cannot connect.
    statuses.delete(200);
    statuses.delete(503);
    assert.deepEqual([...statuses], [0]);
    const [line, ...more] = linesWith(service, '"level":60');
    assert.deepEqual(more, []);
    assert.match(
      line!,
      /the database is lost; stopping: \S+a\.db is damaged: keep a copy of it [^\n]*restore a backup/,
    );
    assert.deepEqual(linesWith(service, '"level":50'), []);
    // The service fails in the same way each time that a supervisor restarts it.
    for (let count = 0; count < 2; count++) await assertRefused(path, /a\.db is damaged: keep a copy/);
  });

  it('the next start after an unclean shutdown detects a damaged database file', async () => {
    using folder = temporaryFolder();
    const path = folder.path('a.db');
    await createDatabase(path, 60);
    await killAfterWrite(path);
    assert.ok(existsSync(`${path}-wal`));
    damage(path);
    for (let count = 0; count < 2; count++) await assertRefused(path, /a\.db is damaged: keep a copy/);
  });
});

describe('an intact database file after an unclean shutdown', () => {
  it('after an unclean shutdown, the service opens an intact file and logs that it has checked it', async () => {
    using folder = temporaryFolder();
    const path = folder.path('a.db');
    await createDatabase(path);
    await killAfterWrite(path);
    await using service = await start(path);
    assert.equal((await create(service, 'last-key')).status, 200);
    assert.equal(linesWith(service, 'the file was checked').length, 1);
  });
});

/** Overwrites the middle half of the file. */
function damage(path: string): void {
  const pages = statSync(path).size / PAGE_BYTES;
  const file = openSync(path, 'r+');
  for (let page = Math.ceil(pages / 4); page < (pages * 3) / 4; page++) {
    writeSync(file, Buffer.alloc(PAGE_BYTES, 0xab), 0, PAGE_BYTES, page * PAGE_BYTES);
  }
  closeSync(file);
}

/** Lists and creates sessions until the service exits; returns the statuses of the responses, 0 for none. */
async function statusesUntilExit(service: RunningService): Promise<Set<number>> {
  const statuses = new Set<number>();
  for (let number = 0; number < MOST_REQUESTS; number++) {
    const created = await create(service, `late-key-${number}`);
    const listed = await ask(`${service.url}${SESSIONS}?limit=100`);
    statuses.add(created.status).add(listed.status);
    if (created.status === 0 && listed.status === 0) break;
  }
  return statuses;
}

/** Limits the file size: writes beyond it fail as with a disk quota. */
function limitFiles(pid: number, bytes: string): void {
  execFileSync('prlimit', ['--pid', String(pid), `--fsize=${bytes}:`]);
}

function remount(folder: string, mode: 'ro' | 'rw'): void {
  execFileSync('mount', ['-o', `remount,${mode}`, folder]);
}
