import type { Delivery } from '../../../src/domain/delivery.ts';
import type { Change, CommitResult, Store } from '../../../src/store/store.ts';
import { serveOver } from '../server-with.ts';

// The injected fault: an instance writes the outcome of its attempt although another one has claimed the delivery.
await serveOver((store) => {
  return {
    async commit(changes) {
      const result = await store.commit(changes);
      const [change] = changes;
      const overtaken = !result.done && result.conflict === 'overtaken';
      return overtaken && change?.type === 'delivery_finished' ? finishAnyway(store, change) : result;
    },
  };
});

async function finishAnyway(
  store: Store,
  change: Extract<Change, { type: 'delivery_finished' }>,
): Promise<CommitResult> {
  const current = await store.delivery(change.delivery.id);
  if (!current) return { done: false, conflict: 'overtaken' };
  const pending: Delivery = { ...current, status: 'pending' };
  const attempts = current.attempts + 1;
  return store.commit([
    { type: 'delivery_replayed', delivery: pending, from: current.status },
    { type: 'delivery_claimed', delivery: { ...pending, attempts } },
    {
      type: 'delivery_finished',
      delivery: { ...change.delivery, attempts },
      attempt: { ...change.attempt, number: attempts },
    },
  ]);
}
