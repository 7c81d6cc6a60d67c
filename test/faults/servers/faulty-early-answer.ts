import { setTimeout as sleep } from 'node:timers/promises';
import type { Session } from '../../../src/domain/records.ts';
import { serveOver } from '../server-with.ts';

// The injected fault: the same service over a store that answers first and commits afterwards. It waits for its own
// commits before it reads, so that nothing shows as long as nothing breaks.
// A kill right after the answer must come before the commit.
const LATE_MS = 100;

await serveOver((store) => {
  const underWay = new Set<Promise<unknown>>();
  const settled = () => Promise.all(underWay);
  const isKnown = async ({ environment, idempotencyKey }: Session): Promise<boolean> => {
    await settled();
    return idempotencyKey !== null && (await store.sessionByIdempotencyKey(environment, idempotencyKey)) !== undefined;
  };
  return {
    async commit(changes) {
      for (const change of changes) {
        if (change.type === 'session_created' && (await isKnown(change.session))) {
          return { done: false, conflict: 'session_refused' };
        }
      }
      const committed = sleep(LATE_MS)
        .then(() => store.commit(changes))
        .catch(() => undefined)
        .finally(() => underWay.delete(committed));
      underWay.add(committed);
      return { done: true };
    },
    async session(id) {
      await settled();
      return store.session(id);
    },
    async checkout(sessionId) {
      await settled();
      return store.checkout(sessionId);
    },
  };
});
