// @run needs=process
import assert from 'node:assert/strict';
import { type ChildProcess, type StdioOptions, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, mkdtempSync, openSync, readFileSync, readSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createLogOutput } from '../../src/telemetry/log-output.ts';
import { COMPILED, SERVICE, freePort, statusOf } from '../process/program.ts';
import { createTestDatabase } from '../support/database.ts';
import { call, sessionBody } from '../support/service.ts';
import { until } from '../support/until.ts';

const WITHOUT_WAITING = constants.O_RDWR | constants.O_NONBLOCK;
const FAULT = "process.on('SIGUSR2', () => setImmediate(() => { throw new Error('an injected fault'); }))";
const FAULT_ON_SIGNAL = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(FAULT)}` };

/** Exit code of `script` after SIGKILL of its program. */
const KILLED = 128 + 9;
/** Limit for a hang; no test measures it. */
const PATIENCE_MS = 60_000;
/** Ctrl-S and the end of a line: a program after `read` begins at a paused terminal. */
const PAUSE_OUTPUT = '\x13\n';

const folder = mkdtempSync(join(tmpdir(), 'tillway-log-'));
after(() => rmSync(folder, { recursive: true, force: true }));

describe('the log', { concurrency: 4 }, () => {
  const destinations: [name: string, open: () => StdioOptions][] = [
    ['may lose its reader', () => ['ignore', 'pipe', 'inherit']],
    ['may be on a full disk', () => ['ignore', openSync('/dev/full', 'w'), 'inherit']],
    ['may have a reader that hangs', () => ['ignore', openSync(fullPipe('full').path, WITHOUT_WAITING), 'inherit']],
  ];
  for (const [name, open] of destinations) {
    test(`${name}: the service answers and exits with 0`, async () => {
      await using service = await startWith(open());
      service.child.stdout?.destroy();
      await sell(service.url);
      assert.deepEqual(await service.stop(), [0, null]);
    });
  }

  test('does not delay an exit by lines without a reader', async () => {
    const ours = new URL('../../src/telemetry/log-output.ts', import.meta.url).href;
    const program = `import { createLogOutput } from '${ours}'; const log = createLogOutput(1);`;
    assert.deepEqual(await exitUnread(program, PATIENCE_MS), [0, null]);
    // pino's own writer, which retries for ever, would delay it.
    const pinos = `import { pino } from 'pino'; const log = { write: (line) => logger.info(line) }; const logger = pino();`;
    assert.deepEqual(await exitUnread(pinos, 1000), [null, 'SIGKILL']);
  });

  test('may be a paused terminal: the service starts, answers, and kills itself after the shutdown', async () => {
    await using service = await startAtPausedTerminal();
    await sell(service.url);
    assert.deepEqual(await service.end('SIGTERM'), [KILLED, null]);
  });

  test('has a line about a fault of the program, unless its reader hangs', async () => {
    await using pipe = fullPipe('fault');
    pipe.text();
    await using service = await startWith(['ignore', openSync(pipe.path, WITHOUT_WAITING), 'inherit'], FAULT_ON_SIGNAL);
    service.child.kill('SIGUSR2');
    assert.deepEqual(await service.ended(), [1, null]);
    assert.match(pipe.text(), /"level":60,.*an injected fault/);

    await using standing = await startAtPausedTerminal(FAULT_ON_SIGNAL);
    await sell(standing.url);
    assert.deepEqual(await standing.end('SIGUSR2'), [KILLED, null]);
  });

  test('continues with another reader', async () => {
    const path = join(folder, 'readers');
    execFileSync('mkfifo', [path]);
    const first = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const fd = openSync(path, 'w');
    const output = createLogOutput(fd, () => assert.fail('nothing is lost'));
    output.write('one\n');
    await output.settle(PATIENCE_MS);
    closeSync(first);
    output.write('two\n');
    await output.settle(PATIENCE_MS);
    const second = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    output.write('three\n');
    await output.settle(PATIENCE_MS);
    const bytes = Buffer.alloc(100);
    assert.equal(bytes.toString('utf8', 0, readSync(second, bytes)), 'one\ntwo\nthree\n');
    closeSync(second);
    closeSync(fd);
  });

  test('buffers 1 MiB for a reader that hangs, and reports the number of lost lines later', async () => {
    await using pipe = fullPipe('wakes');
    const told: number[] = [];
    // Write-only, so that closing the pipe ends all retries.
    const fd = openSync(pipe.path, constants.O_WRONLY | constants.O_NONBLOCK);
    const output = createLogOutput(fd, (lines) => told.push(lines));
    const line = `${'x'.repeat(1023)}\n`;
    for (let count = 0; count < 1500; count++) output.write(line);
    // The output reports a full pipe after its first try.
    await until(() => output.settle(100));
    assert.deepEqual(told, []);
    let read = 0;
    await until(() => {
      read += pipe.read();
      return told.length > 0;
    });
    read += pipe.read();
    assert.deepEqual(told, [1500 - 1024]);
    assert.equal(read, 1024 * line.length);
    assert.equal(await output.settle(PATIENCE_MS), true);
    closeSync(fd);
  });
});

/**
 * Runs a program that writes two log lines without a reader and exits. Answers how it ended; it is killed `patienceMs` after it
 * has called exit.
 */
async function exitUnread(log: string, patienceMs: number): Promise<unknown[]> {
  const program = `${log} import { writeSync } from 'node:fs';
    await new Promise((resolve) => process.stdin.once('end', resolve).resume());
    log.write('one'); log.write('two'); writeSync(3, 'exits'); process.exit(0);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    env: COMPILED,
    cwd: new URL('../..', import.meta.url),
    stdio: ['pipe', 'pipe', 'inherit', 'pipe'],
  });
  const ended = endOf(child);
  child.stdout!.destroy();
  child.stdin!.end();
  await Promise.race([once(child.stdio[3]!, 'data'), ended]);
  const patience = setTimeout(() => child.kill('SIGKILL'), patienceMs);
  return ended.finally(() => clearTimeout(patience));
}

