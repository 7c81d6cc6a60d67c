import { setTimeout as sleep } from 'node:timers/promises';
import { NO_ORIGIN } from '../telemetry/origin.ts';
import { endsWithin } from '../telemetry/time-limit.ts';
import type { Deliverers } from '../webhooks/deliver.ts';
import { type DeliveryDeps, type Lane, type LaneContext, createLane } from '../webhooks/lane.ts';
import type { Change } from '../store/store.ts';
import { type Loop, type Worker, createWorker, wakeAfter } from './worker.ts';

const POLL_MS = 500;
// Pause after a poll. A poll takes about 10 us per endpoint, so the dispatcher polls at most a tenth of the time.
const LOOK_PAUSE_MS_PER_ENDPOINT = 0.1;
// Time for the last commits of attempt outcomes, after the attempts in progress were aborted.
const LAST_COMMITS_MS = 1000;

export interface DispatcherOptions extends DeliveryDeps {
  /** HTTP clients by environment. `stop` closes them, which aborts their requests. */
  deliverers: Deliverers;
}

/** Worker that sends deliveries. */
export interface Dispatcher extends Worker {
  /** Attempts all due deliveries, and waits for the attempts. Returns the number of attempts, including those that failed to begin. */
  runOnce(): Promise<number>;
  /** Begins no more attempts. Attempts in progress have `graceMs` to end; then they are aborted, and repeated later. */
  stop(graceMs?: number): Promise<void>;
}

const WORK = new Set<Change['type']>([
  'delivery_created',
  'delivery_added',
  'delivery_recovered',
  'delivery_replayed',
  'endpoint_changed',
]);

/** Worker that sends due deliveries to their endpoints: at least once, and the events of a session in order. */
export function createDispatcher(options: DispatcherOptions): Dispatcher {
  const { store, log, deliverers } = options;
  const lanes = new Map<string, Lane>();
  const works = new Set<Promise<void>>();
  const stopping = new AbortController();
  const worker = createWorker({ name: 'deliveries', log, runOnce: look, onCreated, pollMs: POLL_MS });
  let isCutOff = false;
  let isPaused = false;
  /** Latest due time of deliveries that may begin. Limits each `runOnce` of a paused dispatcher. */
  let dueBy = Infinity;
  let counted = 0;

  const context: Omit<LaneContext, 'deliverer'> = {
    ...options,
    stopping: stopping.signal,
    isCutOff: () => isCutOff,
    dueBy: () => Math.min(options.now(), dueBy),
    track,
    count: () => counted++,
  };

  function onCreated(loop: Loop): void {
    store.onCommit((changes, committed) => {
      const left = changes.filter((change) => WORK.has(change.type) && !isTaken(change, changes, loop));
      if (left.length > 0) wakeAfter(loop, committed);
    });
  }

  /** Has the lane of a new delivery claim it in the transaction that stores it. Returns false if it must be found due instead. */
  function isTaken(change: Change, among: readonly Change[], loop: Loop): boolean {
    if (change.type !== 'delivery_created') return false;
    const { delivery } = change;
    const stored = among.find((other) => other.type === 'event_recorded' && other.event.id === delivery.eventId);
    const lane = lanes.get(delivery.endpointId);
    if (stored?.type !== 'event_recorded' || !lane?.canTake()) return false;
    const { body, origin = NO_ORIGIN } = stored.event;
    return loop.begin(async () => {
      // The look reads the endpoint again, which may have changed.
      if (!(await lane.take({ delivery, body, origin }))) loop.wake();
    });
  }

  function track(work: Promise<void>): void {
    // A rejection is a defect. The delivery is attempted again when its lease expires.
    const logged = work.catch((err: unknown) => log.error({ err }, 'webhook attempt failed unexpectedly'));
    const tracked = logged.finally(() => works.delete(tracked));
    works.add(tracked);
  }

  async function allWorks(): Promise<void> {
    while (works.size > 0) await Promise.all(works);
  }

  async function look(): Promise<number> {
    const endpoints = await store.endpoints();
    const known = new Set(endpoints.map(({ id }) => id));
    // Forgets deleted endpoints, which have no attempts in progress.
    for (const id of lanes.keys()) if (!known.has(id)) lanes.delete(id);
    for (const endpoint of endpoints) {
      const lane = lanes.get(endpoint.id);
      if (lane) lane.endpoint = endpoint;
      else lanes.set(endpoint.id, createLane(endpoint, { ...context, deliverer: deliverers[endpoint.environment] }));
    }
    for (const lane of lanes.values()) lane.fill();
    const pauseMs = lanes.size * LOOK_PAUSE_MS_PER_ENDPOINT;
    await sleep(pauseMs, undefined, { signal: stopping.signal }).catch(() => undefined);
    return lanes.size;
  }

  return {
    async runOnce() {
      const before = counted;
      // Leaves deliveries that become due during this call to the next call, so that every call ends.
      if (isPaused) dueBy = options.now();
      await worker.runOnce();
      await allWorks();
      if (isPaused) dueBy = -Infinity;
      return counted - before;
    },
    start: worker.start,
    async pause() {
      isPaused = true;
      dueBy = -Infinity;
      await worker.pause();
      await allWorks();
    },
    resume() {
      isPaused = false;
      dueBy = Infinity;
      worker.resume();
    },
    async stop(graceMs = 0) {
      stopping.abort();
      await worker.stop();
      await endsWithin(graceMs, allWorks());
      isCutOff = true;
      for (const lane of lanes.values()) track(lane.release('not attempted: the service stopped'));
      await deliverers.close();
      await endsWithin(LAST_COMMITS_MS, allWorks());
    },
  };
}
