import type { ApiKey } from '../../domain/api-key.ts';
import { type Operator, hashOfSecret, isSessionOver } from '../../domain/operator.ts';
import type { OperatorSession } from '../../store/tables/operators-table.ts';
import type { Deps } from '../deps.ts';
import { USE_NOTED_MS } from './key-gate.ts';

/** A login that has not ended, with its operator or its API key. */
export interface Login {
  session: OperatorSession;
  operator: Operator | undefined;
  key: ApiKey | undefined;
}

/**
 * The login of a cookie's token; undefined for an unknown or ended one. Every request reads it, so that all instances know its end at once.
 * `isActive`: true if a person caused the request, not a script that keeps a page current.
 */
export async function findLogin(
  { store, realNow, log }: Pick<Deps, 'store' | 'realNow' | 'log'>,
  token: string,
  isActive: boolean,
): Promise<Login | undefined> {
  const session = await store.operatorSession(hashOfSecret(token));
  const now = realNow();
  if (!session || isSessionOver(session, now)) return undefined;
  const { id, operatorId, keyId } = session;
  const operator = operatorId === null ? undefined : await store.operator(operatorId);
  const key = keyId === null ? undefined : await store.apiKey(keyId);
  if (operator ? operator.disabledAt !== null : key?.revokedAt !== null) return undefined;
  if (isActive && now - session.lastActiveAt >= USE_NOTED_MS) {
    store.commit([{ type: 'operator_session_used', id, at: now }]).catch((error: Error) => {
      log.debug({ reason: error.message }, 'the activity of a session was not stored');
    });
  }
  return { session, operator, key };
}
