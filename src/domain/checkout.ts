import {
  type Decision,
  type Effect,
  MAX_ATTEMPTS,
  type NewAttempt,
  announcePending,
  changed,
  closeIfUsedUp,
  failCheckout,
  failPayment,
  withInquiry,
  nextTimer,
  openAttempt,
  pendingPayment,
  posted,
  unchanged,
  withPayment,
  withSession,
} from './checkout-state.ts';
import { wrongMoneyFor } from './discrepancy.ts';
import { type Failure, TIMED_OUT } from './failure.ts';
import { costPosting, settledPosting } from './ledger.ts';
import type { Cents } from './money.ts';
import type { Checkout, Instant, Payment } from './records.ts';
import { ledgerStatusOf } from './refund-record.ts';
import { type PayoutOutcome, type PayoutReport, judgePayout, payoutOf } from './settlement.ts';

const REFUSED: Failure = { code: 'handoff_refused', source: 'route', reason: null };
const NEVER_SENT: Failure = { code: 'handoff_refused', source: 'gateway', reason: null };
const ABANDONED: Failure = { code: 'abandoned', source: 'buyer', reason: null };

/** Starts a payment attempt of the buyer. */
export function startAttempt(
  checkout: Checkout,
  attempt: NewAttempt,
  now: Instant,
): Decision<'started' | 'already_paid' | 'in_progress' | 'closed'> {
  const { session } = checkout;
  if (session.status === 'paid') return unchanged(checkout, 'already_paid');
  if (pendingPayment(checkout)) return unchanged(checkout, 'in_progress');
  if (session.status === 'failed' || session.status === 'expired') return unchanged(checkout, 'closed');
  // The session has expired or its retry window has ended, although no worker has recorded that yet.
  const ends = nextTimer(checkout);
  if (ends !== null && ends <= now) return unchanged(checkout, 'closed');
  if (session.attempts >= MAX_ATTEMPTS) return unchanged(checkout, 'closed');

  const counted = withSession(checkout, { attempts: session.attempts + 1 });
  return changed(checkout, openAttempt(counted, attempt, now), 'started');
}

/** Records that the provider accepted the handoff, with the provider's id of the payment and its URL for the buyer. */
export function acceptHandoff(
  checkout: Checkout,
  handoff: { paymentId: string; reference: string; url: string | null },
): Decision<'accepted' | 'too_late' | 'ignored'> {
  const payment = checkout.payments.find(({ id }) => id === handoff.paymentId);
  if (!payment || payment.providerReference !== null) return unchanged(checkout, 'ignored');

  const { reference: providerReference, url: providerUrl } = handoff;
  const named: Payment = { ...payment, providerReference, providerUrl, handoffUncertain: false };
  // The payment failed during the handoff, so the provider must cancel it. If the handoff was uncertain, it stays uncertain.
  if (payment.status === 'failed') {
    const late: Payment = { ...named, handoffUncertain: payment.handoffUncertain };
    return changed(checkout, withPayment(checkout, late), 'too_late', [{ type: 'cancel_at_provider', payment: late }]);
  }
  return announcePending(checkout, withPayment(checkout, named), named, 'accepted');
}

/** Records that the provider may or may not have the payment. The uncertain handoff counts against the route until the provider reports. */
export function markHandoffUncertain(checkout: Checkout, paymentId: string): Decision<'noted' | 'ignored'> {
  const payment = checkout.payments.find(({ id }) => id === paymentId);
  if (payment?.status !== 'pending' || payment.providerReference !== null || payment.handoffUncertain) {
    return unchanged(checkout, 'ignored');
  }
  return changed(checkout, withPayment(checkout, { ...payment, handoffUncertain: true }), 'noted');
}

/**
 * Fails a payment that the provider does not have. If `retry` is given, the same attempt continues with a payment on that route.
 * `mayArrive`: a handoff request may still be in flight, so the provider is asked to cancel the payment. `reason`: the provider's
 * reason, verbatim.
 */
export function rejectHandoff(
  checkout: Checkout,
  paymentId: string,
  { retry, mayArrive, reason }: { retry: NewAttempt | undefined; mayArrive: boolean; reason: string | null },
  now: Instant,
): Decision<'failed_over' | 'refused' | 'ignored'> {
  const payment = checkout.payments.find(({ id }) => id === paymentId);
  // The payment has ended, or the provider has accepted it, since the refused handoff.
  if (payment?.status !== 'pending' || payment.providerReference !== null) return unchanged(checkout, 'ignored');

  const refused = failPayment(checkout, payment, { ...REFUSED, reason }, now);
  const effects: Effect[] = mayArrive ? [{ type: 'cancel_at_provider', payment }] : [];
  if (retry) return changed(checkout, openAttempt(refused, retry, now), 'failed_over', effects);
  return closeIfUsedUp(checkout, refused, 'refused', effects);
}

/** Fails a payment that the provider does not know. The failure counts against the route only after an uncertain handoff. */
export function failUnknownHandoff(checkout: Checkout, paymentId: string, now: Instant): Decision<'lost' | 'ignored'> {
  const payment = checkout.payments.find(({ id }) => id === paymentId);
  if (payment?.status !== 'pending' || payment.providerReference !== null) return unchanged(checkout, 'ignored');

  const lost = failPayment(checkout, payment, payment.handoffUncertain ? REFUSED : NEVER_SENT, now);
  // The handoff request may still be in flight.
  return closeIfUsedUp(checkout, lost, 'lost', [{ type: 'cancel_at_provider', payment }]);
}

