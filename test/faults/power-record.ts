import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort, httpStatusOf } from '../process/program.ts';
import { NO_RATE_LIMITS } from '../support/rate-limits.ts';
import { TRACED_CALLS, type TraceEvent, readTrace } from './power-trace.ts';
import { type Answer, CALLBACKS, SESSIONS, ask, callbackBody, sessionBody, inLanes } from './requests.ts';
import { until } from '../support/until.ts';

const CLIENTS = 6;
/** One of this many sessions is also paid. A paid session writes three times as much as an unpaid session. */
const PAID_EVERY = 3;
const SERVER = fileURLToPath(new URL('./power-server.ts', import.meta.url));
// Strings up to this length are printed in full: more than the largest page.
const STRING_LIMIT = 70_000;

/** A run of the service: its system calls, its responses and its files. */
export interface Recording {
  events: TraceEvent[];
  /** Number of responses to creations and payments. */
  answered: number;
  /** The real files of the database at the end. */
  files: Map<string, Buffer>;
}

/** The reason why this machine cannot record system calls; undefined if it can. */
export function whyNotRecordable(): string | undefined {
  const { error, status } = spawnSync('strace', ['-f', '--seccomp-bpf', '-o', '/dev/null', process.execPath, '-v']);
  if (error) return 'strace is not installed: power loss is not simulated';
  return status === 0 ? undefined : 'strace may not trace here: power loss is not simulated';
}

export interface RecordOptions {
  sessions: number;
  /** False for the injected fault: a log that is not synced at each commit. */
  syncsCommits: boolean;
}

/** Runs the service under strace while clients create sessions and pay some, and then kills it. */
export async function recordRun({ sessions, syncsCommits }: RecordOptions): Promise<Recording> {
  const base = mkdtempSync(join(tmpdir(), 'tillway-power-'));
  const folder = mkdtempSync(join(base, 'data-'));
  const trace = join(base, 'trace');
  const port = await freePort();
  const options = ['-f', '--seccomp-bpf', '-y', '-xx', '-s', String(STRING_LIMIT), '-e', 'signal=none', '-o', trace];
  const program = spawn('strace', [...options, '-e', `trace=${TRACED_CALLS}`, process.execPath, SERVER, 'serve'], {
    env: {
      ...process.env,
      ...NO_RATE_LIMITS,
      ...settings(folder),
      PORT: String(port),
      SYNCS_COMMITS: String(syncsCommits),
    },
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  const ended = once(program, 'exit');
  // A write to an exited program fails here; `ended` reports the exit.
  program.stdin.on('error', () => {});
  try {
    const url = `http://127.0.0.1:${port}`;
    await until(async () => program.exitCode !== null || (await httpStatusOf(`${url}/readyz`)) === 200);
    if (program.exitCode !== null) throw new Error('the server exited while starting');
    const answered = await createAndPay(url, sessions);
    program.stdin.end();
    const [code, signal] = await ended;
    if (signal !== 'SIGKILL') throw new Error(`the traced program exited with ${String(code ?? signal)}`);
    const files = readdirSync(folder).map((name) => [name, readFileSync(join(folder, name))] as const);
    return { events: await readTrace(trace, folder), answered, files: new Map(files) };
  } finally {
    program.stdin.end();
    await ended;
    rmSync(base, { recursive: true, force: true });
  }
}

function settings(folder: string): Record<string, string> {
  return {
    DATABASE_URL: `sqlite:${join(folder, 'power.db')}`,
    LOG_LEVEL: 'error',
    // No server listens on this port, so events and their deliveries stay pending.
    WEBHOOK_URL: 'http://127.0.0.1:9/webhooks',
    WEBHOOK_SECRET: `whsec_${Buffer.alloc(32, 7).toString('base64')}`,
  };
}

/** Creates sessions with several clients, and pays some of them; returns the number of responses. */
async function createAndPay(url: string, sessions: number): Promise<number> {
  let answered = 0;
  await inLanes(CLIENTS, Array.from({ length: sessions }).keys(), async (number) => {
    const key = `power-loss-${number}`;
    const { id } = (await post(url + SESSIONS, sessionBody(key))).body;
    answered++;
    if (number % PAID_EVERY !== 0) return;
    await post(url + CALLBACKS, callbackBody(`event-${key}`, id!));
    answered++;
  });
  return answered;
}

async function post(url: string, body: unknown): Promise<Answer> {
  const answer = await ask(url, body);
  if (answer.status !== 200)
    throw new Error(`${url}: ${answer.status} ${answer.reason} ${JSON.stringify(answer.body)}`);
  return answer;
}
