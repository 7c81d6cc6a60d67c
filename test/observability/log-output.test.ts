// @run needs=process
import assert from 'node:assert/strict';
import { type ChildProcess, type StdioOptions, execFileSync, spawn } from 'node:child_process';
import { closeSync, constants, openSync, readFileSync, readSync, writeSync } from 'node:fs';
import { after, describe, test } from 'node:test';
import { createLogOutput } from '../../src/telemetry/log-output.ts';
import { CACHE_ENV, SERVICE_FILE, freePort, httpStatusOf, temporaryFolder } from '../process/program.ts';
import { createServiceDatabase } from '../support/database.ts';
import { call, sessionBody } from '../support/service.ts';
import { until } from '../support/until.ts';

const NON_BLOCKING = constants.O_RDWR | constants.O_NONBLOCK;
const FAULT = "process.on('SIGUSR2', () => setImmediate(() => { throw new Error('an injected fault'); }))";
const FAULT_ON_SIGNAL = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(FAULT)}` };

/** Exit code of `script` after SIGKILL of its program. */
const KILLED = 128 + 9;
/** Maximum wait for a condition; no test measures this time. */
const TIMEOUT_MS = 60_000;
const LIFETIME = { timeout: 4 * TIMEOUT_MS, killSignal: 'SIGKILL' } as const;
/** Terminal input: Ctrl-S pauses the output, and the line end lets `read` start the program. */
const PAUSE_OUTPUT = '\x13\n';

const folder = temporaryFolder();
after(() => folder[Symbol.dispose]());

describe('the log output', { concurrency: 4 }, () => {
  const readers: Record<string, () => number | 'pipe'> = {
    'the reader of its log exits': () => 'pipe',
    'the disk of its log is full': () => openSync('/dev/full', 'w'),
    'the reader of its log does not read': () => openSync(fullPipe('full').path, NON_BLOCKING),
  };
  for (const [condition, open] of Object.entries(readers)) {
    test(`the service answers and exits with 0 if ${condition}`, async () => {
      const output = open();
      await using service = await startWith(['ignore', output, 'inherit']);
      if (output === 'pipe') service.child.stdout!.destroy();
      else closeSync(output);
      await createSessions(service.url);
      service.child.kill('SIGTERM');
      assert.deepEqual(await service.ended, [0, null]);
    });
  }

  test('log output that nobody reads does not delay the exit of its process', async () => {
    const module = new URL('../../src/telemetry/log-output.ts', import.meta.url).href;
    const program = `import { createLogOutput } from '${module}';
      const log = createLogOutput(1);
      await new Promise((resolve) => process.stdin.once('end', resolve).resume());
      log.write('one'); log.write('two'); process.exit(0);`;
    const options = { ...LIFETIME, env: CACHE_ENV, stdio: ['pipe', 'pipe', 'inherit'] as ['pipe', 'pipe', 'inherit'] };
    const child = spawn(process.execPath, ['--input-type=module', '-e', program], options);
    child.stdout.destroy();
    child.stdin.end();
    assert.deepEqual(await endOf(child), [0, null]);
  });

  test('the service starts and answers at a paused terminal, and kills itself after the shutdown', async () => {
    await using service = await startAtPausedTerminal();
    await createSessions(service.url);
    assert.deepEqual(await service.end('SIGTERM'), [KILLED, null]);
  });

  test('the log output contains the error that ends the process, unless the terminal is paused', async () => {
    await using pipe = fullPipe('fault');
    pipe.read();
    await using service = await startWith(['ignore', openSync(pipe.path, NON_BLOCKING), 'inherit'], FAULT_ON_SIGNAL);
    service.child.kill('SIGUSR2');
    assert.deepEqual(await service.ended, [1, null]);
    assert.match(pipe.read(), /"level":60,.*an injected fault/);

    await using paused = await startAtPausedTerminal(FAULT_ON_SIGNAL);
    await createSessions(paused.url);
    assert.deepEqual(await paused.end('SIGUSR2'), [KILLED, null]);
  });

  test('the log output buffers 1 MiB for a reader that does not read, and later reports the number of lost lines', async () => {
    await using pipe = fullPipe('wakes');
    const lostLines: number[] = [];
    // The descriptor is write-only, so that closing the pipe ends all retries.
    const fd = openSync(pipe.path, constants.O_WRONLY | constants.O_NONBLOCK);
    const output = createLogOutput(fd, (lines) => lostLines.push(lines));
    const line = `${'x'.repeat(1023)}\n`;
    for (let count = 0; count < 1500; count++) output.write(line);
    // The output reports a full pipe after its first try.
    await until(() => output.settle(100));
    assert.deepEqual(lostLines, []);
    let read = 0;
    await until(() => {
      read += pipe.read().length;
      return lostLines.length > 0;
    });
    read += pipe.read().length;
    assert.deepEqual(lostLines, [1500 - 1024]);
    assert.equal(read, 1024 * line.length);
    assert.equal(await output.settle(TIMEOUT_MS), true);
    closeSync(fd);
  });
});

function endOf(child: ChildProcess): Promise<unknown[]> {
  return new Promise((resolve) => child.once('exit', (...how) => resolve(how)));
}

/** A service that logs every request to `stdio`. */
async function startWith(stdio: StdioOptions, more: Record<string, string> = {}, command?: string[]) {
  const database = await createServiceDatabase();
  const port = String(await freePort());
  const variables = { DATABASE_URL: database.url, PORT: port, LOG_LEVEL: 'trace', SHUTDOWN_DELAY: '0', ...more };
  const [program, ...args] = command ?? [process.execPath, SERVICE_FILE.pathname, 'serve'];
  const { PATH = '' } = process.env;
  const child = spawn(program!, args, { ...LIFETIME, env: { ...CACHE_ENV, PATH, ...variables }, stdio });
  const ended = endOf(child);
  child.stdin?.write(PAUSE_OUTPUT);
  const url = `http://127.0.0.1:${port}`;
  try {
    await until(async () => (await httpStatusOf(`${url}/readyz`)) === 200);
  } catch (error) {
    // A remaining process would prevent the test run from exiting.
    child.kill('SIGKILL');
    throw error;
  }
  return {
    child,
    url,
    ended,
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await ended;
      await database[Symbol.asyncDispose]();
    },
  };
}

