import type { Deps } from '../operations/deps.ts';
import { placeEvents } from '../operations/read-feed.ts';
import { continueRecovery } from '../operations/redeliver.ts';
import { type Worker, createWorker, forEachOf } from './worker.ts';

// A long interval, because readers of the feed assign positions too; this loop only keeps their backlog small.
const FEED_POLL_MS = 1000;
const RECOVERY_POLL_MS = 1000;
/** After this time without progress, another instance continues a recovery. */
const ABANDONED_AFTER_MS = 3000;
const RECOVERIES = 10;
/** Time slice of a recovery, after which the worker checks for a shutdown. */
const TURN_MS = 500;

// Commits do not wake the routing worker, because every payment has several, and a delay of some seconds has no cost (see
// docs/routing-benchmark/README.md).
const ROUTING_POLL_MS = 1000;
const READINESS_POLL_MS = 1000;

/** Refreshes the route estimates of this process and evaluates route health. */
export function createRoutingWorker({ router, log }: Deps): Worker {
  return createWorker({ name: 'routing', log, runOnce: () => router.refresh(), pollMs: ROUTING_POLL_MS });
}

/** Checks the providers when they are due. */
export function createReadinessWorker({ readiness, log }: Deps): Worker {
  return createWorker({ name: 'readiness', log, runOnce: () => readiness.checkDue(), pollMs: READINESS_POLL_MS });
}

/** Assigns feed positions to committed events. */
export function createFeedWorker({ store, log }: Deps): Worker {
  return createWorker({ name: 'feed', log, runOnce: () => placeEvents(store), pollMs: FEED_POLL_MS });
}

/** Continues recoveries of long ranges, and recoveries of instances that have died. */
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
