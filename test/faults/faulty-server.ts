import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { readConfig } from '../../src/config.ts';
import type { Delivery } from '../../src/domain/delivery.ts';
import { GatewayError } from '../../src/domain/gateway-error.ts';
import type { Session } from '../../src/domain/records.ts';
import { createRandomBytes, systemClock } from '../../src/runtime.ts';
import { startService } from '../../src/service.ts';
import { openStore } from '../../src/store/open.ts';
import type { Change, CommitResult, Store } from '../../src/store/store.ts';

// Runs the service with an injected fault. The variable INJECTED_FAULT selects the replaced methods of the store.

type Fault = (store: Store) => Partial<Store>;

const COMMIT_DELAY_MS = 100;
const OUTCOME_DELAY_MS = 30;
const RETRY_MS = 100;
const LATER_MS = 120_000;

const FAULTS = {
  'early-answer': answerEarly,
  /** Sessions are stored without their idempotency key. */
  'forgotten-key': (store) => ({ commit: (changes) => store.commit(changes.map(withoutKey)) }),
  'key-in-memory': keepKeysInMemory,
  /** A change that was decided on an old version of a session overwrites the new version. */
  'last-write': (store) => ({
    async commit(changes) {
      const result = await store.commit(changes);
      if (result.done || result.conflict !== 'version') return result;
      return store.commit(await onCurrentVersion(store, changes));
    },
  }),
  /** The clock of the machine replaces the clock of the database. */
  'local-time': () => ({ now: () => Date.now() }),
  /** An instance writes the outcome of its attempt although another instance has claimed the delivery. */
  'no-fence': (store) => ({
    async commit(changes) {
      const result = await store.commit(changes);
      const [change] = changes;
      const overtaken = !result.done && result.conflict === 'overtaken';
      return overtaken && change?.type === 'delivery_finished' ? finishAnyway(store, change) : result;
    },
  }),
  /** A separate, later transaction records the outcome of a payment for its route. */
  'outcome-apart': (store) => ({
    async commit(changes) {
      const outcomes = changes.filter(({ type }) => type === 'outcome_recorded');
      const result = await store.commit(changes.filter((change) => !outcomes.includes(change)));
      if (result.done && outcomes.length > 0) {
        await sleep(OUTCOME_DELAY_MS);
        await store.commit(outcomes);
      }
      return result;
    },
  }),
  /** Requests wait without a limit until the database is available again. */
  patient: (store) => ({
    commit: (changes) => patiently(() => store.commit(changes)),
    session: (id) => patiently(() => store.session(id)),
    ping: () => patiently(() => store.ping()),
  }),
  /** Not a fault: a clock two minutes ahead, so that the leases of killed instances have expired. */
  later: (store) => ({ now: () => store.now() + LATER_MS }),
} satisfies Record<string, Fault>;

export type FaultName = keyof typeof FAULTS;

/** The store responds before it commits. It waits for its own commits before it reads, so only a crash reveals the fault. */
function answerEarly(store: Store): Partial<Store> {
  const pending = new Set<Promise<unknown>>();
  const settled = () => Promise.all(pending);
  const isKnown = async ({ environment, idempotencyKey }: Session): Promise<boolean> => {
    await settled();
    return idempotencyKey !== null && (await store.sessionByIdempotencyKey(environment, idempotencyKey)) !== undefined;
  };
  return {
    async commit(changes) {
      for (const session of createdSessions(changes)) {
        if (await isKnown(session)) return { done: false, conflict: 'session_refused' };
      }
      // The delay leaves time for a kill between the response and the commit.
      const committed = sleep(COMMIT_DELAY_MS)
        .then(() => store.commit(changes))
        .catch(() => undefined)
        .finally(() => pending.delete(committed));
      pending.add(committed);
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
}

/** The store keeps idempotency keys only in memory. It records a key after the response to the commit. */
function keepKeysInMemory(store: Store): Partial<Store> {
  const sessions = new Map<string, Session>();
  return {
    async commit(changes) {
      const created = createdSessions(changes);
      if (created.some(({ idempotencyKey }) => sessions.has(idempotencyKey ?? ''))) {
        return { done: false, conflict: 'session_refused' };
      }
      const result = await store.commit(changes.map(withoutKey));
      if (result.done) for (const session of created) sessions.set(session.idempotencyKey ?? '', session);
      return result;
    },
    async sessionByIdempotencyKey(_environment, key) {
      return sessions.get(key);
    },
  };
}

function createdSessions(changes: Change[]): Session[] {
  return changes.flatMap((change) => (change.type === 'session_created' ? [change.session] : []));
}

function withoutKey(change: Change): Change {
  if (change.type !== 'session_created') return change;
  return { ...change, session: { ...change.session, idempotencyKey: null, requestHash: null } };
}

/** Rewrites changes as if the operation had decided them on the current version of the session. */
async function onCurrentVersion(store: Store, changes: Change[]): Promise<Change[]> {
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

async function finishAnyway(
  store: Store,
  { delivery, attempt }: Extract<Change, { type: 'delivery_finished' }>,
): Promise<CommitResult> {
  const current = await store.delivery(delivery.id);
  if (!current) return { done: false, conflict: 'overtaken' };
  const pending: Delivery = { ...current, status: 'pending' };
  const attempts = current.attempts + 1;
  return store.commit([
    { type: 'delivery_replayed', delivery: pending, from: current.status },
    { type: 'delivery_claimed', delivery: { ...pending, attempts } },
    { type: 'delivery_finished', delivery: { ...delivery, attempts }, attempt: { ...attempt, number: attempts } },
  ]);
}

async function patiently<Result>(attempt: () => Promise<Result>): Promise<Result> {
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof GatewayError) || error.code !== 'unavailable') throw error;
      await sleep(RETRY_MS);
    }
  }
}

const fault: Fault = FAULTS[process.env['INJECTED_FAULT'] as FaultName];
await startService(readConfig(process.env), {
  clock: systemClock,
  randomBytes: createRandomBytes(),
  log: pino({ level: 'silent' }),
  background: true,
  onFatal: () => process.exit(1),
  async openStore(settings, options) {
    const store = await openStore(settings, options);
    return { ...store, ...fault(store) };
  },
});
