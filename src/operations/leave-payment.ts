import { MAX_ATTEMPTS, abandonAttempt, giveUp } from '../domain/checkout.ts';
import { unchanged } from '../domain/checkout-state.ts';
import type { Checkout } from '../domain/records.ts';
import { commitDecision } from './commit-decision.ts';
import type { Deps } from './deps.ts';

// Both name the attempt that the buyer was looking at, by its number: what comes from an old tab, a second click or a
// resent form must not touch a newer one.

/** The buyer drops the attempt under way to choose another way to pay, while there are attempts left for that. */
export async function chooseAnotherWay(deps: Deps, sessionId: string, attempt: number): Promise<Checkout> {
  const { checkout } = await commitDecision(deps, sessionId, (current, now) =>
    current.session.attempts === attempt && attempt < MAX_ATTEMPTS
      ? abandonAttempt(current, now)
      : unchanged(current, 'ignored'),
  );
  return checkout;
}

/** The buyer gives up: a started session fails, one not started stays open. */
export async function cancelCheckout(deps: Deps, sessionId: string, attempt: number): Promise<Checkout> {
  const { checkout } = await commitDecision(deps, sessionId, (current, now) =>
    current.session.attempts === attempt ? giveUp(current, now) : unchanged(current, 'ignored'),
  );
  return checkout;
}
