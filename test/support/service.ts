import { pino } from 'pino';
import type { OpenApi } from '../../src/contract/openapi-document.ts';
import { readConfig } from '../../src/config.ts';
import { createRandomBytes } from '../../src/runtime.ts';
import { type ProcessDeps, type Service, startService } from '../../src/service.ts';
import { type SimulatorStore, createSimulatorStore } from '../../src/simulator/simulator-store.ts';
import { openStore } from '../../src/store/open.ts';
import { originOfLine } from '../../src/telemetry/log.ts';
import { assertConforms } from './conformance.ts';
import { createServiceDatabase } from './database.ts';
import { NO_RATE_LIMITS } from './rate-limits.ts';

/** A clock that moves only by `advance`. */
export interface TestClock {
  now(): number;
  advance(ms: number): void;
}

export function createTestClock(start = Date.parse('2026-03-01T12:00:00.000Z')): TestClock {
  let now = start;
  return {
    now: () => now,
    advance(ms) {
      now += ms;
    },
  };
}

export interface TestService extends AsyncDisposable {
  url: string;
  service: Service;
  /** The records of the simulated provider. */
  simulator: SimulatorStore;
  clock: TestClock;
  /** The database; another service can be started on it. */
  databaseUrl: string;
  /** All log lines, as JSON. */
  logged: string[];
  /** Moves the clock and runs every worker's due work. */
  pass(ms: number): Promise<void>;
}

export interface TestServiceOptions {
  variables?: Record<string, string>;
  /** True for the real clock, and workers that run in the background. */
  live?: boolean;
  /** True for workers that run in the background. Default: `live`. */
  background?: boolean;
  randomBytes?(size: number): Uint8Array;
  /** Providers in addition to the simulated one. */
  providers?: ProcessDeps['providers'];
  /** Another instance whose database and clock the new service shares, or only a database to share. */
  beside?: Pick<TestService, 'databaseUrl'> & Partial<Pick<TestService, 'clock'>>;
}

/** Starts the whole service over real HTTP, on a new database. `await using` stops the service and removes the database. */
export async function startTestService({
  variables = {},
  live = false,
  background = live,
  randomBytes = createRandomBytes(),
  providers = [],
  beside,
}: TestServiceOptions = {}): Promise<TestService> {
  const own = beside
    ? undefined
    : await createServiceDatabase(variables['TEST_CLOCK'] === 'true' ? 'sqlite' : undefined);
  const databaseUrl = beside?.databaseUrl ?? own!.url;
  const clock = live ? { now: () => Date.now(), advance: () => undefined } : (beside?.clock ?? createTestClock());
  const logged: string[] = [];
  const log = pino(
    { level: 'info', base: null, mixin: originOfLine },
    { write: (line: string) => void logged.push(line) },
  );
  const settings = {
    PORT: '0',
    DATABASE_URL: databaseUrl,
    // Only tests of settlement set a delay.
    SANDBOX_SETTLEMENT_DELAY: '0',
    ...NO_RATE_LIMITS,
    ...variables,
  };
  let simulator: SimulatorStore | undefined;
  const service = await startService(readConfig(settings), {
    clock,
    randomBytes,
    providers,
    log,
    async openStore(settings, options) {
      const store = await openStore(settings, options);
      simulator = createSimulatorStore(store.database);
      return live ? store : { ...store, now: clock.now };
    },
    background,
    onFatal(error) {
      throw error;
    },
  });
  return {
    url: service.url,
    service,
    simulator: simulator!,
    clock,
    databaseUrl,
    logged,
    async pass(ms) {
      clock.advance(ms);
      await service.runDue();
    },
    async [Symbol.asyncDispose]() {
      await service.stop();
      await own?.[Symbol.asyncDispose]();
    },
  };
}

export interface Answer<Body = Record<string, unknown>> {
  status: number;
  headers: Headers;
  body: Body;
}

/**
 * Sends one JSON request; a string or bytes as `body` are sent unchanged. Each response of the API must conform to the
 * OpenAPI document.
 */
export async function call<Body = Record<string, never>>(
  method: string,
  url: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answer<Body>> {
  const raw = typeof body === 'string' || body instanceof Uint8Array;
  const response = await fetch(url, {
    method,
    redirect: 'manual',
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    ...(body === undefined ? {} : { body: raw ? (body as string) : JSON.stringify(body) }),
  });
  const answer = JSON.parse(await response.text()) as Body;
  const { origin, pathname } = new URL(url);
  if (/^\/api\/(gateway|agent)\//.test(pathname))
    assertConforms(await documentOf(origin), method, pathname, response.status, answer);
  return { status: response.status, headers: response.headers, body: answer };
}

let document: Promise<OpenApi> | undefined;

/** The OpenAPI document of the first service in this process. Those of other services differ only in the base URL. */
function documentOf(origin: string): Promise<OpenApi> {
  document ??= fetch(`${origin}/openapi.json`).then((response) => response.json() as Promise<OpenApi>);
  return document;
}

/** A minimal valid session request. */
export function sessionBody(overrides: Record<string, unknown> = {}): Record<string, unknown> {
  return { product: 'Field guide', amount: 49.99, customer: 'buyer@example.com', ...overrides };
}
