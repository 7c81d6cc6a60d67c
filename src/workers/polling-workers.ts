import type { Deps } from '../operations/deps.ts';
import { checkGuardrails } from '../operations/experiments/manage-experiments.ts';
import { countSales } from '../operations/count-sales.ts';
import { indexRecords } from '../operations/search-records.ts';
import { placeEvents } from '../operations/read-feed.ts';
import { reportWatched } from '../operations/watch-provider.ts';
import { continueRecovery } from '../operations/redeliver.ts';
import { type Worker, createWorker, forEachOf } from './worker.ts';

// The interval is long, because requests for the feed assign positions too. The worker only keeps the backlog of events small.
const FEED_POLL_MS = 1000;
const RECOVERY_POLL_MS = 1000;
/** Time without progress after which any instance continues a recovery. */
const ABANDONED_AFTER_MS = 3000;
const RECOVERIES = 10;
/** Time slice of a recovery, after which the worker checks for a shutdown, and of each kind of background work. */
const TURN_MS = 500;

// Commits do not wake the routing worker: every payment has several commits, and docs/routing-benchmark/README.md shows that a
// delay of some seconds costs nothing.
const ROUTING_POLL_MS = 1000;
// Losses and charges change over days.
const MONEY_POLL_MS = 5 * 60_000;
const READINESS_POLL_MS = 1000;
const GUARDRAIL_MS = 60_000;
// The interval is long, because reports and searches read the newest rows directly.
const SALES_POLL_MS = 5000;

/** Worker that refreshes the route estimates of this process and evaluates the health of the routes. */
export function createRoutingWorker({ router, log }: Deps): Worker {
  return createWorker({ name: 'routing', log, runOnce: () => router.refresh(), pollMs: ROUTING_POLL_MS });
}

/** Worker that reads the losses and charges of the routes for the router of this process. */
export function createMoneyWorker({ router, log }: Deps): Worker {
  return createWorker({
    name: 'route money',
    log,
    async runOnce() {
      await router.refreshMoney();
      return 0;
    },
    pollMs: MONEY_POLL_MS,
  });
}

/** Worker that ends an experiment whose variant loses more than its guardrail allows. */
export function createExperimentWorker(deps: Deps): Worker {
  return createWorker({
    name: 'experiments',
    log: deps.log,
    runOnce: () => checkGuardrails(deps),
    pollMs: GUARDRAIL_MS,
  });
}

/** Worker that checks each provider when its next check is due. */
export function createReadinessWorker({ readiness, log }: Deps): Worker {
  return createWorker({ name: 'readiness', log, runOnce: () => readiness.checkDue(), pollMs: READINESS_POLL_MS });
}

/** Workers of the providers that observe records of their own, such as the transfers of a chain. */
export function createWatchWorkers(deps: Deps): Worker[] {
  return [...deps.providers.values()].flatMap((provider) => {
    const { id, watch } = provider;
    if (!watch) return [];
    const runOnce = () => reportWatched(deps, provider, watch);
    return [createWorker({ name: `watch ${id}`, log: deps.log, runOnce, pollMs: watch.pollMs })];
  });
}

/** Worker that assigns feed positions to committed events. */
export function createFeedWorker({ store, log }: Deps): Worker {
  return createWorker({ name: 'feed', log, runOnce: () => placeEvents(store), pollMs: FEED_POLL_MS });
}

/** Worker that counts sales, builds the sums of days, and stores the search terms of new records. */
export function createSalesWorker(deps: Deps): Worker {
  return createWorker({
    name: 'sales',
    log: deps.log,
    async runOnce(isStopped, pace) {
      const isOver = (end: number) => () => isStopped() || deps.realNow() > end;
      let done = 0;
      // Alternates, so that many old rows of one kind do not delay the new rows of the other.
      for (let count = 1; count > 0 && !isStopped(); done += count) {
        count = await countSales(deps, isOver(deps.realNow() + TURN_MS), pace);
        count += await indexRecords(deps, isOver(deps.realNow() + TURN_MS), pace);
      }
      return done;
    },
    pollMs: SALES_POLL_MS,
  });
}

/** Worker that continues recoveries of long time ranges, and recoveries whose instance has failed. */
export function createRecoveryWorker(deps: Deps): Worker {
  const { store, log } = deps;
  return createWorker({
    name: 'recoveries',
    log,
    async runOnce(isStopped) {
      const abandoned = await store.recoveriesLeft(deps.now() - ABANDONED_AFTER_MS, RECOVERIES);
      await forEachOf(
        abandoned,
        1,
        async (recovery) => {
          let current = recovery;
          while (current.status === 'running' && !isStopped()) current = await continueRecovery(deps, current, TURN_MS);
        },
        (error, { id: recoveryId }) => log.error({ err: error, recoveryId }, 'recovery could not be continued'),
      );
      return abandoned.length;
    },
    pollMs: RECOVERY_POLL_MS,
  });
}
