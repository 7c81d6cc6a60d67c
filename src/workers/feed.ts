import type { Deps } from '../operations/deps.ts';
import { placeEvents } from '../operations/read-feed.ts';
import { carryOn } from '../operations/recover-deliveries.ts';
import { type Worker, createWorker, forEachOf } from './worker.ts';

// Whoever reads the feed gives positions too: this only keeps down what is left to them.
const FEED_POLL_MS = 1000;
const RECOVERY_POLL_MS = 1000;
/** A recovery that nobody has carried further for so long is left to whoever looks. */
const ABANDONED_AFTER_MS = 3000;
const RECOVERIES = 10;
/** How long one is carried on before it is asked whether this process stops. */
const TURN_MS = 500;

/** Gives committed events their positions in the feed. */
export function createFeedWorker({ store, log }: Deps): Worker {
  return createWorker({
    name: 'feed',
    log,
    runOnce: () => placeEvents(store),
    // A commit is no reason to write another one at once: many events share a round.
    onWake: () => undefined,
    pollMs: FEED_POLL_MS,
  });
}

/** Carries on the recoveries of long ranges, and of instances that have died. */
export function createRecoveryWorker(deps: Deps): Worker {
  const { store, log } = deps;
  let stopping = false;

  async function runOnce(): Promise<number> {
    const left = await store.recoveriesLeft(deps.now() - ABANDONED_AFTER_MS, RECOVERIES);
    await forEachOf(
      left,
      1,
      async (recovery) => {
        let current = recovery;
        while (current.status === 'running' && !stopping) current = await carryOn(deps, current, TURN_MS);
      },
      (error, { id: recoveryId }) => log.error({ err: error, recoveryId }, 'recovery could not be carried on'),
    );
    return left.length;
  }

  const worker = createWorker({ name: 'recoveries', log, runOnce, onWake: () => undefined, pollMs: RECOVERY_POLL_MS });
  return {
    ...worker,
    async stop() {
      stopping = true;
      await worker.stop();
    },
  };
}
