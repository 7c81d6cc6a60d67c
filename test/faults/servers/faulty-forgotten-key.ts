import type { Change } from '../../../src/store/store.ts';
import { serveOver } from '../server-with.ts';

// The injected fault: a session is kept without the idempotency key that it was asked for with.
await serveOver((store) => {
  return { commit: (changes) => store.commit(changes.map(withoutKey)) };
});

function withoutKey(change: Change): Change {
  if (change.type !== 'session_created') return change;
  return { ...change, session: { ...change.session, idempotencyKey: null, requestHash: null } };
}
