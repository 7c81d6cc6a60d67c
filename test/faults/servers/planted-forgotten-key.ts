import { openStore } from '../../../src/store/open.ts';
import type { Change } from '../../../src/store/store.ts';
import { serveWith } from '../server-with.ts';

// The planted fault: a session is kept without the idempotency key that it was asked for with.
await serveWith({
  async openStore(database, options) {
    const store = await openStore(database, options);
    return { ...store, commit: (changes) => store.commit(changes.map(withoutKey)) };
  },
});

function withoutKey(change: Change): Change {
  if (change.type !== 'session_created') return change;
  return { ...change, session: { ...change.session, idempotencyKey: null, requestHash: null } };
}
