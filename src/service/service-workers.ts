import type { FastifyInstance } from 'fastify';
import type { Deps } from '../operations/deps.ts';
import { signingSecrets } from '../operations/webhook-endpoints/endpoint-secrets.ts';
import type { Store } from '../store/store.ts';
import { createDispatcher } from '../workers/dispatcher.ts';
import {
  createFeedWorker,
  createReadinessWorker,
  createRecoveryWorker,
  createRoutingWorker,
} from '../workers/polling-workers.ts';
import { createQueueWorkers } from '../workers/queue-workers.ts';
import { createTestClockWorker } from '../workers/test-clock-worker.ts';
import type { Worker } from '../workers/worker.ts';

// A shutdown aborts attempts that take longer than this. The deliveries are attempted again later.
const DELIVERY_GRACE_MS = 5000;

export function workersOf(deps: Deps, simulator: Worker, deliveries: Worker): Worker[] {
  const { testClock } = deps;
  const routing = createRoutingWorker(deps);
  const workers = [...createQueueWorkers(deps), simulator, deliveries];
  const polling = [createReadinessWorker(deps), createFeedWorker(deps), createRecoveryWorker(deps)];
  const clockWorkers = testClock ? [createTestClockWorker(deps, testClock, { workers, routing })] : [];
  return [...workers, routing, ...polling, ...clockWorkers];
}

export function createDeliveryWorker(deps: Deps, random: () => number): Worker {
  const dispatcher = createDispatcher({
    ...deps,
    random,
    secretsOf: (endpoint) => signingSecrets(deps, endpoint),
    deliverers: deps.webhooks.deliverers,
  });
  return { ...dispatcher, stop: () => dispatcher.stop(DELIVERY_GRACE_MS) };
}

export async function runDue(workers: readonly Worker[]): Promise<void> {
  let done;
  do {
    done = 0;
    for (const worker of workers) done += await worker.runOnce();
  } while (done > 0);
}

interface Stoppable {
  app: FastifyInstance;
  workers: readonly Worker[];
  observed: { close(): Promise<void>; flush(): Promise<void> };
  store: Store;
}

/** Finishes the requests and attempts in progress, then closes the port, the connections and the database. */
export async function stopAll({ app, workers, observed, store }: Stoppable): Promise<void> {
  // The app must stay open until then, because requests and workers call its simulated provider.
  await Promise.all([app.drain(), ...workers.map((worker) => worker.stop())]);
  await app.close();
  await observed.close();
  await store.close();
  await observed.flush();
}
