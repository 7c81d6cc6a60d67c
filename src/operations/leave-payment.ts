import { abandonAttempt, giveUp } from '../domain/checkout.ts';
import type { Checkout } from '../domain/records.ts';
import { commitDecision } from './commit-decision.ts';
import type { Deps } from './deps.ts';

/** The buyer drops the attempt under way to choose another way; where it was the last one, the session fails. */
export async function chooseAnotherWay(deps: Deps, sessionId: string): Promise<Checkout> {
  return (await commitDecision(deps, sessionId, abandonAttempt)).checkout;
}

/** The buyer gives up: a started session fails, one not started stays open. */
export async function cancelCheckout(deps: Deps, sessionId: string): Promise<Checkout> {
  return (await commitDecision(deps, sessionId, giveUp)).checkout;
}
