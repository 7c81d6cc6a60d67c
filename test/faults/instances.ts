import { Pool } from 'undici';
import type { DatabaseSettings } from '../../src/store/open.ts';
import { type Program, SERVICE_FILE, freePort, startUntilReady } from '../process/program.ts';
import { createServiceDatabase, settingsOf } from '../support/database.ts';
import { sharedPostgres } from '../support/postgres.ts';
import { startServer } from '../support/http-server.ts';
import { NO_RATE_LIMITS } from '../support/rate-limits.ts';
import type { FaultName } from './faulty-server.ts';
import { callbackBody } from './requests.ts';

const CONNECTIONS = 64;
const LAST_OUTPUT_LENGTH = 1000;
// The instances of one service have one public URL.
const BASE_URL = 'http://localhost:3000';
const FAULTY_SERVER = new URL('./faulty-server.ts', import.meta.url);

/** A response of the API; `text` is its raw body. */
export interface ApiAnswer<Body> {
  status: number;
  text: string;
  body: Body;
}

/** A process of the service, which has the same port after each restart. */
export interface Instance {
  url: string;
  /** False from the moment before the process is killed until it is ready again. */
  isUp(): boolean;
  /** Number of times that the process was killed. */
  deaths(): number;
  /** The last part of the output of the process. */
  lastOutput(): string;
  start(): Promise<void>;
  signal(signal: NodeJS.Signals): void;
  kill(): Promise<void>;
  get<Body>(path: string): Promise<ApiAnswer<Body>>;
  post<Body>(path: string, body: unknown): Promise<ApiAnswer<Body>>;
  /** Opens all connections of the client, so that later concurrent requests arrive at the same time. */
  warmUp(): Promise<void>;
}

async function createInstance(fault: FaultName | undefined, variables: Record<string, string>): Promise<Instance> {
  const port = String(await freePort());
  const url = `http://127.0.0.1:${port}`;
  const settings = { BASE_URL, LOG_LEVEL: 'error', ...NO_RATE_LIMITS, ...variables, PORT: port };
  let starting: Promise<Program> | undefined;
  let program: Program | undefined;
  let pool: Pool | undefined;
  let up = false;
  let deaths = 0;

  async function request<Body>(method: 'GET' | 'POST', path: string, body?: unknown): Promise<ApiAnswer<Body>> {
    pool ??= new Pool(url, { connections: CONNECTIONS, headersTimeout: 20_000 });
    const json = body !== undefined && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
    const answer = await pool.request({ method, path, ...json });
    const text = await answer.body.text();
    return { status: answer.statusCode, text, body: JSON.parse(text) as Body };
  }

  return {
    url,
    isUp: () => up,
    deaths: () => deaths,
    lastOutput: () => `${program?.stdout()}${program?.stderr()}`.slice(-LAST_OUTPUT_LENGTH),
    async start() {
      starting =
        fault === undefined
          ? startUntilReady(SERVICE_FILE, settings, url)
          : startUntilReady(FAULTY_SERVER, { ...settings, INJECTED_FAULT: fault }, url);
      program = await starting;
      up = true;
    },
    signal: (signal) => program?.signal(signal),
    async kill() {
      up = false;
      deaths++;
      // If the instance is still starting, the kill waits for it, so that no process remains.
      const started = await starting?.catch(() => undefined);
      up = false;
      started?.signal('SIGKILL');
      await started?.exited;
      await pool?.destroy();
      pool = undefined;
    },
    get: (path) => request('GET', path),
    post: (path, body) => request('POST', path, body),
    async warmUp() {
      await Promise.all(Array.from({ length: CONNECTIONS }, () => request('GET', '/healthz')));
    },
  };
}

/** Instances of the service that share one database, and the merchant that receives their events. */
export interface InstanceRig extends AsyncDisposable {
  settings: DatabaseSettings;
  instances: readonly Instance[];
  /** Number of attempts that the merchant has received, by event id. */
  events: ReadonlyMap<string, number>;
  /** Starts another instance whose clock is two minutes ahead, so that the leases of killed instances have expired. */
  startLater(): Promise<Instance>;
}

/**
 * Starts the instances and waits until all are ready. `ways` lists the `DATABASE_URL` of each instance: the URL of the
 * database or of a proxy in front of it. `await using` kills the instances.
 */
export async function startRig(databaseUrl: string, ways: readonly string[], fault?: FaultName): Promise<InstanceRig> {
  await using stack = new AsyncDisposableStack();
  const merchant = stack.use(await startReceiver(() => 200));
  const prepare = async (name: FaultName | undefined, way: string): Promise<Instance> =>
    stack.adopt(await createInstance(name, { ...merchant.variables, DATABASE_URL: way }), (instance) =>
      instance.kill(),
    );
  const instances = await Promise.all(ways.map((way) => prepare(fault, way)));
  await Promise.all(instances.map((instance) => instance.start()));
  const later = await prepare('later', databaseUrl);
  const owned = stack.move();
  return {
    settings: settingsOf(databaseUrl),
    instances,
    events: merchant.arrived,
    async startLater() {
      await later.start();
      return later;
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** The URL of a database with the port of a proxy on this machine. */
export function urlThroughProxy(proxyPort: number, databaseUrl: string): string {
  return Object.assign(new URL(databaseUrl), { port: String(proxyPort) }).href;
}

/** A PostgreSQL database and the instances that share it. `await using` kills the instances and removes the database. */
export interface SharedDatabase extends AsyncDisposable {
  /** Value of `DATABASE_URL`. */
  url: string;
  settings: DatabaseSettings;
  /** Runs SQL and returns the rows. */
  query(sql: string, params?: unknown[]): Promise<Record<string, unknown>[]>;
  start(fault?: FaultName, variables?: Record<string, string>): Promise<Instance>;
}

export async function createSharedDatabase(): Promise<SharedDatabase> {
  await using stack = new AsyncDisposableStack();
  const postgres = await sharedPostgres();
  const database = stack.use(await createServiceDatabase('postgres'));
  const name = new URL(database.url).pathname.slice(1);
  const owned = stack.move();
  return {
    url: database.url,
    settings: database.settings,
    query: (sql, params) => postgres.query(name, sql, params),
    async start(fault, variables) {
      const instance = await createInstance(fault, { DATABASE_URL: database.url, ...variables });
      owned.defer(() => instance.kill());
      await instance.start();
      return instance;
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Response body of the callback endpoint. */
export interface CallbackResult {
  result: { merchantWebhookQueued: boolean };
}

/** A provider callback that reports a status of a session. Its payload is the same in every call. */
export function sampleCallback(sessionId: string, status: 'paid' | 'failed') {
  return callbackBody(`${sessionId} ${status}`, sessionId, status);
}

/** A webhook attempt that has arrived. */
export interface WebhookAttempt {
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
export async function startReceiver(answer: (attempt: WebhookAttempt) => number | Promise<number>): Promise<Receiver> {
  const arrived = new Map<string, number>();
  const server = await startServer(async (request, response) => {
    const eventId = String(request.headers['x-gateway-event']);
    const number = (arrived.get(eventId) ?? 0) + 1;
    arrived.set(eventId, number);
    const signedAt = Number(/^t=(\d+),/.exec(String(request.headers['x-gateway-signature']))?.[1]);
    request.resume();
    response.writeHead(await answer({ eventId, number, signedAt })).end();
  });
  return {
    ...server,
    variables: {
      WEBHOOK_URL: `${server.url}/webhooks`,
      WEBHOOK_SECRET: `whsec_${Buffer.alloc(32, 7).toString('base64')}`,
    },
    arrived,
  };
}