function endOf(child: ChildProcess): Promise<unknown[]> {
  return new Promise((resolve) => child.once('exit', (...how) => resolve(how)));
}

/** A service that logs every request to `stdio`. */
async function startWith(stdio: StdioOptions, more: Record<string, string> = {}, command?: string[]) {
  const database = await createTestDatabase();
  const port = String(await freePort());
  const variables = { DATABASE_URL: database.url, PORT: port, LOG_LEVEL: 'trace', SHUTDOWN_DELAY: '0', ...more };
  const [program, ...args] = command ?? [process.execPath, SERVICE.pathname, 'serve'];
  const { PATH = '' } = process.env;
  const child = spawn(program!, args, { env: { ...COMPILED, PATH, ...variables }, stdio });
  const ended = endOf(child);
  child.stdin?.write(PAUSE_OUTPUT);
  const url = `http://127.0.0.1:${port}`;
  try {
    await until(async () => (await statusOf(`${url}/readyz`)) === 200);
  } catch (error) {
    // A process that stays would keep the tests from ending.
    child.kill('SIGKILL');
    throw error;
  }
  const within = () => Promise.race([ended, sleep(PATIENCE_MS, 'it does not end', { ref: false })]);
  return {
    child,
    url,
    ended: within,
    async stop() {
      child.kill('SIGTERM');
      return within();
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await ended;
      await database[Symbol.asyncDispose]();
    },
  };
}

/** A service at a terminal that is paused, as after Ctrl-S. */
async function startAtPausedTerminal(more: Record<string, string> = {}) {
  // `script` creates a terminal and has the exit code of its program.
  const command = [
    'script',
    '-qefc',
    `read -r line && exec ${process.execPath} ${SERVICE.pathname} serve`,
    '/dev/null',
  ];
  const service = await startWith(['pipe', 'ignore', 'inherit'], more, command);
  return {
    ...service,
    end(signal: NodeJS.Signals): Promise<unknown> {
      const { pid } = service.child;
      process.kill(Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')), signal);
      return service.ended();
    },
  };
}

async function sell(url: string): Promise<void> {
  for (let count = 0; count < 30; count++) {
    assert.equal((await call('POST', `${url}/api/gateway/sessions`, sessionBody())).status, 200);
  }
}

/** A named pipe without room for another byte. */
function fullPipe(name: string) {
  const path = join(folder, name);
  execFileSync('mkfifo', [path]);
  const fd = openSync(path, WITHOUT_WAITING);
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
    /** Reads, and answers the number of bytes of the other writer. */
    read(): number {
      const bytes = untilAgain(() => readSync(fd, chunk));
      const ours = Math.min(filled, bytes);
      filled -= ours;
      return bytes - ours;
    },
    /** Reads the text of the other writer, after the pipe was emptied. */
    text(): string {
      let text = '';
      untilAgain(() => {
        const bytes = readSync(fd, chunk);
        text += chunk.toString('utf8', 0, bytes);
        return bytes;
      });
      return text;
    },
    async [Symbol.asyncDispose]() {
      closeSync(fd);
    },
  };
}
