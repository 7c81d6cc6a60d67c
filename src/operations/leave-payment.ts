import { MAX_ATTEMPTS, abandonAttempt, canAbandon, abandonCheckout } from '../domain/checkout.ts';
import { pendingPayment, unchanged } from '../domain/checkout-state.ts';
import type { Checkout, Payment } from '../domain/records.ts';
import type { ProviderReport } from '../providers/provider.ts';
import { applyReport } from './apply-provider-message.ts';
import { commitDecision } from './commit-decision.ts';
import type { Deps } from './deps.ts';
import { foundSession } from './not-found.ts';

// The buyer waits meanwhile.
const ASK_MS = 2500;

// Both name the attempt that the buyer was looking at, by its number: what comes from an old tab, a second click or a
// resent form must not touch a newer one.

export interface LeaveResult {
  checkout: Checkout;
  /** The provider could not be asked or did not cancel: the attempt continues, and the buyer may try again. */
  goesOn: boolean;
}

/**
 * The buyer drops the attempt in progress to choose another way to pay, while there are attempts left for that. Its provider
 * is stopped first, outside any transaction: two of them must not hold a payment that a buyer can make at both. An attempt
 * that no provider is known to have stays. Throws GatewayError `not_found` for an unknown session.
 */
export async function chooseAnotherMethod(deps: Deps, sessionId: string, attempt: number): Promise<LeaveResult> {
  const checkout = foundSession(await deps.store.checkout(sessionId), sessionId);
  const payment = pendingPayment(checkout);
  const isCurrent = checkout.session.attempts === attempt && attempt < MAX_ATTEMPTS;
  if (!payment || !isCurrent || !canAbandon(payment)) return { checkout, goesOn: false };

  if (!(await stop(deps, payment))) {
    const current = (await deps.store.checkout(sessionId))!;
    return { checkout: current, goesOn: pendingPayment(current)?.id === payment.id };
  }
  const left = await commitDecision(deps, sessionId, (current, now) =>
    pendingPayment(current)?.id === payment.id ? abandonAttempt(current, now) : unchanged(current, 'ignored'),
  );
  return { checkout: left.checkout, goesOn: false };
}

/** The buyer gives up: a started session fails, one not started stays open. */
export async function cancelCheckout(deps: Deps, sessionId: string, attempt: number): Promise<Checkout> {
  const { checkout } = await commitDecision(deps, sessionId, (current, now) =>
    current.session.attempts === attempt ? abandonCheckout(current, now) : unchanged(current, 'ignored'),
  );
  return checkout;
}

/** Cancels a payment at its provider and answers whether that worked; money that came before is applied. */
async function stop(deps: Deps, payment: Payment): Promise<boolean> {
  const provider = deps.providers.get(payment.route.provider);
  if (!provider) return false;
  let report: ProviderReport | undefined;
  try {
    await provider.cancel(payment, ASK_MS);
    report = await provider.inquire(payment, ASK_MS);
  } catch (error) {
    deps.log.warn({ err: error, paymentId: payment.id, provider: provider.id }, 'cannot stop the payment');
    return false;
  }
  if (report?.status === 'paid') await applyReport(deps, provider, payment, report);
  return report === undefined || report.status === 'failed';
}
