import { setTimeout as sleep } from 'node:timers/promises';
import { GatewayError } from '../domain/gateway-error.ts';
import { endsWithin } from '../telemetry/time-limit.ts';
import { type Resolve, type WebhookTargets, createResolve } from './address.ts';
import { type DeliveryLimits, createDeliverers } from './deliver.ts';
import { type DeliveryDeps, type Lane, type LaneContext, createLane } from './lane.ts';

const POLL_MS = 500;
const ERROR_PAUSE_MS = 1000;
// One poll takes about 10 us per endpoint: this pause limits polling to a tenth of the time.
const LOOK_PAUSE_MS_PER_ENDPOINT = 0.1;
// Time for the last outcomes to be written after the cut-off.
const LAST_COMMITS_MS = 1000;

export interface DispatcherOptions extends DeliveryDeps {
  targets: WebhookTargets;
  /** Name resolution; the name servers of this machine by default. */
  resolve?: Resolve;
  limits?: DeliveryLimits;
}

export interface Dispatcher {
  /**
   * Attempts all due deliveries, and deliveries that thereby become due, and waits for the attempts. Answers the number
   * of attempts and of failures to begin any. Never rejects: failed reads and writes are logged, and repeated by the next
   * run.
   */
  runOnce(): Promise<number>;
  /** Works until `stop`: commits wake it, and it polls twice a second. */
  start(): void;
  /** Stops the loop until `resume` and waits for attempts in progress. `runOnce` works meanwhile. */
  pause(): Promise<void>;
  resume(): void;
  /** Begins no more attempts. Those in progress have `graceMs` to end; then they are cut off, and repeated later. */
  stop(graceMs: number): Promise<void>;
}

/** Delivers events to their endpoints from the table of deliveries, at least once, in the order of each session. */
export function createDispatcher(options: DispatcherOptions): Dispatcher {
  const { store, log, targets, resolve = createResolve(), realNow: now, limits } = options;
  const deliverers = createDeliverers({ targets, resolve, now, ...(limits && { limits }) });
  const lanes = new Map<string, Lane>();
  const works = new Set<Promise<void>>();
  const stopping = new AbortController();
  let isCutOff = false;
  let isPaused = false;
  /** Deliveries that are due later are not begun. Bounds each round of a paused dispatcher. */
  let dueBy = Infinity;
  let counted = 0;
  let woken = false;
  let onWake: (() => void) | undefined;
  let loop: Promise<void> | undefined;
  let looking: Promise<void> | undefined;
  let lastError: string | undefined;

  const context: Omit<LaneContext, 'deliverer'> = {
    ...options,
    stopping: stopping.signal,
    isCutOff: () => isCutOff,
    dueBy: () => Math.min(options.now(), dueBy),
    track,
    count: () => counted++,
  };

  function track(work: Promise<void>): void {
    // A rejection is a defect; another attempt follows when the lease ends.
    const logged = work.catch((err: unknown) => log.error({ err }, 'webhook attempt failed unexpectedly'));
    const tracked = logged.finally(() => works.delete(tracked));
    works.add(tracked);
  }

  async function allWorks(): Promise<void> {
    while (works.size > 0) await Promise.all(works);
  }

  async function look(): Promise<void> {
    try {
      const endpoints = await store.endpoints();
      const known = new Set(endpoints.map(({ id }) => id));
      // A deleted endpoint has no attempts in progress.
      for (const id of lanes.keys()) if (!known.has(id)) lanes.delete(id);
      for (const endpoint of endpoints) {
        const lane = lanes.get(endpoint.id);
        if (lane) lane.endpoint = endpoint;
        else lanes.set(endpoint.id, createLane(endpoint, { ...context, deliverer: deliverers[endpoint.environment] }));
      }
      for (const lane of lanes.values()) lane.fill();
      lastError = undefined;
    } catch (error) {
      counted++;
      // One line for as long as the database is unavailable.
      if (lastError !== String(error)) {
        if (error instanceof GatewayError) log.warn({ reason: error.message }, 'webhooks wait for the database');
        else log.error({ err: error }, 'webhook endpoints could not be read');
      }
      lastError = String(error);
      await rest(ERROR_PAUSE_MS);
    }
  }

  async function lookUntilStopped(): Promise<void> {
    while (!stopping.signal.aborted) {
      woken = false;
      if (!isPaused) await (looking = look());
      await rest(lanes.size * LOOK_PAUSE_MS_PER_ENDPOINT);
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

  async function rest(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: stopping.signal }).catch(() => undefined);
  }

  return {
    async runOnce() {
      const before = counted;
      // Deliveries that fall due during the round are left to the next one, so that every round ends.
      if (isPaused) dueBy = options.now();
      await look();
      await allWorks();
      if (isPaused) dueBy = -Infinity;
      return counted - before;
    },
    start() {
      if (loop) return;
      store.onCommit(wake);
      loop = lookUntilStopped();
    },
    async pause() {
      isPaused = true;
      dueBy = -Infinity;
      await looking;
      await allWorks();
    },
    resume() {
      isPaused = false;
      dueBy = Infinity;
      wake();
    },
    async stop(graceMs) {
      stopping.abort();
      wake();
      await loop;
      await endsWithin(graceMs, allWorks());
      isCutOff = true;
      for (const lane of lanes.values()) track(lane.release('not attempted: the service stopped'));
      await deliverers.close();
      await endsWithin(LAST_COMMITS_MS, allWorks());
    },
  };
}
