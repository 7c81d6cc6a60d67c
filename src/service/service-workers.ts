import type { FastifyInstance } from 'fastify';
import type { Deps } from '../operations/deps.ts';
import { signingSecrets } from '../operations/webhook-endpoints/endpoint-secrets.ts';
import type { Store } from '../store/store.ts';
import { createDispatcher } from '../workers/dispatcher.ts';
import {
  createExperimentWorker,
  createFeedWorker,
  createMoneyWorker,
  createReadinessWorker,
  createRecoveryWorker,
  createRoutingWorker,
  createSalesWorker,
  createWatchWorkers,
} from '../workers/polling-workers.ts';
import { createQueueWorkers } from '../workers/queue-workers.ts';
import { createTestClockWorker } from '../workers/test-clock-worker.ts';
import type { Worker } from '../workers/worker.ts';

// Time that attempts in progress have at a shutdown before they are aborted. Aborted deliveries are attempted again later.
const DELIVERY_GRACE_MS = 5000;

/** All workers of a service. */
export function workersOf(deps: Deps, simulator: Worker, deliveries: Worker): Worker[] {
  const { testClock } = deps;
  const routing = createRoutingWorker(deps);
  const workers = [...createQueueWorkers(deps), simulator, deliveries];
  return [
    // The records that a provider watches have real times, so the test clock does not move these workers.
    ...createWatchWorkers(deps),
    ...workers,
    routing,
    createMoneyWorker(deps),
    createSalesWorker(deps),
    createReadinessWorker(deps),
    createFeedWorker(deps),
    createRecoveryWorker(deps),
    createExperimentWorker(deps),
    ...(testClock ? [createTestClockWorker(deps, testClock, { workers, routing })] : []),
  ];
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

/** Runs all workers until no due work is left. */
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

/** Drains requests and workers, then closes the app, the metrics port and the database. */
export async function stopAll({ app, workers, observed, store }: Stoppable): Promise<void> {
  // Drains before the app closes, because requests and workers in progress call the simulated provider of the app.
  await Promise.all([app.drain(), ...workers.map((worker) => worker.stop())]);
  await app.close();
  await observed.close();
  await store.close();
  await observed.flush();
}
