import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import { checkoutPages } from './checkout/pages.ts';
import type { Config } from './config.ts';
import { type RandomBytes, createIdSource } from './domain/id.ts';
import { agentApi } from './http/agent.ts';
import { type AppDeps, createApp } from './http/app.ts';
import { providerCallbacks } from './http/callbacks.ts';
import { apiReference } from './http/docs.ts';
import { discoveryDocuments } from './http/discovery.ts';
import { gatewayApi } from './http/gateway.ts';
import { healthProbes } from './http/health.ts';
import { homePages } from './http/home.ts';
import { openApiDocument } from './http/openapi.ts';
import { routingApi } from './http/routing.ts';
import { testClockApi } from './http/test-clock.ts';
import { mcpEndpoint } from './mcp/http.ts';
import { createCustomerDirectory } from './operations/customer-directory.ts';
import type { Deps } from './operations/deps.ts';
import { openTestClock } from './operations/test-clock.ts';
import { loadRules } from './operations/routing/rules.ts';
import { createRouter } from './operations/routing/router.ts';
import type { Provider } from './providers/provider.ts';
import { createSandboxProvider } from './providers/sandbox.ts';
import { configuredEndpointId, registerConfiguredEndpoint } from './operations/register-endpoint.ts';
import { parseCatalogue } from './routing/catalogue.ts';
import type { Clock } from './runtime.ts';
import { createSimulator } from './simulator/simulator.ts';
import type { OpenStore } from './store/open.ts';
import type { Store } from './store/store.ts';
import { createDispatcher } from './webhooks/dispatcher.ts';
import { createCheckoutWorker, createTaskWorker } from './workers/checkouts.ts';
import { createRoutingWorker } from './workers/routing.ts';
import { createTestClockWorker } from './workers/test-clock.ts';
import type { Worker } from './workers/worker.ts';

const PARTS = [
  healthProbes,
  homePages,
  gatewayApi,
  routingApi,
  testClockApi,
  agentApi,
  mcpEndpoint,
  openApiDocument,
  discoveryDocuments,
  apiReference,
  providerCallbacks,
  checkoutPages,
];
const REQUEST_ID_BYTES = 9;
const SECRET_BYTES = 32;
const MARK_BYTES = 8;
// A buyer waits meanwhile.
const HANDOFF_LIMITS = { totalMs: 10_000, handoffMs: 5000, againMs: 2500, inquiryMs: 2000, leastMs: 3000 };
// Attempts that take longer are cut off at a stop, and repeated after it.
const DELIVERY_GRACE_MS = 5000;
const DEFAULT_ROUTES_FILE = new URL('../config/routes.json', import.meta.url);

/** What comes from outside the program. */
export interface Surroundings {
  /** This machine's; what happens in the database happens by the store's. */
  clock: Clock;
  randomBytes: RandomBytes;
  log: Logger;
  openStore: OpenStore;
  /** Called where the service can no longer acknowledge anything: the process must end. */
  onFatal(error: Error): void;
  /** Whether the workers run by themselves; a test runs them with {@link Service.runDue}. */
  background: boolean;
}

export interface Service {
  /** Where it listens, as a URL without a trailing slash. */
  url: string;
  deps: Deps;
  /** Lets every worker do what is due now, until nothing is left. */
  runDue(): Promise<void>;
  /**
   * Not ready at once; requests are still taken for `delayMs`; then those under way and the workers' attempts are
   * finished, and the database is closed.
   */
  stop(delayMs?: number): Promise<void>;
}

/** Puts the house together and opens the door. */
export async function startService(config: Config, surroundings: Surroundings): Promise<Service> {
  const { clock, randomBytes, log } = surroundings;
  const port = config.port === 0 ? await freePort(config.host) : config.port;
  const localUrl = `http://${hostInUrl(config.host)}:${port}`;
  const base = config.baseUrl ?? localUrl;
  const random = () => Buffer.from(randomBytes(4)).readUInt32BE() / 2 ** 32;
  const routes = readRoutes(config.routesFile);
  const opened = await surroundings.openStore(config.database, {
    clock,
    random,
    log,
    onFatal: surroundings.onFatal,
  });
  const closing = closeOnFailure(opened);
  const realNow = () => opened.now();
  const testClock = await closing(testClockOf(opened, config, surroundings));
  const store = testClock ? { ...opened, now: testClock.now } : opened;
  const now = () => store.now();
  // The simulated provider lives in the same process, and is spoken to over HTTP as any other.
  const secrets = { apiKey: secret(randomBytes), callbackSecret: secret(randomBytes) };
  const simulator = createSimulator({
    ...secrets,
    store,
    callbackUrl: `${localUrl}/api/providers/sandbox/callbacks`,
    publicUrl: config.checkoutUrl ?? base,
    now,
    realNow,
    randomBytes,
    log,
  });
  const sandbox = createSandboxProvider({ ...secrets, url: localUrl, now: realNow });
  const providers = new Map<string, Provider>([[sandbox.id, sandbox]]);
  const newId = createIdSource(now, randomBytes);
  let ready = true;

  const deps: AppDeps = {
    store,
    directory: createCustomerDirectory(),
    now,
    realNow,
    testClock,
    newId,
    routes,
    providers,
    router: createRouter({ store, newId, random, log, seed: ownMark(randomBytes), catalogue: () => deps }),
    handoffLimits: HANDOFF_LIMITS,
    rulesFrom: config.routingRulesFile === undefined ? 'api' : 'file',
    urls: { base, checkout: config.checkoutUrl ?? base },
    merchantName: config.merchantName,
    sessionTtlMs: config.sessionTtlMs,
    log,
    isReady: () => ready,
    demo: config.demo,
    newRequestId: createRequestIds(randomBytes),
    allowedHosts: config.loopbackOnly ? knownHosts(config, localUrl) : undefined,
  };
  await closing(prepare(deps, config));
  const workers = workersOf(deps, simulator.worker, createDeliveryWorker(deps, config, random));
  const app = await closing(createApp(deps, [...PARTS, simulator.part]));
  await closing(app.listen({ host: config.host, port }));
  if (surroundings.background) for (const worker of workers) worker.start();
  return {
    url: localUrl,
    deps,
    runDue: () => runDue(workers),
    async stop(delayMs = 0) {
      ready = false;
      if (delayMs > 0) await setTimeout(delayMs);
      await stopAll(app, workers, store);
    },
  };
}

