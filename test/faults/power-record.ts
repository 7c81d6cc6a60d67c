import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort, statusOf } from '../process/program.ts';
import { NO_RATE_LIMITS } from '../support/rate-limits.ts';
import { inLanes } from './lanes.ts';
import { TRACED, type TraceEvent, readTrace } from './power-trace.ts';
import { type Answer, CALLBACKS, SESSIONS, ask, callbackBody, sessionBody } from './requests.ts';
import { until } from '../support/until.ts';

const CLIENTS = 6;
/** One session of so many is paid as well: that writes three times as much. */
const PAID_EVERY = 3;
const WAVE = 20;
const WORLD = fileURLToPath(new URL('./power-world.ts', import.meta.url));
// The longest string that is printed whole: more than the largest page.
const STRING_LIMIT = 70_000;

/** A run of the service, as it was seen from below and from outside. */
export interface Recording {
  events: TraceEvent[];
  /** Number of responses to creations and payments. */
  answered: number;
  /** The files of the database at the end, as they really are. */
  files: Map<string, Buffer>;
}

/** The reason why this machine cannot record; undefined if it can. */
export function whyNotRecordable(): string | undefined {
  const { error, status } = spawnSync('strace', ['-f', '--seccomp-bpf', '-o', '/dev/null', process.execPath, '-v']);
  if (error) return 'strace is not installed: power loss is not simulated';
  return status === 0 ? undefined : 'strace may not trace here: power loss is not simulated';
}

/** Runs a server file under strace while clients create `sessions` sessions and pay some, and then stops it dead. */
export async function record(entry: URL, sessions: number): Promise<Recording> {
  const base = mkdtempSync(join(tmpdir(), 'tillway-power-'));
  const folder = mkdtempSync(join(base, 'data-'));
  const trace = join(base, 'trace');
  const port = await freePort();
  const options = ['-f', '--seccomp-bpf', '-y', '-xx', '-s', String(STRING_LIMIT), '-e', 'signal=none', '-o', trace];
  const world = spawn('strace', [...options, '-e', `trace=${TRACED}`, process.execPath, WORLD, fileURLToPath(entry)], {
    env: { ...process.env, ...NO_RATE_LIMITS, ...settings(folder), PORT: String(port) },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = once(world, 'exit');
  // If the reader is gone, `ended` reports it.
  world.stdin.on('error', () => {});
  try {
    const url = `http://127.0.0.1:${port}`;
    await until(async () => world.exitCode !== null || (await statusOf(`${url}/readyz`)) === 200);
    if (world.exitCode !== null) throw new Error('the server exited while starting');
    let answered = 0;
    for (let first = 0; first < sessions; first += WAVE) {
      answered += await wave(url, first, Math.min(first + WAVE, sessions));
      // The first wave was written as in a new installation, with nothing checkpointed. From here on that goes on all the
      // time, but a log begins anew only where a checkpoint has caught up with it.
      world.stdin.write('checkpoint\n');
      await Promise.race([once(world.stdout, 'data'), ended]);
      if (world.exitCode !== null) throw new Error('the server ended under load');
    }
    world.stdin.end();
    const [code] = await ended;
    if (code !== 0) throw new Error(`what strace ran ended with ${String(code)}`);
    const files = readdirSync(folder).map((name) => [name, readFileSync(join(folder, name))] as const);
    return { events: await readTrace(trace, folder), answered, files: new Map(files) };
  } finally {
    world.stdin.end();
    await ended;
    rmSync(base, { recursive: true, force: true });
  }
}

function settings(folder: string): Record<string, string> {
  return {
    DATABASE_URL: `sqlite:${join(folder, 'power.db')}`,
    LOG_LEVEL: 'error',
    // Nothing listens there: events and their deliveries stay pending.
    WEBHOOK_URL: 'http://127.0.0.1:9/webhooks',
    WEBHOOK_SECRET: `whsec_${Buffer.alloc(32, 7).toString('base64')}`,
  };
}

/** Creates the sessions from `first` to `end` with several clients; returns the number of responses. */
async function wave(url: string, first: number, end: number): Promise<number> {
  let answered = 0;
  const numbers = Array.from({ length: end - first }, (_, index) => first + index);
  await inLanes(CLIENTS, numbers, async (number) => {
    const responses = await checkOut(url, number);
    answered += responses;
  });
  return answered;
}

/** Creates a session, and pays some of them; returns the number of responses. */
async function checkOut(url: string, number: number): Promise<number> {
  const key = `power-loss-${number}`;
  const { id } = (await post(url + SESSIONS, sessionBody(key))).body;
  if (number % PAID_EVERY !== 0) return 1;
  await post(url + CALLBACKS, callbackBody(`event-${key}`, id!));
  return 2;
}

async function post(url: string, body: unknown): Promise<Answer> {
  const answer = await ask(url, body);
  if (answer.status !== 200)
    throw new Error(`${url}: ${answer.status} ${answer.reason} ${JSON.stringify(answer.body)}`);
  return answer;
}
