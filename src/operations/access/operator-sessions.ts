import type { ApiKey } from '../../domain/api-key.ts';
import type { RandomBytes } from '../../domain/id.ts';
import { type Operator, hashOfSecret, isSessionOver, newSecret } from '../../domain/operator.ts';
import type { Change } from '../../store/store.ts';
import type { OperatorSession } from '../../store/tables/operators-table.ts';
import type { Deps } from '../deps.ts';
import { USE_NOTED_MS, isOver } from './key-gate.ts';

const MOST_CACHED = 1000;

/** A login that has not ended, with its operator or its API key. */
export interface Login {
  session: OperatorSession;
  operator: Operator | undefined;
  key: ApiKey | undefined;
}

/** Finds logins by the token of the cookie. */
export interface Logins {
  /** Undefined for an unknown or ended login. `isActive`: true if a person caused the request, not a script that keeps a page current. */
  find(token: string, isActive: boolean): Promise<Login | undefined>;
  /** Clears the cache after a change of this instance. Other instances know within a second. */
  forget(): void;
}

export function createLogins({ store, realNow, log }: Pick<Deps, 'store' | 'realNow' | 'log'>): Logins {
  let cached = new Map<string, { login: Login; at: number }>();

  async function read(id: string): Promise<Login | undefined> {
    const at = realNow();
    const known = cached.get(id);
    if (known && !isOver(known.at, at)) return known.login;
    // A login that was read before `forget` must not get into the new cache.
    const cacheBefore = cached;
    const session = await store.operatorSession(id);
    if (!session) return undefined;
    const { operatorId, keyId } = session;
    const operator = operatorId === null ? undefined : await store.operator(operatorId);
    const login = { session, operator, key: keyId === null ? undefined : await store.apiKey(keyId) };
    if (cacheBefore.size >= MOST_CACHED) cacheBefore.clear();
    cacheBefore.set(id, { login, at });
    return login;
  }

  return {
    async find(token, isActive) {
      const login = await read(hashOfSecret(token));
      const now = realNow();
      if (!login || isSessionOver(login.session, now)) return undefined;
      const { session, operator, key } = login;
      if (operator ? operator.disabledAt !== null : key?.revokedAt !== null) return undefined;
      if (!isActive || now - session.lastActiveAt < USE_NOTED_MS) return login;
      session.lastActiveAt = now;
      store.commit([{ type: 'operator_session_used', id: session.id, at: now }]).catch((error: Error) => {
        log.debug({ reason: error.message }, 'the activity of a session was not stored');
      });
      return login;
    },
    forget() {
      cached = new Map();
    },
  };
}

/** A new token and the changes that store its session. `before` is the session that it replaces after a repeated factor. */
export function newLogin(
  { realNow, randomBytes }: { realNow(): number; randomBytes: RandomBytes },
  owner: Pick<OperatorSession, 'operatorId' | 'keyId' | 'address'>,
  before?: OperatorSession,
): { token: string; changes: Change[] } {
  const token = newSecret(randomBytes);
  const now = realNow();
  const times = { created: before?.created ?? now, lastActiveAt: now, provenAt: now, endedAt: null };
  const changes: Change[] = [
    { type: 'operator_session_created', login: { ...owner, ...times, id: hashOfSecret(token) } },
  ];
  if (before) changes.push({ type: 'operator_session_ended', id: before.id, at: now });
  return { token, changes };
}
