import assert from 'node:assert/strict';
import { type ChildProcess, type StdioOptions, execFileSync, spawn } from 'node:child_process';
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createLogOutput } from '../../src/telemetry/log-output.ts';
import { COMPILED, SERVICE, freePort, until } from '../process/program.ts';
import { createTestDatabase } from '../support/database.ts';
import { call, sessionBody } from '../support/service.ts';

const folder = mkdtempSync(join(tmpdir(), 'tillway-log-'));
after(() => rmSync(folder, { recursive: true, force: true }));

describe('the log', () => {
  test('may lose its reader: the service answers, and ends in good order', async () => {
    await using service = await startWith(['ignore', 'pipe', 'inherit']);
    service.child.stdout!.destroy();
    await sell(service.url);
    assert.deepEqual(await service.stop(), [0, null]);
  });

  test('is no reason to stay: lines that nobody reads are left behind at an exit', async () => {
    const ours = new URL('../../src/telemetry/log-output.ts', import.meta.url).href;
    assert.deepEqual(await exitUnread(`import { createLogOutput } from '${ours}'; const log = createLogOutput(1);`), [
      0,
      null,
    ]);
    // The planted fault: pino's own writer, which asks again and again.
    const pinos = `import { pino } from 'pino'; const log = { write: (line) => logger.info(line) }; const logger = pino();`;
    assert.deepEqual(await exitUnread(pinos), [null, 'SIGKILL']);
  });

  test('may stand on a full disk: the service answers, and ends in good order', async () => {
    const full = openSync('/dev/full', 'w');
    await using service = await startWith(['ignore', full, 'inherit']);
    closeSync(full);
    await sell(service.url);
    assert.deepEqual(await service.stop(), [0, null]);
  });

  test('may have a reader that hangs: the service answers, and is ended by force once all is closed', async () => {
    await using pipe = fullPipe('hangs');
    await using service = await startWith(['ignore', openSync(pipe.path, 'r+'), 'inherit']);
    await sell(service.url);
    assert.deepEqual(await service.stop(), [null, 'SIGKILL']);
  });

  test('keeps 1 MiB for a reader that hangs, and says how many lines it lost once it reads again', async () => {
    await using pipe = fullPipe('wakes');
    const told: number[] = [];
    const fd = openSync(pipe.path, constants.O_RDWR | constants.O_NONBLOCK);
    const output = createLogOutput(fd, (lines) => told.push(lines));
    const line = `${'x'.repeat(1023)}\n`;
    for (let count = 0; count < 1500; count++) output.write(line);
    assert.equal(await output.settle(50), false);
    assert.deepEqual(told, []);
    let read = 0;
    await until(() => {
      read += pipe.read();
      return told.length > 0;
    });
    read += pipe.read();
    assert.deepEqual(told, [1500 - 1024]);
    assert.equal(read, 1024 * line.length);
    assert.equal(await output.settle(1000), true);
    closeSync(fd);
  });
});

/** Runs a program that writes two lines of the log to nobody and ends at once; how it ended, or was ended. */
async function exitUnread(log: string): Promise<unknown[]> {
  const program = `${log} await new Promise((resolve) => process.stdin.once('end', resolve).resume());
    log.write('one'); log.write('two'); process.exit(0);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    env: COMPILED,
    cwd: new URL('../..', import.meta.url),
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = endOf(child);
  child.stdout.destroy();
  child.stdin.end();
  const patience = setTimeout(() => child.kill('SIGKILL'), 1500);
  return ended.finally(() => clearTimeout(patience));
}

function endOf(child: ChildProcess): Promise<unknown[]> {
  return new Promise((resolve) => child.once('exit', (...how) => resolve(how)));
}

/** A service that logs every request to whatever `stdio` says. */
async function startWith(stdio: StdioOptions) {
  const database = await createTestDatabase();
  const port = String(await freePort());
  const variables = { DATABASE_URL: database.url, PORT: port, LOG_LEVEL: 'trace', SHUTDOWN_DELAY: '0' };
  const child = spawn(process.execPath, [SERVICE.pathname], { env: { ...COMPILED, ...variables }, stdio });
  const ended = endOf(child);
  const url = `http://127.0.0.1:${port}`;
  await until(() =>
    fetch(`${url}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    ),
  );
  return {
    child,
    url,
    async stop() {
      child.kill('SIGTERM');
      return Promise.race([ended, sleep(15_000, 'it does not end', { ref: false })]);
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await ended;
      await database[Symbol.asyncDispose]();
    },
  };
}

async function sell(url: string): Promise<void> {
  for (let count = 0; count < 20; count++) {
    assert.equal((await call('POST', `${url}/api/gateway/sessions`, sessionBody())).status, 200);
  }
}

/** A named pipe without room for another byte. */
function fullPipe(name: string) {
  const path = join(folder, name);
  execFileSync('mkfifo', [path]);
  const fd = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  const filling = Buffer.alloc(1024);
  let filled = 0;
  const untilAgain = (step: () => number): number => {
    for (let bytes = 0; ;) {
      try {
        bytes += step();
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
        return bytes;
      }
    }
  };
  filled = untilAgain(() => writeSync(fd, filling));
  const chunk = Buffer.alloc(65_536);
  return {
    path,
    /** How many bytes of somebody else's could be read. */
    read(): number {
      const bytes = untilAgain(() => readSync(fd, chunk));
      const ours = Math.min(filled, bytes);
      filled -= ours;
      return bytes - ours;
    },
    async [Symbol.asyncDispose]() {
      closeSync(fd);
    },
  };
}
