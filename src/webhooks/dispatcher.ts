import { setTimeout as sleep } from 'node:timers/promises';
import { GatewayError } from '../domain/errors.ts';
import type { Instant } from '../domain/records.ts';
import type { WebhookEndpoint } from '../domain/webhook-endpoint.ts';
import type { Store } from '../store/store.ts';
import type { Tracing } from '../telemetry/tracing.ts';
import { type Resolve, type WebhookTargets, createResolve } from './address.ts';
import { type DeliveryLimits, createDeliverers } from './deliver.ts';
import { type Lane, type LaneContext, type Log, type SigningSecret, createLane } from './lane.ts';

const POLL_MS = 500;
const ERROR_PAUSE_MS = 1000;
// Looking for work costs about 10 us for each endpoint: this keeps it to a tenth of the time.
const LOOK_PAUSE_MS_PER_ENDPOINT = 0.1;
/** The bound by which nothing is due. */
const NOTHING = -Infinity;
// How long the last outcomes may take to be written, once everything under way has been cut off.
const LAST_COMMITS_MS = 1000;

export interface DispatcherOptions {
  store: Store;
  now: () => Instant;
  /** The time by which receivers go; `now` where it is left out. */
  realNow?: () => Instant;
  /** From 0 up to, not including, 1. */
  random: () => number;
  /** The newest first; several while they are being rotated. Nothing is sent to an endpoint without any. */
  secretsOf: (endpoint: WebhookEndpoint) => Promise<readonly SigningSecret[]>;
  targets: WebhookTargets;
  log: Log;
  /** Undefined where nothing is traced. */
  tracing?: Tracing | undefined;
  /** How host names become addresses; the name servers of this machine where it is left out. */
  resolve?: Resolve;
  limits?: DeliveryLimits;
}

export interface Dispatcher {
  /**
   * Attempts everything that is due now, and what becomes due by that, and waits for it; what becomes due meanwhile is left
   * for the next time where it is paused. Answers the number of attempts, and of times at which they could not be begun.
   * Never rejects: what cannot be read or written is logged, and left for the next time.
   */
  runOnce(): Promise<number>;
  /** Works until `stop`: woken by commits, and looking twice a second for what others left. */
  start(): void;
  /** Begins nothing of itself until `resume`, and waits for what is under way. */
  pause(): Promise<void>;
  resume(): void;
  /** Begins nothing more, and gives the attempts under way `graceMs` to end; then they are cut off, to be repeated. */
  stop(graceMs: number): Promise<void>;
}

/** Delivers events to their endpoints, at least once each, in the order of each session, from the table of deliveries. */
export function createDispatcher(options: DispatcherOptions): Dispatcher {
  const { store, log, realNow = options.now } = options;
  const deliverers = createDeliverers({
    targets: options.targets,
    resolve: options.resolve ?? createResolve(),
    now: realNow,
    ...(options.limits && { limits: options.limits }),
  });
  const lanes = new Map<string, Lane>();
  const works = new Set<Promise<void>>();
  const stopping = new AbortController();
  let cutOff = false;
  let begun = 0;
  /** Nothing is begun that is due later than this. */
  let bound = Infinity;
  let woken = false;
  let onWake: (() => void) | undefined;
  let loop: Promise<void> | undefined;
  let paused = false;
  let looking: Promise<void> | undefined;
  let complaint: string | undefined;

  const context: Omit<LaneContext, 'deliverer'> = {
    store,
    now: options.now,
    realNow,
    random: options.random,
    secretsOf: options.secretsOf,
    log,
    tracing: options.tracing,
    stopping: stopping.signal,
    isCutOff: () => cutOff,
    track,
    countAttempt: () => begun++,
    countFailure: () => begun++,
    dueBy: () => Math.min(options.now(), bound),
  };

  function track(work: Promise<void>): void {
    const tracked = settle(work).finally(() => works.delete(tracked));
    works.add(tracked);
  }

  async function settle(work: Promise<void>): Promise<void> {
    try {
      await work;
    } catch (error) {
      // A defect; what was claimed is taken up again when its lease is over.
      log.error({ err: error }, 'webhook attempt failed unexpectedly');
    }
  }

  async function allWorks(): Promise<void> {
    while (works.size > 0) await Promise.all(works);
  }

  async function look(): Promise<void> {
    try {
      const endpoints = await store.endpoints();
      const known = new Set(endpoints.map(({ id }) => id));
      // Nothing of a deleted one is under way by then.
      for (const id of lanes.keys()) if (!known.has(id)) lanes.delete(id);
      for (const endpoint of endpoints) {
        const lane = lanes.get(endpoint.id);
        if (lane) lane.endpoint = endpoint;
        else lanes.set(endpoint.id, createLane(endpoint, { ...context, deliverer: deliverers[endpoint.environment] }));
      }
      for (const lane of lanes.values()) lane.fill();
      complaint = undefined;
    } catch (error) {
      begun++;
      // Once for as long as the database is away.
      if (complaint !== String(error)) {
        if (error instanceof GatewayError) log.warn({ reason: error.message }, 'webhooks wait for the database');
        else log.error({ err: error }, 'webhook endpoints could not be read');
      }
      complaint = String(error);
      await pause(ERROR_PAUSE_MS);
    }
  }

  async function lookUntilStopped(): Promise<void> {
    while (!stopping.signal.aborted) {
      woken = false;
      if (!paused) await (looking = look());
      await pause(lanes.size * LOOK_PAUSE_MS_PER_ENDPOINT);
      if (!woken && !stopping.signal.aborted) await nextWake();
    }
  }

  function nextWake(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(wake, POLL_MS);
      onWake = () => {
        clearTimeout(timer);
        onWake = undefined;
        resolve();
      };
    });
  }

  function wake(): void {
    woken = true;
    onWake?.();
  }

  async function pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: stopping.signal }).catch(() => undefined);
  }

  return {
    async runOnce() {
      const before = begun;
      if (paused) bound = options.now();
      try {
        await look();
        await allWorks();
      } finally {
        if (paused) bound = NOTHING;
      }
      return begun - before;
    },
    start() {
      if (loop) return;
      store.onCommit(wake);
      loop = lookUntilStopped();
    },
    async pause() {
      paused = true;
      bound = NOTHING;
      await looking;
      await allWorks();
    },
    resume() {
      paused = false;
      bound = Infinity;
      wake();
    },
    async stop(graceMs) {
      stopping.abort();
      wake();
      await loop;
      await atMost(graceMs, allWorks());
      cutOff = true;
      for (const lane of lanes.values()) track(lane.release('not attempted: the service stopped'));
      await deliverers.close();
      await atMost(LAST_COMMITS_MS, allWorks());
    },
  };
}

async function atMost(ms: number, work: Promise<void>): Promise<void> {
  const limit = new AbortController();
  const passed = sleep(ms, undefined, { signal: limit.signal }).catch(() => undefined);
  await Promise.race([work, passed]);
  limit.abort();
}
