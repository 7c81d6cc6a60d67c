import type { Session } from '../../../src/domain/records.ts';
import { serveOver } from '../server-with.ts';

// The injected fault: the same service over a store that keeps idempotency keys in its memory, once a commit is answered.

await serveOver((store) => {
  const sessions = new Map<string, Session>();
  return {
    async commit(changes) {
      const keyless = changes.map((change) =>
        change.type === 'session_created'
          ? { ...change, session: { ...change.session, idempotencyKey: null, requestHash: null } }
          : change,
      );
      const created = changes.flatMap((change) => (change.type === 'session_created' ? [change.session] : []));
      if (created.some(({ idempotencyKey }) => sessions.has(idempotencyKey ?? ''))) {
        return { done: false, conflict: 'session_refused' };
      }
      const result = await store.commit(keyless);
      if (result.done) for (const session of created) sessions.set(session.idempotencyKey ?? '', session);
      return result;
    },
    async sessionByIdempotencyKey(_environment, key) {
      return sessions.get(key);
    },
  };
});
