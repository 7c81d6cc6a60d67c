import { pendingPayment } from '../domain/checkout-state.ts';
import { acceptHandoff, passTime, refuseHandoff } from '../domain/checkout.ts';
import type { Checkout, Payment } from '../domain/records.ts';
import { applyReport } from './apply-provider-message.ts';
import { commitDecision } from './commit-decision.ts';
import type { Deps } from './deps.ts';
import { sessionNotFound } from './not-found.ts';

/**
 * What time brings to a checkout: its provider is asked about a payment that stays unconfirmed (a callback can get
 * lost), and last of all before it times out; then expiry, timeout or the end of the retry window is decided.
 */
export async function wakeCheckout(deps: Deps, sessionId: string): Promise<void> {
  const checkout = await deps.store.checkout(sessionId);
  if (!checkout) throw sessionNotFound(sessionId);
  const payment = pendingPayment(checkout);
  if (payment && Math.min(payment.inquireAt ?? payment.timeoutAt, payment.timeoutAt) <= deps.now()) {
    await inquire(deps, checkout, payment);
  }
  await commitDecision(deps, sessionId, passTime);
}

async function inquire(deps: Deps, { session }: Checkout, payment: Payment): Promise<void> {
  const provider = deps.providers.get(payment.route.provider);
  if (!provider) return;
  let report;
  try {
    report = await provider.inquire(payment);
  } catch (error) {
    // It is asked again later; until then nothing is known.
    deps.log.warn({ err: error, paymentId: payment.id, provider: provider.id }, 'inquiry failed');
    return;
  }
  if (!report) {
    // The handoff never arrived, so that no money can be under way. One that did arrive cannot be unknown.
    // And one that the provider spoke of first was never handed off by us.
    if (payment.providerReference !== null || payment.inquireAt === null) return;
    await commitDecision(deps, session.id, (current, now) => refuseHandoff(current, payment.id, undefined, now));
    return;
  }
  const { reference, url } = report;
  await commitDecision(deps, session.id, (current) =>
    acceptHandoff(current, { paymentId: payment.id, reference, url }),
  );
  if (report.status === 'provider_pending') return;
  await applyReport(deps, provider, payment, report);
}
