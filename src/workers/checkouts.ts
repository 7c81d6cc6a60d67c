import type { Deps } from '../operations/deps.ts';
import { runProviderTask } from '../operations/run-provider-task.ts';
import { wakeCheckout } from '../operations/wake-checkout.ts';
import { type Worker, createWorker, forEachOf } from './worker.ts';

const POLL_MS = 1000;
const PAGE = 100;
const WIDTH = 16;

/** Expiry, payment timeouts, the end of retry windows, and inquiries. */
export function createCheckoutWorker(deps: Deps): Worker {
  const failed = new Map<string, number>();

  async function runOnce(): Promise<number> {
    const due = await deps.store.sessionsToWake(deps.now(), PAGE + failed.size);
    // One that keeps failing must not spin, nor keep the others waiting.
    const ready = due.filter((id) => (failed.get(id) ?? 0) <= deps.now());
    await forEachOf(
      ready,
      WIDTH,
      async (id) => {
        await wakeCheckout(deps, id);
        failed.delete(id);
      },
      (error, id) => {
        failed.set(id, deps.now() + POLL_MS);
        deps.log.error({ err: error, sessionId: id }, 'checkout could not be woken');
      },
    );
    return ready.length;
  }

  return createWorker({ name: 'checkouts', log: deps.log, runOnce, onWake: deps.store.onCommit, pollMs: POLL_MS });
}

/** Cancellations and refunds that providers are still to be asked for. */
export function createTaskWorker(deps: Deps): Worker {
  async function runOnce(): Promise<number> {
    const due = await deps.store.tasksDue(deps.now(), PAGE);
    await forEachOf(
      due,
      WIDTH,
      (task) => runProviderTask(deps, task),
      (error, task) => deps.log.error({ err: error, paymentId: task.paymentId }, 'provider task failed'),
    );
    return due.length;
  }

  return createWorker({ name: 'tasks', log: deps.log, runOnce, onWake: deps.store.onCommit, pollMs: POLL_MS });
}
