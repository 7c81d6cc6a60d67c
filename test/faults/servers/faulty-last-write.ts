import type { Change, Store } from '../../../src/store/store.ts';
import { serveOver } from '../server-with.ts';

// The injected fault: what was decided on an old version of a session is written over the new one.
await serveOver((store) => {
  return {
    async commit(changes) {
      const result = await store.commit(changes);
      if (result.done || result.conflict !== 'version') return result;
      return store.commit(await overwriting(store, changes));
    },
  };
});

/** The same changes as if they had been decided on the session as it is now. */
async function overwriting(store: Store, changes: Change[]): Promise<Change[]> {
  const decided = changes.find((change) => change.type === 'session_changed');
  const current = decided && (await store.session(decided.session.id));
  if (!current) return changes;
  const version = current.version + 1;
  return changes.map((change) => {
    switch (change.type) {
      case 'session_changed':
        return { ...change, session: { ...change.session, version } };
      case 'event_recorded':
        return { ...change, event: { ...change.event, sequence: version } };
      case 'delivery_created':
        return { ...change, delivery: { ...change.delivery, sequence: version } };
      default:
        return change;
    }
  });
}
