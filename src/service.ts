import { readFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Config } from './config.ts';
import { inputReader } from './contract/input-problems.ts';
import { sessionRequestWith } from './contract/session-contract.ts';
import { type RandomBytes, createIdSource } from './domain/id.ts';
import { type AppDeps, createApp } from './http/app.ts';
import { createGate } from './operations/access/key-gate.ts';
import { createCustomerDirectory } from './operations/customer-directory.ts';
import type { Deps } from './operations/deps.ts';
import { openTestClock } from './operations/test-clock.ts';
import { loadRules } from './operations/routing/saved-rules.ts';
import { createRouter } from './operations/routing/router.ts';
import { createReadiness } from './operations/providers/readiness.ts';
import type { ProviderInstance } from './providers/all.ts';
import { createSandboxProvider } from './providers/sandbox.ts';
import { registerConfiguredEndpoint } from './operations/webhook-endpoints/manage-endpoints.ts';
import { checkSecrets } from './operations/webhook-endpoints/endpoint-secrets.ts';
import type { Clock } from './runtime.ts';
import { prepareAccess, warnOfNoKey, warnOfRoutes, warnOfWildcard } from './service/start-checks.ts';
import { hostInUrl, knownHosts, listenAt, reservePort, urlsOf } from './service/addresses.ts';
import { PARTS } from './service/parts.ts';
import { type Telemetry, createTelemetry } from './service/open-telemetry.ts';
import { connectProviders, instancesOf } from './service/connect-providers.ts';
import { webhookDepsOf } from './service/webhook-deps.ts';
import { createDeliveryWorker, runDue, stopAll, workersOf } from './service/service-workers.ts';
import { createSimulatorStore } from './simulator/simulator-store.ts';
import { createSimulator } from './simulator/simulator.ts';
import type { Database } from './store/database.ts';
import type { OpenStore } from './store/open.ts';

const REQUEST_ID_BYTES = 9;
const SECRET_BYTES = 32;
const INSTANCE_ID_BYTES = 8;
// Time limits of a handoff, which are short because the buyer waits for it.
const HANDOFF_LIMITS = { totalMs: 10_000, handoffMs: 5000, againMs: 2500, inquiryMs: 2000, leastMs: 3000 };
// Maximum time that the first check of the providers can delay the start.
const FIRST_CHECK_MS = 2000;

/** Dependencies on the machine and the process. Tests replace them. */
export interface ProcessDeps {
  /** Clock of this machine. The times of stored records come from the clock of the store instead. */
  clock: Clock;
  randomBytes: RandomBytes;
  log: Logger;
  openStore: OpenStore;
  /** Called when the database can no longer be used; the process must then exit. */
  onFatal(error: Error): void;
  /** Providers in addition to the configured providers. */
  providers?: readonly ProviderInstance[];
  /** True if the workers run in the background. Tests run the workers with {@link Service.runDue} instead. */
  background: boolean;
}

/** A running service. */
export interface Service {
  /** URL of the service without a trailing slash. */
  url: string;
  /** URL of the metrics port without a trailing slash; undefined without metrics. */
  metricsUrl: string | undefined;
  deps: Deps;
  /** Runs every worker until no due work is left. */
  runDue(): Promise<void>;
  /** Shuts the service down: it reports "not ready", serves for `delayMs`, then drains. A second call can shorten the delay. */
  stop(delayMs?: number): Promise<void>;
}

/** Starts the service: opens the database, wires the dependencies, listens and starts the workers. */
export async function startService(config: Config, surroundings: ProcessDeps): Promise<Service> {
  const { clock, randomBytes, log } = surroundings;
  await using address = await reservePort(config, randomBytes);
  // Closes the opened resources if the start fails.
  await using begun = new AsyncDisposableStack();
  const localUrl = `http://${hostInUrl(config.host)}:${address.port}`;
  const urls = urlsOf(config, localUrl);
  const random = () => Buffer.from(randomBytes(4)).readUInt32BE() / 2 ** 32;
  const { configured, instances, routes } = instancesOf(config, surroundings.providers);
  const telemetry = await createTelemetry(config, log);
  const opening = { telemetry, random, begun };
  const { store, database, realNow, testClock } = await openDatabase(config, surroundings, opening);
  const webhooks = webhookDepsOf(config, surroundings);
  const now = () => store.now();
  const { simulator, sandbox } = createSandbox(config, surroundings, { database, now, realNow, localUrl, urls });
  const newId = createIdSource(now, randomBytes);
  const instanceId = Buffer.from(randomBytes(INSTANCE_ID_BYTES)).toString('hex');
  let ready = true;
  const readiness = createReadiness({ instances, providers: () => deps.providers, now: realNow, log });
  const others = await connectProviders(configured, { urls, now: realNow, log, database, readiness, telemetry });
  const deps: AppDeps = {
    store,
    caller: undefined,
    directory: createCustomerDirectory(),
    now,
    realNow,
    testClock,
    newId,
    routes,
    providers: new Map([sandbox, ...others].map((provider) => [provider.id, telemetry.provider(provider)])),
    readiness,
    router: createRouter({ store, newId, random, log, seed: instanceId, catalogue: () => deps }),
    handoffLimits: HANDOFF_LIMITS,
    rulesFrom: config.routingRulesFile === undefined ? 'api' : 'file',
    urls,
    ...settingsOf(config),
    webhooks,
    countForeignSignal: telemetry.countForeignSignal,
    log,
    isReady: () => ready,
    demo: config.demo,
    gate: createGate({ store, now, realNow, log }),
    randomBytes,
    newRequestId: createRequestIds(randomBytes),
    limits: config.limits,
    clock,
    tracing: telemetry.tracing,
    requests: telemetry.requests,
    allowedHosts: config.loopbackOnly ? knownHosts(config, localUrl) : undefined,
  };
  await prepare(deps, config);
  const workers = workersOf(deps, simulator.worker, createDeliveryWorker(deps, random));
  const app = await createApp(deps, [...PARTS, simulator.part]);
  const observed = await telemetry.open(deps);
  begun.defer(() => observed.close());
  const isOpen = await deps.gate.isOpen();
  // Listens last, so that the start cannot fail after the service has accepted a request.
  await listenAt(app, address);
  if (isOpen) warnOfNoKey(config, log);
  // The start has succeeded: from now on, `stop` closes the resources.
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
      return (ending ??= stopAll({ app, workers, observed, store }));
    },
  };
}

