// @run needs=process
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import {
  type RunningService,
  SERVICE,
  startProgram,
  startServiceProgram,
  statusOf,
  temporaryFolder,
} from '../process/program.ts';
import { settingsOf } from '../support/database.ts';
import { SESSIONS, ask, sessionBody } from './requests.ts';
import { mountSmallDisk, whyNoDisk } from './small-disk.ts';
import { until } from '../support/until.ts';
import { brokenInvariants } from '../support/sound.ts';

const MEGABYTE = 1 << 20;
const QUIET = { SHUTDOWN_DELAY: '0', LOG_LEVEL: 'warn' };
const OPEN = new URL('../../src/store/open.ts', import.meta.url);
// An unprivileged account: root may write to every file, so the test switches to this one.
const NOBODY = 65_534;

/** Creates sessions one after the other until one is refused, and returns the acknowledged ones. */
async function createUntilRefused(service: RunningService): Promise<string[]> {
  const acknowledged: string[] = [];
  for (;;) {
    const { status, body } = await ask(service.url + SESSIONS, sessionBody(`disk-key-${acknowledged.length}`));
    if (status !== 200) {
      assert.deepEqual([status, body.error?.code], [503, 'unavailable']);
      return acknowledged;
    }
    acknowledged.push(body.id!);
  }
}

const readiness = (service: RunningService) => statusOf(`${service.url}/readyz`);

/** Waits until the service becomes ready by itself, then checks that it writes again and has lost nothing. */
async function expectRecovery(service: RunningService, url: string, acknowledged: string[]): Promise<void> {
  await until(async () => (await readiness(service)) === 200);
  assert.equal((await ask(service.url + SESSIONS, sessionBody('disk-key-after'))).status, 200);
  for (const id of acknowledged) assert.equal(await statusOf(`${service.url}${SESSIONS}/${id}`), 200, id);
  service.signal('SIGTERM');
  assert.equal(await service.exited, 0);
  assert.deepEqual(await brokenInvariants(settingsOf(url)), []);
}

/** The one line with which a service refuses to start. */
async function refusal(url: string): Promise<string> {
  await using program = startProgram(SERVICE, { DATABASE_URL: url, PORT: '0', ...QUIET });
  assert.equal(await program.exited, 1);
  assert.match(program.stderr(), /^Tillway cannot start: DATABASE_URL sqlite:[^\n]+\n$/);
  return program.stderr();
}

describe('a full disk', () => {
  it('makes the service not ready until the disk has room again, and truncates the write-ahead log', async (test) => {
    const reason = await whyNoDisk();
    if (reason !== undefined) return test.skip(reason);
    await using disk = mountSmallDisk(16);
    const url = `sqlite:${join(disk.folder, 'a.db')}`;
    await using service = await startServiceProgram({ DATABASE_URL: url, ...QUIET });
    disk.fill(3 * MEGABYTE);
    const acknowledged = await createUntilRefused(service);
    assert.equal(await readiness(service), 503);
    assert.equal(await statusOf(`${service.url}/healthz`), 200);
    assert.equal(await statusOf(`${service.url}${SESSIONS}?limit=3`), 200);
    assert.ok(statSync(join(disk.folder, 'a.db-wal')).size > 2 * MEGABYTE);
    disk.fill(2 * MEGABYTE);
    await until(async () => (await readiness(service)) === 200);
    assert.ok(statSync(join(disk.folder, 'a.db-wal')).size < MEGABYTE);
    await expectRecovery(service, url, acknowledged);
  });

  it('keeps a service from starting, and the line names the file and the remedy', async (test) => {
    const reason = await whyNoDisk();
    if (reason !== undefined) return test.skip(reason);
    await using disk = mountSmallDisk(8);
    const url = `sqlite:${join(disk.folder, 'a.db')}`;
    await stopCleanly(await startServiceProgram({ DATABASE_URL: url, ...QUIET }));
    disk.fill(0);
    assert.match(await refusal(url), /a\.db cannot be written: [^\n]*; make room on its disk/);
  });
});

