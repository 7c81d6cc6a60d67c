import { expireSession as decideExpiry } from '../domain/checkout.ts';
import { GatewayError } from '../domain/gateway-error.ts';
import type { Session } from '../domain/records.ts';
import { commitDecision } from './commit-decision.ts';
import type { Deps } from './deps.ts';

/** Expires a session that no buyer has started. Throws GatewayError `not_found`, or `invalid_state` once a buyer has started it. */
export async function expireSession(deps: Deps, id: string): Promise<Session> {
  const { outcome, checkout } = await commitDecision(deps, id, decideExpiry);
  if (outcome !== 'invalid_state') return checkout.session;
  const message = `Session ${id} is ${checkout.session.status}, and only a routed one can expire.`;
  throw new GatewayError('invalid_state', message, {
    suggestion: 'Leave it: a session that a buyer has started ends as paid or failed by itself.',
  });
}
