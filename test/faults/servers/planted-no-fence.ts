import { openStore } from '../../../src/store/open.ts';
import type { Change, CommitResult, Store } from '../../../src/store/store.ts';
import { serveWith } from '../server-with.ts';

// The planted fault: whoever ends an attempt writes its outcome, even if the delivery has been taken over meanwhile.
await serveWith({
  async openStore(database, options) {
    const store = await openStore(database, options);
    return {
      ...store,
      async commit(changes) {
        const result = await store.commit(changes);
        const [change] = changes;
        const overtaken = !result.done && result.conflict === 'overtaken';
        return overtaken && change?.type === 'delivery_finished' ? finishAnyway(store, change) : result;
      },
    };
  },
});

async function finishAnyway(
  store: Store,
  change: Extract<Change, { type: 'delivery_finished' }>,
): Promise<CommitResult> {
  const current = await store.delivery(change.delivery.id);
  if (!current) return { done: false, conflict: 'overtaken' };
  const delivery = { ...change.delivery, attempts: current.attempts };
  return store.commit([
    { type: 'delivery_replayed', delivery: { ...current, status: 'pending' }, from: current.status },
    { ...change, delivery },
  ]);
}
