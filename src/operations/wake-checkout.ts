import { pendingPayment } from '../domain/checkout-state.ts';
import { acceptHandoff, failUnknownHandoff, applyElapsedTime } from '../domain/checkout.ts';
import { type Failure, TIMED_OUT } from '../domain/failure.ts';
import type { Checkout, Payment } from '../domain/records.ts';
import type { ProviderReport } from '../domain/provider-report.ts';
import { commitDecision } from './commit-decision.ts';
import type { Deps } from './deps.ts';
import { foundSession } from './not-found.ts';
import { applyReport } from './provider-hints.ts';

/** Asks the provider about an unconfirmed payment, because callbacks can get lost, and applies the elapsed time. */
export async function wakeCheckout(deps: Deps, sessionId: string): Promise<void> {
  const checkout = foundSession(await deps.store.checkout(sessionId), sessionId);
  const payment = pendingPayment(checkout);
  let awaitsBuyer = false;
  if (payment && Math.min(payment.inquireAt ?? payment.timeoutAt, payment.timeoutAt) <= deps.now()) {
    const report = await inquire(deps, checkout, payment);
    awaitsBuyer = report?.state === 'awaiting_buyer';
  }
  await commitDecision(deps, sessionId, (current, now) =>
    applyElapsedTime(current, now, timeoutOf(current, awaitsBuyer)),
  );
}

/** Failure to record if the pending payment times out. */
function timeoutOf(checkout: Checkout, awaitsBuyer: boolean): Failure {
  const payment = pendingPayment(checkout);
  const isMismatch = checkout.discrepancies.some(
    ({ kind, paymentId }) => kind === 'amount_mismatch' && paymentId === payment?.id,
  );
  if (isMismatch) return { ...TIMED_OUT, code: 'amount_mismatch' };
  return awaitsBuyer ? { ...TIMED_OUT, source: 'buyer' } : TIMED_OUT;
}

async function inquire(deps: Deps, { session }: Checkout, payment: Payment): Promise<ProviderReport | undefined> {
  const provider = deps.providers.get(payment.route.provider);
  if (!provider) return undefined;
  let answer;
  try {
    answer = await provider.inquire(payment);
  } catch (error) {
    // A later inquiry may succeed.
    deps.log.warn({ err: error, paymentId: payment.id, provider: provider.id }, 'inquiry failed');
    return undefined;
  }
  if (answer === 'cannot_tell') return undefined;
  if (answer === 'unknown') {
    // The handoff request has not arrived, so the payment fails, and is cancelled in case the request still arrives. This does not
    // apply to an accepted payment, which the provider must know, or to a payment without a handoff, which the provider reported.
    if (payment.providerReference !== null || payment.inquireAt === null) return undefined;
    await commitDecision(deps, session.id, (current, now) => failUnknownHandoff(current, payment.id, now));
    return undefined;
  }
  const { report, reference, url } = answer;
  await commitDecision(deps, session.id, (current) =>
    acceptHandoff(current, { paymentId: payment.id, reference, url }),
  );
  if (isNews(report)) await applyReport(deps, provider, payment, report);
  return report;
}

/** False if the report only says that the payment still waits. Such a report is not stored. */
function isNews({ state, decline, expectedBy }: ProviderReport): boolean {
  const isWaiting = state === 'awaiting_buyer' || state === 'processing';
  return !isWaiting || decline !== null || expectedBy !== null;
}
