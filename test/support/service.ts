import { pino } from 'pino';
import type { OpenApi } from '../../src/contract/openapi-document.ts';
import { readConfig } from '../../src/config.ts';
import { createRandomBytes } from '../../src/runtime.ts';
import { type Service, startService } from '../../src/service.ts';
import { originOfLine } from '../../src/telemetry/log.ts';
import { assertConforms } from './conformance.ts';
import { createServiceDatabase, openPatiently } from './database.ts';
import { NO_RATE_LIMITS } from './rate-limits.ts';

/** A clock that stands still until it is moved. */
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
  clock: TestClock;
  /** The database, which a second start finds again. */
  databaseUrl: string;
  /** Everything that was logged, one JSON line each. */
  logged: string[];
  /** Moves the clock and lets every worker do what has come due. */
  pass(ms: number): Promise<void>;
}

export interface TestServiceOptions {
  variables?: Record<string, string>;
  /** The database's own clock, and workers that run by themselves. */
  live?: boolean;
  /** Whether the workers run by themselves; as `live` says where it is left out. */
  background?: boolean;
  /** Another instance, whose database this one is to share, and with it the time; or whatever else has made one. */
  beside?: Pick<TestService, 'databaseUrl'> & Partial<Pick<TestService, 'clock'>>;
}

/** The whole service over real HTTP and a real database in a folder of its own. `await using` stops and removes it. */
export async function startTestService({
  variables = {},
  live = false,
  background = live,
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
    // Tests of time moved by a day are about other things, but for those that set it.
    SANDBOX_SETTLEMENT_DELAY: '0',
    ...NO_RATE_LIMITS,
    ...variables,
  };
  const service = await startService(readConfig(settings), {
    clock,
    randomBytes: createRandomBytes(),
    log,
    async openStore(settings, options) {
      const store = await openPatiently(settings, options);
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
 * Sends one JSON request; a string or bytes as `body` go out as they are. Every answer of the API is held against the
 * OpenAPI document of the service that gave it.
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

const documents = new Map<string, Promise<OpenApi>>();

function documentOf(origin: string): Promise<OpenApi> {
  let document = documents.get(origin);
  if (!document) {
    document = fetch(`${origin}/openapi.json`).then((response) => response.json() as Promise<OpenApi>);
    documents.set(origin, document);
  }
  return document;
}

/** A minimal valid session request. */
export function sessionBody(overrides: Record<string, unknown> = {}): Record<string, unknown> {
  return { product: 'Field guide', amount: 49.99, customer: 'buyer@example.com', ...overrides };
}