describe('a limit on the size of files', () => {
  it('makes the service not ready while it lasts, and no longer', async () => {
    using folder = temporaryFolder();
    const url = `sqlite:${folder.path('a.db')}`;
    await using service = await startServiceProgram({ DATABASE_URL: url, ...QUIET });
    assert.equal((await ask(service.url + SESSIONS, sessionBody('disk-key-before'))).status, 200);
    limitFiles(service.pid, '4096');
    const acknowledged = await createUntilRefused(service);
    assert.deepEqual([acknowledged, await readiness(service), await readiness(service)], [[], 503, 503]);
    assert.equal(await statusOf(`${service.url}${SESSIONS}?limit=3`), 200);
    limitFiles(service.pid, 'unlimited');
    await expectRecovery(service, url, acknowledged);
  });
});

describe('a database that cannot be written', () => {
  it('on a read-only file system, keeps a service from starting', async (test) => {
    const reason = await whyNoDisk();
    if (reason !== undefined) return test.skip(reason);
    await using disk = mountSmallDisk(8);
    const url = `sqlite:${join(disk.folder, 'a.db')}`;
    await stopCleanly(await startServiceProgram({ DATABASE_URL: url, ...QUIET }));
    // With the write-ahead log of a killed process, SQLite can read such a database.
    {
      await using killed = await startServiceProgram({ DATABASE_URL: url, ...QUIET });
      assert.equal((await ask(killed.url + SESSIONS, sessionBody('disk-key-last'))).status, 200);
    }
    remount(disk.folder, 'ro');
    assert.match(await refusal(url), /a\.db cannot be written: [^\n]*mount its file system read-write/);
    assert.match(
      await refusal(`sqlite:${join(disk.folder, 'new', 'b.db')}`),
      /b\.db cannot be written: [^\n]*mount its/,
    );
    remount(disk.folder, 'rw');
    await using service = await startServiceProgram({ DATABASE_URL: url, ...QUIET });
    assert.equal(await readiness(service), 200);
  });

  it('is refused to an account without write permission, in one line with the remedy', async () => {
    using folder = temporaryFolder();
    const path = folder.path('data/a.db');
    mkdirSync(dirname(path));
    await stopCleanly(await startServiceProgram({ DATABASE_URL: `sqlite:${path}`, ...QUIET }));
    chmodSync(path, 0o444);
    chmodSync(dirname(path), 0o555);
    chmodSync(dirname(dirname(path)), 0o755);
    const before = readdirSync(dirname(path));
    // The account may not be able to read the imported files.
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
  it('is announced in the log with its path, once', async () => {
    using folder = temporaryFolder();
    const path = folder.path('mistyped.db');
    const lines = (service: RunningService) =>
      service
        .stdout()
        .split('\n')
        .filter((line) => line.includes('created a new') && line.includes(path));
    const first = await startServiceProgram({ DATABASE_URL: `sqlite:${path}`, ...QUIET });
    await stopCleanly(first);
    const second = await startServiceProgram({ DATABASE_URL: `sqlite:${path}`, ...QUIET });
    await stopCleanly(second);
    assert.deepEqual([lines(first).length, lines(second).length], [1, 0]);
    assert.ok(!existsSync(`${path}-wal`), 'a clean shutdown removes the write-ahead log');
  });
});

async function stopCleanly(service: RunningService): Promise<void> {
  service.signal('SIGTERM');
  assert.equal(await service.exited, 0, service.stdout());
}

/** Limits the file size: writes beyond it fail as with a disk quota. */
function limitFiles(pid: number, bytes: string): void {
  execFileSync('prlimit', ['--pid', String(pid), `--fsize=${bytes}:`]);
}

function remount(folder: string, mode: 'ro' | 'rw'): void {
  execFileSync('mount', ['-o', `remount,${mode}`, folder]);
}
