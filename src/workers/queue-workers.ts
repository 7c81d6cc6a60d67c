import type { Deps } from '../operations/deps.ts';
import { answerHint } from '../operations/provider-hints.ts';
import { requestProviderRefund } from '../operations/refunds/apply-refund-report.ts';
import { runProviderTask } from '../operations/run-provider-task.ts';
import { wakeCheckout } from '../operations/wake-checkout.ts';
import type { Change } from '../store/store.ts';
import type { QueuedHint } from '../store/tables/provider-tables.ts';
import type { DueWake } from '../store/tables/sessions-table.ts';
import { traced } from '../telemetry/tracing.ts';
import { type Worker, afterCommits, createWorker, forEachOf } from './worker.ts';

const POLL_MS = 500;
const PAGE = 100;
const WIDTH = 16;
// Lease of a woken session. Must be longer than the time limit of an inquiry.
const WAKE_LEASE_MS = 30_000;

interface Queue<Item> {
  name: string;
  /** True if a committed change can make an item due at once. */
  isWork(change: Change): boolean;
  /** Reads due items, oldest due time first. */
  due(now: number, limit: number): Promise<readonly Item[]>;
  handle(item: Item): Promise<void>;
  /** Message and fields of the log line for a failure. The item is handled again when its lease expires. */
  failure(item: Item): [message: string, fields: object];
}

/** Creates the workers of the tables with due times: sessions, provider tasks, refunds and hints. */
export function createQueueWorkers(deps: Deps): Worker[] {
  const { store, tracing } = deps;

  /** Claims a session with a due wake time, and applies its expiry, payment timeout, end of the retry window, or inquiry. */
  async function wake(due: DueWake): Promise<void> {
    const claim = await store.commit([{ type: 'wake_claimed', wake: due, until: deps.now() + WAKE_LEASE_MS }]);
    if (!claim.done) return;
    const start = { name: 'wakeCheckout', parent: null, attributes: { 'tillway.session.id': due.sessionId } };
    await traced(tracing, start, () => wakeCheckout(deps, due.sessionId));
  }

  const asksProviders = [...deps.providers.values()].some(({ query }) => query !== undefined);
  return [
    queueWorker(deps, {
      name: 'checkouts',
      isWork: (change) => change.type === 'session_changed' && (change.session.wakeAt ?? Infinity) <= deps.now(),
      due: (now, limit) => store.sessionsToWake(now, limit),
      handle: wake,
      failure: ({ sessionId }) => ['checkout could not be woken', { sessionId }],
    }),
    queueWorker(deps, {
      name: 'tasks',
      isWork: ({ type }) => type === 'task_queued' || type === 'task_finished',
      due: (now, limit) => store.tasksDue(now, limit),
      handle: (task) =>
        traced(tracing, { name: `runProviderTask ${task.kind}`, parent: null }, () => runProviderTask(deps, task)),
      failure: ({ paymentId }) => ['provider task failed', { paymentId }],
    }),
    queueWorker(deps, {
      name: 'refunds',
      isWork: ({ type }) => type === 'refund_created' || type === 'refund_postponed',
      due: (now, limit) => store.refundsDue(now, limit),
      handle: (refund) => requestProviderRefund(deps, refund),
      failure: ({ refund }) => ['refund request failed', { refundId: refund.id }],
    }),
    ...(asksProviders ? [inboxWorker(deps)] : []),
  ];
}

/** Creates the worker that asks providers about the hints in their callbacks. */
function inboxWorker(deps: Deps): Worker {
  return queueWorker(deps, {
    name: 'inbox',
    isWork: ({ type }) => type === 'hint_queued' || type === 'hint_renewed',
    due: async (now, limit) => onePerObject(await deps.store.hintsDue(now, limit)),
    handle: (hint) =>
      traced(deps.tracing, { name: `answerHint ${hint.about}`, parent: null }, () => answerHint(deps, hint)),
    failure: ({ eventId }) => ['hint could not be answered', { eventId }],
  });
}

/** The oldest due hint about each object. The answer to one hint also finishes the other hints about the object. */
function onePerObject(hints: readonly QueuedHint[]): QueuedHint[] {
  const keyOf = ({ provider, environment, about, objectId }: QueuedHint) =>
    JSON.stringify([provider, environment, about, objectId]);
  return [...new Map(hints.toReversed().map((hint) => [keyOf(hint), hint])).values()];
}

function queueWorker<Item>({ store, log, now }: Deps, { name, isWork, due, handle, failure }: Queue<Item>): Worker {
  async function runOnce(): Promise<number> {
    const items = await due(now(), PAGE);
    await forEachOf(items, WIDTH, handle, (err, item) => {
      const [message, fields] = failure(item);
      log.error({ err, ...fields }, message);
    });
    return items.length;
  }
  return createWorker({ name, log, runOnce, onCreated: afterCommits(store, isWork), pollMs: POLL_MS });
}
