import { abandonAttempt, canAbandon, abandonCheckout } from '../domain/checkout.ts';
import { MAX_ATTEMPTS, pendingPayment, unchanged } from '../domain/checkout-state.ts';
import { wrongMoneyFor } from '../domain/discrepancy.ts';
import type { PaymentState } from '../domain/provider-report.ts';
import type { Checkout, Payment } from '../domain/records.ts';
import type { Provider } from '../providers/provider.ts';
import { commitDecision } from './commit-decision.ts';
import type { Deps } from './deps.ts';
import { foundSession } from './not-found.ts';
import { applyReport } from './provider-hints.ts';

// Time limit of each request to the provider, because the buyer waits.
const ASK_MS = 2500;

// chooseAnotherMethod and cancelCheckout take the number of the attempt that the page showed, so that a form from an old tab, a second
// click or a resent form does not change a newer attempt.

/** Result of a buyer's request to leave the current attempt. */
export interface LeaveResult {
  checkout: Checkout;
  /** True if the provider could not be reached or did not cancel: the attempt continues, and the buyer may try again. */
  goesOn: boolean;
}

/**
 * Abandons the attempt in progress, if attempts are left, so that the buyer can choose another payment method. The
 * provider cancels the payment first, outside any transaction, so that the buyer cannot pay at two providers. An attempt
 * that no provider has accepted yet, or for which a wrong amount is held, continues. Throws GatewayError `not_found` for an unknown
 * session.
 */
export async function chooseAnotherMethod(deps: Deps, sessionId: string, attempt: number): Promise<LeaveResult> {
  const checkout = foundSession(await deps.store.checkout(sessionId), sessionId);
  const payment = pendingPayment(checkout);
  const isCurrent = checkout.session.attempts === attempt && attempt < MAX_ATTEMPTS;
  if (!payment || !isCurrent || !canAbandon(checkout, payment)) return { checkout, goesOn: false };

  if (!(await stop(deps, payment, wrongMoneyFor(checkout, payment) === 'refunded'))) {
    const current = (await deps.store.checkout(sessionId))!;
    return { checkout: current, goesOn: pendingPayment(current)?.id === payment.id };
  }
  const abandoned = await commitDecision(deps, sessionId, (current, now) =>
    pendingPayment(current)?.id === payment.id ? abandonAttempt(current, now) : unchanged(current, 'ignored'),
  );
  return { checkout: abandoned.checkout, goesOn: false };
}

/** Cancels the checkout for the buyer: a started session fails, and a session that was not started stays open. */
export async function cancelCheckout(deps: Deps, sessionId: string, attempt: number): Promise<Checkout> {
  const { checkout } = await commitDecision(deps, sessionId, (current, now) =>
    current.session.attempts === attempt ? abandonCheckout(current, now) : unchanged(current, 'ignored'),
  );
  return checkout;
}

/**
 * True if no money can arrive after a cancellation: the provider has closed the payment, or its page stays open, but only a
 * capture by this service would take money. A payment that was paid in a wrong amount takes no more money.
 */
function isStopped({ traits, capture }: Provider, state: PaymentState, isRefunded: boolean): boolean {
  if (state === 'failed' || (state === 'paid' && isRefunded)) return true;
  return (
    traits.cancel === 'holds' && capture !== undefined && (state === 'awaiting_buyer' || state === 'requires_capture')
  );
}

/**
 * Cancels a payment at its provider; returns true if that succeeded. If the payment was paid before, its money is applied. If the
 * provider reports a decline, the decline is the cause of the failure. `isRefunded`: its wrong amount was refunded.
 */
async function stop(deps: Deps, payment: Payment, isRefunded: boolean): Promise<boolean> {
  const provider = deps.providers.get(payment.route.provider);
  if (!provider) return false;
  try {
    await provider.cancel(payment, ASK_MS);
    const answer = await provider.inquire(payment, ASK_MS);
    if (typeof answer === 'string') return answer === 'unknown';
    const { state, decline } = answer.report;
    const isDeclined = state === 'failed' && decline !== null && decline.code !== 'cancelled';
    if (state === 'paid' || isDeclined) {
      await applyReport(deps, provider, payment, answer.report);
    }
    return isStopped(provider, state, isRefunded);
  } catch (error) {
    deps.log.warn(
      { err: error, paymentId: payment.id, provider: provider.id },
      'cannot cancel the payment at its provider',
    );
    return false;
  }
}