/** The settings that are dependencies unchanged. */
function settingsOf(config: Config) {
  const { merchantName, reportingZone, searchMetadataKeys, routingMetadataKey } = config;
  const { sessionTtlMs, redirectSchemes, dashboard } = config;
  const isExposed = dashboard.isExposed || config.exposedBy !== undefined;
  return {
    dashboard: dashboard.isEnabled ? { ...dashboard, isExposed } : undefined,
    merchantName,
    reportingZone,
    searchMetadataKeys,
    routingMetadataKey,
    sessionTtlMs,
    redirectSchemes,
    sessionReader: inputReader(sessionRequestWith(redirectSchemes)),
    allowsUnauthenticated: config.allowUnauthenticated,
  };
}

interface SandboxDeps {
  database: Database;
  now(): number;
  realNow(): number;
  localUrl: string;
  urls: { checkout: string };
}

/** Creates the simulated provider and its adapter. Both run in this process, but the adapter calls the provider over HTTP. */
function createSandbox(config: Config, { randomBytes, log }: ProcessDeps, deps: SandboxDeps) {
  const { database, now, realNow, localUrl, urls } = deps;
  const secrets = { apiKey: newSecret(randomBytes), callbackSecret: newSecret(randomBytes) };
  const simulator = createSimulator({
    ...secrets,
    store: createSimulatorStore(database),
    now,
    realNow,
    publicUrl: urls.checkout,
    settlementDelayMs: config.sandboxSettlementDelayMs,
    callbackUrl: `${localUrl}/api/providers/sandbox/callbacks`,
    randomBytes,
    log,
  });
  return { simulator, sandbox: createSandboxProvider({ ...secrets, url: localUrl, now: realNow }) };
}

interface Opening {
  telemetry: Telemetry;
  random: () => number;
  begun: AsyncDisposableStack;
}

/** Opens the database and, if TEST_CLOCK is set, the test clock. */
async function openDatabase(
  { database, testClock: isEnabled }: Config,
  { clock, log, onFatal, openStore }: ProcessDeps,
  { telemetry, random, begun }: Opening,
) {
  const { onBatch } = telemetry;
  const opened = telemetry.store(await openStore(database, { clock, random, log, onFatal, onBatch, serving: true }));
  begun.defer(() => opened.close().catch((err: unknown) => log.warn({ err }, 'the database could not be closed')));
  const realNow = () => opened.now();
  const testClock = await openTestClock(opened, isEnabled);
  if (testClock) {
    // Log lines have real times, so this line states how far the test clock is ahead.
    const aheadSeconds = testClock.record().offsetMs / 1000;
    log.warn({ aheadSeconds }, 'TEST_CLOCK=true: time can be moved forward, and only sandbox payments are accepted');
  }
  const store = { ...opened, now: testClock?.now ?? realNow };
  return { store, database: opened.database, realNow, testClock };
}

/** Creates a source of unique request ids: a random prefix of this process, and a counter. */
function createRequestIds(randomBytes: RandomBytes): () => string {
  const prefix = `req_${Buffer.from(randomBytes(REQUEST_ID_BYTES)).toString('base64url')}_`;
  let count = 0;
  return () => prefix + (count++).toString(36);
}

/** Prepares the service before it listens: stores settings in the database, checks secrets and providers, and loads estimates. */
async function prepare(deps: Deps, config: Config): Promise<void> {
  const { webhook, routingRulesFile: file } = config;
  await prepareAccess(deps, config);
  await registerConfiguredEndpoint(deps, webhook);
  await checkSecrets(deps);
  // The decoder removes a byte order mark.
  if (file !== undefined) await loadRules(deps, file, () => JSON.parse(new TextDecoder().decode(readFileSync(file))));
  warnOfRoutes(deps, config);
  warnOfWildcard(deps, config);
  await Promise.race([deps.readiness.checkDue(), setTimeout(FIRST_CHECK_MS, undefined, { ref: false })]);
  await deps.router.refresh();
}

function newSecret(randomBytes: RandomBytes): string {
  return Buffer.from(randomBytes(SECRET_BYTES)).toString('base64url');
}
