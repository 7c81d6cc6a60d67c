import { readFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { FastifyInstance } from 'fastify';
import type { Config } from './config.ts';
import { inputReader } from './contract/problems.ts';
import { sessionRequestWith } from './contract/requests.ts';
import { type RandomBytes, createIdSource } from './domain/id.ts';
import { type AppDeps, createApp } from './http/app.ts';
import { createGate } from './operations/access/gate.ts';
import { createCustomerDirectory } from './operations/customer-directory.ts';
import type { Deps } from './operations/deps.ts';
import { openTestClock } from './operations/test-clock.ts';
import { loadRules } from './operations/routing/rules.ts';
import { createRouter } from './operations/routing/router.ts';
import type { Provider } from './providers/provider.ts';
import { createSandboxProvider } from './providers/sandbox.ts';
import { registerConfiguredEndpoint } from './operations/register-endpoint.ts';
import { checkSecrets } from './operations/webhook-endpoints/check-secrets.ts';
import { parseCatalogue } from './routing/catalogue.ts';
import type { Clock } from './runtime.ts';
import { prepareAccess, warnOfNoKey } from './service/access.ts';
import { type HeldPlace, holdPlace, hostInUrl, knownHosts, listenAt, warnOfNoAddress } from './service/addresses.ts';
import { warnOfFewFiles } from './service/open-files.ts';
import { PARTS } from './service/parts.ts';
import { type OpenTelemetry, type Telemetry, createTelemetry } from './service/telemetry.ts';
import { webhookDepsOf } from './service/webhooks.ts';
import { createDeliveryWorker, runDue, stopAll, workersOf } from './service/workers.ts';
import { createSimulator } from './simulator/simulator.ts';
import type { OpenStore } from './store/open.ts';
import type { Store } from './store/store.ts';

const REQUEST_ID_BYTES = 9;
const SECRET_BYTES = 32;
const MARK_BYTES = 8;
// A buyer waits meanwhile.
const HANDOFF_LIMITS = { totalMs: 10_000, handoffMs: 5000, againMs: 2500, inquiryMs: 2000, leastMs: 3000 };
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
  /** Where its metrics are, likewise; undefined where they are off. */
  metricsUrl: string | undefined;
  deps: Deps;
  /** Lets every worker do what is due now, until nothing is left. */
  runDue(): Promise<void>;
  /**
   * Reports not ready at once and serves for `delayMs` more. Then it rejects new requests, finishes the requests and attempts in
   * progress, and closes all resources. A second call can only shorten the delay.
   */
  stop(delayMs?: number): Promise<void>;
}

/** Puts the house together and opens the door. */
export async function startService(config: Config, surroundings: Surroundings): Promise<Service> {
  const { clock, randomBytes, log, onFatal } = surroundings;
  await using place = await holdPlace(config, randomBytes);
  // Closed again where the start fails.
  await using begun = new AsyncDisposableStack();
  const localUrl = `http://${hostInUrl(config.host)}:${place.port}`;
  const base = config.baseUrl ?? localUrl;
  const random = () => Buffer.from(randomBytes(4)).readUInt32BE() / 2 ** 32;
  const routes = readRoutes(config.routesFile);
  const webhooks = webhookDepsOf(config, surroundings);
  const telemetry = await createTelemetry(config, log);
  const { tracing, requests, onBatch } = telemetry;
  const opened = telemetry.store(
    await surroundings.openStore(config.database, { clock, random, log, onFatal, onBatch, serving: true }),
  );
  begun.defer(() => opened.close().catch((err: unknown) => log.warn({ err }, 'the database could not be closed')));
  const realNow = () => opened.now();
  const testClock = await testClockOf(opened, config, log);
  const store = testClock ? { ...opened, now: testClock.now } : opened;
  const now = () => store.now();
  const simulated = { store, now, realNow, localUrl, publicUrl: config.checkoutUrl ?? base };
  const { simulator, sandbox } = createSandbox(config, surroundings, simulated);
  const providers = new Map<string, Provider>([[sandbox.id, telemetry.provider(sandbox)]]);
  const newId = createIdSource(now, randomBytes);
  let ready = true;

  const deps: AppDeps = {
    store,
    caller: undefined,
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
    ...sessionDepsOf(config),
    webhooks,
    log,
    isReady: () => ready,
    demo: config.demo,
    gate: createGate({ store, now, realNow, log }),
    randomBytes,
    newRequestId: createRequestIds(randomBytes),
    limits: config.limits,
    clock,
    tracing,
    requests,
    allowedHosts: config.loopbackOnly ? knownHosts(config, localUrl) : undefined,
  };
  await prepare(deps, config);
  const workers = workersOf(deps, simulator.worker, createDeliveryWorker(deps, random));
  const app = await createApp(deps, [...PARTS, simulator.part]);
  const observed = await openDoors(app, { place, telemetry, deps, config, begun });
  // From here on, `stop` closes it.
  begun.move();
  if (surroundings.background) for (const worker of workers) worker.start();
  let ending: Promise<void> | undefined;
  return {
    url: localUrl,
    metricsUrl: observed.metricsUrl,
    deps,
    runDue: () => runDue(workers),
    async stop(delayMs = 0) {
      ready = false;
      if (delayMs > 0) await setTimeout(delayMs);
      return (ending ??= stopAll({ app, workers, deliverers: webhooks.deliverers, observed, store }));
    },
  };
}

