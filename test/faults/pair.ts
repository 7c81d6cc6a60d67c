import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Pool } from 'undici';
import type { DatabaseSettings } from '../../src/store/open.ts';
import { freePort } from '../process/program.ts';
import { type Child, startChild } from '../support/child.ts';
import { createTestDatabase } from '../support/database.ts';
import { sharedPostgres } from '../support/postgres.ts';
import { callbackBody } from './requests.ts';

const CONNECTIONS = 64;
// Instances that stand for one service go by one name.
const BASE_URL = 'http://localhost:3000';

/** An answer of the API; `text` is its body as it came. */
export interface Answer<Body> {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
  body: Body;
}

/** Requests to one instance, over connections that stay open. */
export interface Client {
  get<Body>(path: string): Promise<Answer<Body>>;
  post<Body>(path: string, body: unknown): Promise<Answer<Body>>;
  /** Opens every connection there may be, so that what is sent together also arrives together. */
  warmUp(): Promise<void>;
  close(): Promise<void>;
}

function createClient(url: string): Client {
  const pool = new Pool(url, { connections: CONNECTIONS, headersTimeout: 20_000 });
  async function request<Body>(method: 'GET' | 'POST', path: string, body?: unknown): Promise<Answer<Body>> {
    const sent =
      body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
    const answer = await pool.request({ method, path, ...sent });
    const text = await answer.body.text();
    return { status: answer.statusCode, headers: answer.headers, text, body: JSON.parse(text) as Body };
  }
  return {
    get: (path) => request('GET', path),
    post: (path, body) => request('POST', path, body),
    async warmUp() {
      await Promise.all(Array.from({ length: CONNECTIONS }, () => request('GET', '/healthz')));
    },
    close: () => pool.destroy(),
  };
}

/** A server process and a client of it. `await using` kills it. */
export interface Instance extends Client, AsyncDisposable {
  process: Child['process'];
  /** Sends a signal and waits for the end. */
  end(signal: NodeJS.Signals): Promise<void>;
}

/** Starts a server file as a process of its own, on a free port. */
export async function startInstance(entry: URL, variables: Record<string, string>): Promise<Instance> {
  const child = await startChild(entry, await freePort(), { BASE_URL, ...variables });
  const client = createClient(child.url);
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    await child.end(signal);
    await client.close();
  };
  return { ...client, process: child.process, end, [Symbol.asyncDispose]: () => end('SIGKILL') };
}

/** A PostgreSQL database and the instances that share it. `await using` ends and removes them all. */
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

/** What `CALLBACKS` answers. */
export interface Verified {
  result: { merchantWebhookQueued: boolean };
}

/** The callback of a provider that says so of a session, always the same. */
export function sampleCallback(sessionId: string, status: 'paid' | 'failed') {
  return callbackBody(`${sessionId} ${status}`, sessionId, status);
}

/** A webhook attempt that has arrived. */
export interface Attempt {
  eventId: string;
  /** How many of this event have arrived, this one included. */
  number: number;
  /** Unix seconds, as signed. */
  signedAt: number;
}

/** A merchant's webhook endpoint. */
export interface Receiver extends AsyncDisposable {
  /** Settings that send webhooks here. */
  variables: Record<string, string>;
  /** How many attempts have arrived, by event. */
  arrived: ReadonlyMap<string, number>;
}

/** Starts one that answers each attempt with the status that `answer` gives, when it gives it. */
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
