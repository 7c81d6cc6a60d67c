import type { Deps } from '../operations/deps.ts';
import { runProviderTask } from '../operations/run-provider-task.ts';
import { wakeCheckout } from '../operations/wake-checkout.ts';
import type { DueWake } from '../store/store.ts';
import { traced } from '../telemetry/tracing.ts';
import { type Worker, createWorker, forEachOf } from './worker.ts';

const POLL_MS = 500;
const PAGE = 100;
const WIDTH = 16;
// Longer than the time limit of an inquiry.
const WAKE_LEASE_MS = 30_000;

/** Expiry, payment timeouts, the end of retry windows, and inquiries. */
export function createCheckoutWorker(deps: Deps): Worker {
  async function runOnce(): Promise<number> {
    const due = await deps.store.sessionsToWake(deps.now(), PAGE);
    await forEachOf(due, WIDTH, wake, (error, { sessionId }) =>
      // The next try follows when the claim has expired, so that a checkout that keeps failing does not delay others.
      deps.log.error({ err: error, sessionId }, 'checkout could not be woken'),
    );
    return due.length;
  }

  async function wake(due: DueWake): Promise<void> {
    const until = deps.now() + WAKE_LEASE_MS;
    const claim = await deps.store.commit([{ type: 'wake_claimed', wake: due, until }]);
    if (!claim.done) return;
    const start = { name: 'wakeCheckout', parent: null, attributes: { 'tillway.session.id': due.sessionId } };
    await traced(deps.tracing, start, () => wakeCheckout(deps, due.sessionId));
  }

  return createWorker({ name: 'checkouts', log: deps.log, runOnce, onWake: deps.store.onCommit, pollMs: POLL_MS });
}

/** Sends pending cancellations to their providers. */
export function createTaskWorker(deps: Deps): Worker {
  async function runOnce(): Promise<number> {
    const due = await deps.store.tasksDue(deps.now(), PAGE);
    await forEachOf(
      due,
      WIDTH,
      (task) =>
        traced(deps.tracing, { name: `runProviderTask ${task.kind}`, parent: null }, () => runProviderTask(deps, task)),
      (error, task) => deps.log.error({ err: error, paymentId: task.paymentId }, 'provider task failed'),
    );
    return due.length;
  }

  return createWorker({ name: 'tasks', log: deps.log, runOnce, onWake: deps.store.onCommit, pollMs: POLL_MS });
}