/** True if the money of the attempt is on its way, or a wrong amount has arrived and is held. */
function hasMoney(checkout: Checkout, payment: Payment): boolean {
  return payment.expectedBy !== null || wrongMoneyFor(checkout, payment) === 'held';
}

/** True if the buyer may abandon the attempt. If it has money, or the provider has not accepted the handoff yet, the buyer could pay twice. */
export function canAbandon(checkout: Checkout, payment: Payment): boolean {
  return payment.providerReference !== null && !hasMoney(checkout, payment);
}

/** Ends the current attempt for a buyer who wants to choose another payment method. */
export function abandonAttempt(checkout: Checkout, now: Instant): Decision<'abandoned' | 'ignored'> {
  const payment = pendingPayment(checkout);
  if (!payment || !canAbandon(checkout, payment)) return unchanged(checkout, 'ignored');
  const failed = failPayment(checkout, payment, payment.decline ?? ABANDONED, now);
  return closeIfUsedUp(checkout, failed, 'abandoned', [{ type: 'cancel_at_provider', payment }]);
}

/** Ends the whole checkout for a buyer who cancels it. */
export function abandonCheckout(checkout: Checkout, now: Instant): Decision<'failed' | 'ignored'> {
  if (checkout.session.status !== 'pending') return unchanged(checkout, 'ignored');
  const payment = pendingPayment(checkout);
  if (!payment) return failCheckout(checkout, checkout, 'failed');
  if (hasMoney(checkout, payment)) return unchanged(checkout, 'ignored');
  const failed = failPayment(checkout, payment, ABANDONED, now);
  return failCheckout(checkout, failed, 'failed', [{ type: 'cancel_at_provider', payment }]);
}

/** Expires a session that no buyer has started, at the request of the merchant. */
export function expireSession(checkout: Checkout, now: Instant): Decision<'expired' | 'ignored' | 'invalid_state'> {
  if (checkout.session.status === 'expired') return unchanged(checkout, 'ignored');
  if (checkout.session.status !== 'routed') return unchanged(checkout, 'invalid_state');
  return changed(checkout, withSession(checkout, { status: 'expired', expiredAt: now }), 'expired');
}

/** Applies expiry, payment timeout, end of the retry window, or the next inquiry. `timeout` is the failure of a payment that times out. */
export function applyElapsedTime(
  checkout: Checkout,
  now: Instant,
  timeout: Failure = TIMED_OUT,
): Decision<'expired' | 'timed_out' | 'retry_window_over' | 'inquired' | 'ignored'> {
  const { session } = checkout;
  if (session.status === 'routed') {
    if (now < session.expiresAt) return unchanged(checkout, 'ignored');
    return changed(checkout, withSession(checkout, { status: 'expired', expiredAt: now }), 'expired');
  }
  if (session.status !== 'pending') return unchanged(checkout, 'ignored');

  const payment = pendingPayment(checkout);
  if (!payment) {
    if (session.retryUntil === null || now < session.retryUntil) return unchanged(checkout, 'ignored');
    return failCheckout(checkout, checkout, 'retry_window_over');
  }
  if (now >= payment.timeoutAt) {
    const { source, reason } = payment.decline ?? timeout;
    const failed = failPayment(checkout, payment, { ...timeout, source, reason }, now);
    return failCheckout(checkout, failed, 'timed_out', [{ type: 'cancel_at_provider', payment }]);
  }
  if (payment.inquireAt === null || now < payment.inquireAt) return unchanged(checkout, 'ignored');
  return changed(checkout, withPayment(checkout, withInquiry(payment, now)), 'inquired');
}

/** The payment with the charge that its provider reported, and the correction of the estimate. The first reported charge counts. */
export function withCost(payment: Payment, cost: Cents | null, now: Instant): { charged: Payment; booked: Effect[] } {
  if (cost === null || payment.actualCost !== null) return { charged: payment, booked: [] };
  return { charged: { ...payment, actualCost: cost }, booked: posted(costPosting(payment, cost, now)) };
}

/** Records that the merchant's share of a payment, less refunds, was paid out. */
export function recordSettlement(
  checkout: Checkout,
  paymentId: string,
  { amount: reported, source, reference, settledAt, cost = null, isFromOperator = false }: PayoutReport,
  now: Instant,
): Decision<PayoutOutcome> {
  const payment = checkout.payments.find(({ id }) => id === paymentId);
  const outcome = judgePayout(payment, reported);
  if (!payment || outcome !== 'settled') return unchanged(checkout, outcome);
  const { sessionId, environment } = payment;
  const amount = payoutOf(payment);
  const about = { paymentId, sessionId, environment, amount, source, reference };
  const from = isFromOperator ? 'operator_cash' : 'provider_clearing';
  const { charged, booked } = withCost(payment, cost, now);
  const settled: Payment = { ...charged, settled: true };
  const next = withPayment(checkout, { ...settled, ledgerStatus: ledgerStatusOf(settled) });
  return changed(checkout, next, outcome, [
    ...booked,
    { type: 'post', posting: settledPosting(payment, amount, now, from) },
    { type: 'settlement_recorded', settlement: { ...about, settledAt: settledAt ?? now, created: now } },
  ]);
}