/** A service at a terminal that is paused, as after Ctrl-S. */
async function startAtPausedTerminal(more: Record<string, string> = {}) {
  // `script` creates a terminal and exits with the exit code of its program.
  const program = `read -r line && exec ${process.execPath} ${SERVICE_FILE.pathname} serve`;
  const command = ['script', '-qefc', program, '/dev/null'];
  const service = await startWith(['pipe', 'ignore', 'inherit'], more, command);
  return {
    ...service,
    end(signal: NodeJS.Signals): Promise<unknown> {
      const { pid } = service.child;
      process.kill(Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')), signal);
      return service.ended;
    },
  };
}

async function createSessions(url: string): Promise<void> {
  for (let count = 0; count < 30; count++) {
    assert.equal((await call('POST', `${url}/api/gateway/sessions`, sessionBody())).status, 200);
  }
}

function fullPipe(name: string) {
  const path = folder.path(name);
  execFileSync('mkfifo', [path]);
  const fd = openSync(path, NON_BLOCKING);
  const chunk = Buffer.alloc(65_536);
  const repeatUntilBlocked = (step: () => number): number => {
    for (let bytes = 0; ;) {
      try {
        bytes += step();
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
        return bytes;
      }
    }
  };
  let fillBytesLeft = repeatUntilBlocked(() => writeSync(fd, chunk, 0, 1024));
  return {
    path,
    /** Reads all bytes; returns the bytes that another process wrote. */
    read(): string {
      let text = '';
      repeatUntilBlocked(() => {
        const bytes = readSync(fd, chunk);
        const fillBytes = Math.min(fillBytesLeft, bytes);
        fillBytesLeft -= fillBytes;
        text += chunk.toString('utf8', fillBytes, bytes);
        return bytes;
      });
      return text;
    },
    async [Symbol.asyncDispose]() {
      closeSync(fd);
    },
  };
}
