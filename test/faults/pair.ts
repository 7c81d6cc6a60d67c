import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Pool } from 'undici';
import type { DatabaseSettings } from '../../src/store/open.ts';
import { type Program, freePort, startUntilReady } from '../process/program.ts';
import { createTestDatabase } from '../support/database.ts';
import { sharedPostgres } from '../support/postgres.ts';
import { NO_RATE_LIMITS } from '../support/rate-limits.ts';
import { callbackBody } from './requests.ts';

const CONNECTIONS = 64;
// The instances of one service have one public URL.
const BASE_URL = 'http://localhost:3000';

/** A response of the API; `text` is its raw body. */
export interface Answer<Body> {
  status: number;
  text: string;
  body: Body;
}

/** A server process, and requests to it. `await using` kills it. */
export interface Instance extends AsyncDisposable {
  program: Program;
  get<Body>(path: string): Promise<Answer<Body>>;
  post<Body>(path: string, body: unknown): Promise<Answer<Body>>;
  /** Opens all connections, so that requests that are sent together arrive together. */
  warmUp(): Promise<void>;
  /** Sends a signal and waits for the exit. */
  end(signal: NodeJS.Signals): Promise<void>;
}

/** Starts a server file as a process on a free port. */
async function startInstance(entry: URL, variables: Record<string, string>): Promise<Instance> {
  const port = String(await freePort());
  const url = `http://127.0.0.1:${port}`;
  const settings = { BASE_URL, LOG_LEVEL: 'error', ...NO_RATE_LIMITS, ...variables, PORT: port };
  const program = await startUntilReady(entry, settings, url);
  const pool = new Pool(url, { connections: CONNECTIONS, headersTimeout: 20_000 });
  async function request<Body>(method: 'GET' | 'POST', path: string, body?: unknown): Promise<Answer<Body>> {
    const json = body !== undefined && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
    const answer = await pool.request({ method, path, ...json });
    const text = await answer.body.text();
    return { status: answer.statusCode, text, body: JSON.parse(text) as Body };
  }
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    program.signal(signal);
    await program.exited;
    await pool.destroy();
  };
  return {
    program,
    get: (path) => request('GET', path),
    post: (path, body) => request('POST', path, body),
    async warmUp() {
      await Promise.all(Array.from({ length: CONNECTIONS }, () => request('GET', '/healthz')));
    },
    end,
    [Symbol.asyncDispose]: () => end('SIGKILL'),
  };
}

/** A PostgreSQL database and the instances that share it. `await using` stops and removes them. */
export interface SharedDatabase extends AsyncDisposable {
  settings: DatabaseSettings;
  /** Runs SQL and answers the rows. */
  query(sql: string, params?: unknown[]): Promise<Record<string, unknown>[]>;
  start(entry: URL, variables?: Record<string, string>): Promise<Instance>;
}

export async function createSharedDatabase(): Promise<SharedDatabase> {
  await using stack = new AsyncDisposableStack();
  const postgres = await sharedPostgres();
  const database = stack.use(await createTestDatabase('postgres'));
  const name = new URL(database.url).pathname.slice(1);
  const owned = stack.move();
  return {
    settings: database.settings,
    query: (sql, params) => postgres.query(name, sql, params),
    start: async (entry, variables = {}) =>
      owned.use(await startInstance(entry, { DATABASE_URL: database.url, ...variables })),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Response body of `CALLBACKS`. */
export interface Verified {
  result: { merchantWebhookQueued: boolean };
}

/** A provider callback that reports a status of a session, always the same bytes. */
export function sampleCallback(sessionId: string, status: 'paid' | 'failed') {
  return callbackBody(`${sessionId} ${status}`, sessionId, status);
}

/** A webhook attempt that has arrived. */
export interface Attempt {
  eventId: string;
  /** Number of attempts for this event so far, including this one. */
  number: number;
  /** Unix seconds, as signed. */
  signedAt: number;
}

/** A merchant's webhook endpoint. */
export interface Receiver extends AsyncDisposable {
  /** Settings that send webhooks here. */
  variables: Record<string, string>;
  /** Number of received attempts by event. */
  arrived: ReadonlyMap<string, number>;
}

/** Starts an endpoint that responds to each attempt with the status from `answer`. */
export async function startReceiver(answer: (attempt: Attempt) => number | Promise<number>): Promise<Receiver> {
  const arrived = new Map<string, number>();
  const server = createServer((request, response) => {
    const eventId = String(request.headers['x-gateway-event']);
    const number = (arrived.get(eventId) ?? 0) + 1;
    arrived.set(eventId, number);
    const signedAt = Number(/^t=(\d+),/.exec(String(request.headers['x-gateway-signature']))?.[1]);
    const reply = async (): Promise<void> => {
      response.writeHead(await answer({ eventId, number, signedAt })).end();
    };
    request.resume().on('end', () => void reply());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    variables: {
      WEBHOOK_URL: `http://127.0.0.1:${port}/webhooks`,
      WEBHOOK_SECRET: `whsec_${Buffer.alloc(32, 7).toString('base64')}`,
    },
    arrived,
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}