/** Where there is one, the log says so: its times are the real ones. */
async function testClockOf(store: Store, config: Config, { randomBytes, log }: Surroundings) {
  const clock = await openTestClock(store, config.testClock, ownMark(randomBytes));
  if (clock) {
    const aheadSeconds = clock.known().offsetMs / 1000;
    log.warn({ aheadSeconds }, 'TEST_CLOCK=true: time can be moved forward here, and sandbox payments only are taken');
  }
  return clock;
}

/** Those that do what has come due, and with a test clock the one that makes it come due. */
function workersOf(deps: Deps, simulator: Worker, deliveries: Worker): Worker[] {
  const { testClock: clock, store, log } = deps;
  const routing = createRoutingWorker(deps);
  const others = [createCheckoutWorker(deps), createTaskWorker(deps), simulator, deliveries];
  const clockWorkers = clock ? [createTestClockWorker({ clock, store, workers: others, routing, log })] : [];
  return [...others, routing, ...clockWorkers];
}

function createDeliveryWorker(deps: Deps, { webhook, webhookTargets }: Config, random: () => number): Worker {
  const configured = webhook && configuredEndpointId(webhook.environment);
  const dispatcher = createDispatcher({
    store: deps.store,
    now: deps.now,
    realNow: deps.realNow,
    random,
    secretsOf: (endpointId) => (webhook && endpointId === configured ? [webhook.secret] : []),
    targets: webhookTargets,
    log: deps.log,
  });
  return { ...dispatcher, stop: () => dispatcher.stop(DELIVERY_GRACE_MS) };
}

/** What no other process has. */
function ownMark(randomBytes: RandomBytes): string {
  return Buffer.from(randomBytes(MARK_BYTES)).toString('hex');
}

/** Ids that no other request of any process has: random once a process, counted after that. */
function createRequestIds(randomBytes: RandomBytes): () => string {
  const prefix = `req_${Buffer.from(randomBytes(REQUEST_ID_BYTES)).toString('base64url')}_`;
  let count = 0;
  return () => prefix + (count++).toString(36);
}

async function runDue(workers: readonly Worker[]): Promise<void> {
  let done;
  do {
    done = 0;
    for (const worker of workers) done += await worker.runOnce();
  } while (done > 0);
}

async function stopAll(app: FastifyInstance, workers: readonly Worker[], store: Store): Promise<void> {
  // The workers' calls to our own simulated provider need the app.
  await Promise.all(workers.map((worker) => worker.stop()));
  await app.close();
  await store.close();
}

/** Passes on what a part of the start comes to; where that fails, there is nothing to leave open. */
function closeOnFailure(store: Store): <Result>(part: Promise<Result>) => Promise<Result> {
  return (part) =>
    part.catch(async (error: unknown) => {
      await store.close();
      throw error;
    });
}

/** What must be in the database, and known, before the door opens. */
async function prepare(deps: Deps, { webhook, routingRulesFile: file }: Config): Promise<void> {
  await registerConfiguredEndpoint(deps, webhook);
  if (file !== undefined) await loadRules(deps, file, () => JSON.parse(readFileSync(file, 'utf8')));
  await deps.router.refresh();
}

function readRoutes(file: string | undefined) {
  const source = file ?? DEFAULT_ROUTES_FILE;
  try {
    return parseCatalogue(JSON.parse(readFileSync(source, 'utf8')));
  } catch (error) {
    throw new Error(`ROUTES_FILE ${String(source)}: ${(error as Error).message}`, { cause: error });
  }
}

function knownHosts(config: Config, localUrl: string): ReadonlySet<string> {
  const urls = [localUrl, config.baseUrl, config.checkoutUrl].filter((url) => url !== undefined);
  return new Set(['localhost', '127.0.0.1', '[::1]', ...urls.map((url) => new URL(url).hostname)]);
}

function hostInUrl(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

function secret(randomBytes: RandomBytes): string {
  return Buffer.from(randomBytes(SECRET_BYTES)).toString('base64url');
}

/** A port that is free now: the service's own URLs must be known before it listens. */
async function freePort(host: string): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, host, resolve));
  const address = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  if (address === null || typeof address === 'string') throw new Error(`no port is free on ${host}`);
  return address.port;
}
