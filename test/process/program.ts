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

/** A program of this repository in a child process. */
export interface Program extends AsyncDisposable {
  pid: number;
  /** The output so far. */
  stdout(): string;
  stderr(): string;
  /** The exit code; null if a signal terminated the process. */
  exited: Promise<number | null>;
  signal(signal: NodeJS.Signals): void;
}

export const SERVICE_FILE = new URL('../../src/main.ts', import.meta.url);

const { NODE_COMPILE_CACHE } = process.env;
/** Makes child processes share the compile cache of the test run. */
export const CACHE_ENV = NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE };

export interface CommandResult {
  code: number;
  stdout: string;
  stderr: string;
}

/** Runs a `tillway` command with only these environment variables. */
export async function tillway(variables: Record<string, string>, ...args: string[]): Promise<CommandResult> {
  const env = { ...CACHE_ENV, ...variables };
  try {
    return { code: 0, ...(await promisify(execFile)(process.execPath, [SERVICE_FILE.pathname, ...args], { env })) };
  } catch (error) {
    return error as CommandResult;
  }
}

/**
 * Starts a server file with only these environment variables. Servers other than the service ignore the argument `serve`.
 * Disposal kills the process.
 */
export function startProgram(file: URL, variables: Record<string, string>): Program {
  const child = spawn(process.execPath, [file.pathname, 'serve'], {
    env: { ...CACHE_ENV, ...variables },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  // The event "close" follows the last output; "exit" may precede it.
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
  return { ...(await startUntilReady(SERVICE_FILE, { ...NO_RATE_LIMITS, ...variables, PORT: port }, url)), url };
}

/** Starts a server file and waits until it is ready at this URL. Throws if the process exits or is not ready in time. */
export async function startUntilReady(file: URL, variables: Record<string, string>, url: string): Promise<Program> {
  const program = startProgram(file, variables);
  const message = () => `${file.pathname} did not become ready: ${program.stdout()}${program.stderr()}`;
  let hasExited = false;
  void program.exited.then(() => (hasExited = true));
  try {
    await until(async () => hasExited || (await httpStatusOf(`${url}/readyz`)) === 200, message);
    if (hasExited) throw new Error(message());
    return program;
  } catch (error) {
    // A remaining child process would prevent the test run from exiting.
    await program[Symbol.asyncDispose]();
    throw error;
  }
}

/** HTTP status of the response to a GET request; 0 without a response. */
export function httpStatusOf(url: string): Promise<number> {
  return fetch(url, { headers: { connection: 'close' } }).then(
    async (response) => {
      await response.arrayBuffer();
      return response.status;
    },
    () => 0,
  );
}

/**
 * Range for test ports. Services with PORT=0 choose ports from 20000 and the system assigns ports from 32768, so that
 * neither takes a port of this range.
 */
const FIRST_PORT = 11_000;
const LAST_PORT = 20_000;

/** A port with a listener until disposal. */
export async function takenPort(): Promise<AsyncDisposable & { port: number }> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const close = () => new Promise<void>((resolve) => server.close(() => resolve()));
  return { port: (server.address() as AddressInfo).port, [Symbol.asyncDispose]: close };
}

/** A free port that no other test file receives while this process runs. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST_PORT + Math.floor(Math.random() * (LAST_PORT - FIRST_PORT));
    if (!(await reserve(port))) continue;
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
 * Reserves a port among parallel test files before a listener opens it, by holding the UDP port of the same number until
 * this process exits.
 */
function reserve(port: number): Promise<boolean> {
  const udpSocket = createSocket('udp4').unref();
  return new Promise((resolve) => {
    udpSocket.once('error', () => {
      udpSocket.close();
      resolve(false);
    });
    udpSocket.bind({ port, address: '127.0.0.1' }, () => resolve(true));
  });
}

export function temporaryFolder(): Disposable & { path(name: string): string } {
  const folder = mkdtempSync(join(tmpdir(), 'tillway-process-'));
  return {
    path: (name) => join(folder, name),
    [Symbol.dispose]() {
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