/** The settings of sessions. */
function sessionDepsOf({ merchantName, sessionTtlMs, redirectSchemes }: Config) {
  const sessionReader = inputReader(sessionRequestWith(redirectSchemes));
  return { merchantName, sessionTtlMs, redirectSchemes, sessionReader };
}

interface Simulated {
  store: Store;
  now(): number;
  realNow(): number;
  localUrl: string;
  publicUrl: string;
}

/** The simulated provider lives in the same process, and is spoken to over HTTP as any other. */
function createSandbox(config: Config, { randomBytes, log }: Surroundings, { localUrl, ...simulated }: Simulated) {
  const secrets = { apiKey: secret(randomBytes), callbackSecret: secret(randomBytes) };
  const simulator = createSimulator({
    ...secrets,
    ...simulated,
    settlementDelayMs: config.sandboxSettlementDelayMs,
    callbackUrl: `${localUrl}/api/providers/sandbox/callbacks`,
    randomBytes,
    log,
  });
  return { simulator, sandbox: createSandboxProvider({ ...secrets, url: localUrl, now: simulated.realNow }) };
}

async function testClockOf(store: Store, { testClock: isEnabled, database }: Config, log: Logger) {
  const clock = await openTestClock(store, { isEnabled, isShared: database.kind === 'postgres' });
  if (clock) {
    // The times in the log are the real ones.
    const aheadSeconds = clock.record().offsetMs / 1000;
    log.warn({ aheadSeconds }, 'TEST_CLOCK=true: time can be moved forward here, and sandbox payments only are taken');
  }
  return clock;
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

/** What must be in the database, and known, before the door opens. */
async function prepare(deps: Deps, config: Config): Promise<void> {
  const { webhook, routingRulesFile: file } = config;
  await prepareAccess(deps, config);
  warnOfNoAddress(config, deps.urls.base, deps.log);
  await registerConfiguredEndpoint(deps, webhook);
  await checkSecrets(deps);
  if (file !== undefined) await loadRules(deps, file, () => JSON.parse(readFileSync(file, 'utf8')));
  await deps.router.refresh();
}

interface Opening {
  place: HeldPlace;
  telemetry: Telemetry;
  deps: AppDeps;
  config: Config;
  begun: AsyncDisposableStack;
}

/** The port of the service last: whoever is let in finds one that cannot fail to start any more. */
async function openDoors(app: FastifyInstance, opening: Opening): Promise<OpenTelemetry> {
  const { place, telemetry, deps, config, begun } = opening;
  warnOfFewFiles(config.limits.maxConnections, deps.log);
  const observed = await telemetry.open(deps);
  begun.defer(() => observed.close());
  const isOpen = await deps.gate.isOpen();
  await listenAt(app, place);
  if (isOpen) warnOfNoKey(config, deps.log);
  return observed;
}

function readRoutes(file: string | undefined) {
  const source = file ?? DEFAULT_ROUTES_FILE;
  try {
    return parseCatalogue(JSON.parse(readFileSync(source, 'utf8')));
  } catch (error) {
    throw new Error(`ROUTES_FILE ${String(source)}: ${(error as Error).message}`, { cause: error });
  }
}

function secret(randomBytes: RandomBytes): string {
  return Buffer.from(randomBytes(SECRET_BYTES)).toString('base64url');
}
