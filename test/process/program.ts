import { execFile, spawn } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { promisify } from 'node:util';
import { mkdtempSync, rmSync } from 'node:fs';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from '../support/until.ts';
import { NO_RATE_LIMITS } from '../support/rate-limits.ts';

/** A program of this repository, run as a process of its own. */
export interface Program extends AsyncDisposable {
  pid: number;
  /** Everything written so far. */
  stdout(): string;
  stderr(): string;
  /** The exit code; null where a signal ended it. */
  exited: Promise<number | null>;
  signal(signal: NodeJS.Signals): void;
}

export const SERVICE = new URL('../../src/main.ts', import.meta.url);

const { NODE_COMPILE_CACHE } = process.env;
/** Compile cache of the test run, for its hundreds of processes. */
export const COMPILED = NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE };

/** Result of a command. */
export interface Ended {
  code: number;
  stdout: string;
  stderr: string;
}

/** Runs a command of the program with these environment variables and no others. */
export async function tillway(variables: Record<string, string>, ...args: string[]): Promise<Ended> {
  const env = { ...COMPILED, ...variables };
  try {
    return { code: 0, ...(await promisify(execFile)(process.execPath, [SERVICE.pathname, ...args], { env })) };
  } catch (error) {
    return error as Ended;
  }
}

/**
 * Starts a server file with these environment variables and no others; a server of the tests ignores the argument `serve`.
 * `await using` ends it.
 */
export function startProgram(file: URL, variables: Record<string, string>): Program {
  const child = spawn(process.execPath, [file.pathname, 'serve'], {
    env: { ...COMPILED, ...variables },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  // "close" and not "exit": by then everything it wrote has been read.
  const exited = new Promise<number | null>((resolve) => child.once('close', resolve));
  return {
    pid: child.pid!,
    stdout: () => stdout,
    stderr: () => stderr,
    exited,
    signal: (signal) => void child.kill(signal),
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await exited;
    },
  };
}

export interface RunningService extends Program {
  url: string;
}

/** Starts the service on a free port and waits until it is ready. */
export async function startServiceProgram(variables: Record<string, string>): Promise<RunningService> {
  const port = variables['PORT'] ?? String(await freePort());
  const url = `http://127.0.0.1:${port}`;
  return { ...(await startUntilReady(SERVICE, { ...NO_RATE_LIMITS, ...variables, PORT: port }, url)), url };
}

/** Starts a server file and waits until it is ready at this URL. A start that fails or exits is an error. */
export async function startUntilReady(file: URL, variables: Record<string, string>, url: string): Promise<Program> {
  const program = startProgram(file, variables);
  const complaint = () => `${file.pathname} did not become ready: ${program.stdout()}${program.stderr()}`;
  let hasExited = false;
  void program.exited.then(() => (hasExited = true));
  try {
    await until(async () => hasExited || (await statusOf(`${url}/readyz`)) === 200, complaint);
    if (hasExited) throw new Error(complaint());
    return program;
  } catch (error) {
    // A process that is left behind would keep the tests from ending.
    await program[Symbol.asyncDispose]();
    throw error;
  }
}

/** Status of an answer; 0 without one. */
export function statusOf(url: string): Promise<number> {
  return fetch(url, { headers: { connection: 'close' } }).then(
    async (response) => {
      await response.arrayBuffer();
      return response.status;
    },
    () => 0,
  );
}

/**
 * Services choose ports from 20000, and the system assigns ports from 32768: another service or connection could take one of
 * those at any time.
 */
const FIRST_PORT = 11_000;
const LAST_PORT = 20_000;

/** A port at which another program listens, until it is disposed of. */
export async function takenPort(): Promise<AsyncDisposable & { port: number }> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const close = () => new Promise<void>((resolve) => server.close(() => resolve()));
  return { port: (server.address() as AddressInfo).port, [Symbol.asyncDispose]: close };
}

/** A free port that neither the system nor another test gets while this process lives. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST_PORT + Math.floor(Math.random() * (LAST_PORT - FIRST_PORT));
    if (!(await claim(port))) continue;
    const probe = createServer();
    const isFree = await new Promise<boolean>((resolve) =>
      probe.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => resolve(true)),
    );
    if (!isFree) continue;
    await new Promise((resolve) => probe.close(resolve));
    return port;
  }
}

/**
 * Reserves a port among parallel test files, which may listen at it only later: holds the unused UDP port of that number until
 * this process exits.
 */
function claim(port: number): Promise<boolean> {
  const mark = createSocket('udp4').unref();
  return new Promise((resolve) => {
    mark.once('error', () => {
      mark.close();
      resolve(false);
    });
    mark.bind({ port, address: '127.0.0.1' }, () => resolve(true));
  });
}

/** A folder that is gone after `using`. */
export function temporaryFolder(): Disposable & { path(name: string): string } {
  const folder = mkdtempSync(join(tmpdir(), 'tillway-process-'));
  return {
    path: (name) => join(folder, name),
    [Symbol.dispose]() {
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
