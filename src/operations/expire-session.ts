import { expireSession as decideExpiry } from '../domain/checkout.ts';
import { GatewayError } from '../domain/gateway-error.ts';
import type { Session } from '../domain/records.ts';
import { assertCan } from './access/caller.ts';
import { commitDecision } from './commit-decision.ts';
import type { Deps } from './deps.ts';

/** Expires a session that no buyer has started. Throws GatewayError `not_found`, `forbidden`, or `invalid_state` once it is started. */
export async function expireSession(deps: Deps, id: string): Promise<Session> {
  assertCan(deps, 'session.expire');
  const { outcome, checkout } = await commitDecision(deps, id, decideExpiry);
  if (outcome !== 'invalid_state') return checkout.session;
  const message = `Session ${id} is ${checkout.session.status}, and only a routed one can expire.`;
  throw new GatewayError('invalid_state', message, {
    suggestion: 'Leave it: a session that a buyer has started ends as paid or failed by itself.',
  });
}
