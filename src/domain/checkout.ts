import {
  type Decision,
  type Effect,
  type NewAttempt,
  announcePending,
  changed,
  failCheckout,
  failPayment,
  withInquiry,
  findReportedPayment,
  nextTimer,
  openAttempt,
  pendingPayment,
  unchanged,
  withPayment,
  withSession,
} from './checkout-state.ts';
import { type Failure, type ProviderFailure, TIMED_OUT } from './failure.ts';
import { settledPosting } from './ledger.ts';
import { CURRENCY, type Checkout, type Instant, type Payment, type ProviderStatus } from './records.ts';
import { type SurplusIds, receiveReport } from './receipts.ts';
import { ledgerStatusOf } from './refund-record.ts';
import type { Route } from './route.ts';
import { type PayoutOutcome, type PayoutReport, judgePayout, payoutOf } from './settlement.ts';
import { type OriginMismatch, type SignalOrigin, originMismatch } from './provider-message.ts';

/** Limit of attempts of one session. */
export const MAX_ATTEMPTS = 3;

const REFUSED: Failure = { code: 'handoff_refused', source: 'route', reason: null };
const NEVER_SENT: Failure = { code: 'handoff_refused', source: 'gateway', reason: null };
const ABANDONED: Failure = { code: 'abandoned', source: 'buyer', reason: null };
const DECLINED: Failure = { code: 'declined', source: 'route', reason: null };

/** Normalised provider report on a payment. `amount` is the session's amount, in cents. */
export interface ProviderEvent extends SignalOrigin {
  /** The reported attempt; null if the provider names only the session. */
  paymentId: string | null;
  status: ProviderStatus;
  amount: number;
  currency: string;
  txHash: string | null;
  /** Failure of the payment; null if it did not fail or the provider gives no cause. */
  failure: ProviderFailure | null;
  /** True if a failure ends the checkout, not only the attempt. Providers report attempts; a sample ends the checkout. */
  endsCheckout?: boolean;
}

/** Records that an event may create: an attempt that the buyer did not start here, or the refund of surplus money. */
export interface UnstartedRecords extends Omit<NewAttempt, 'route'>, SurplusIds {
  /** A route of the reporting provider in the session's environment; undefined if it has none. */
  route: Route | undefined;
}

/** Starts an attempt of the buyer to pay. */
export function startAttempt(
  checkout: Checkout,
  attempt: NewAttempt,
  now: Instant,
): Decision<'started' | 'already_paid' | 'in_progress' | 'closed'> {
  const { session } = checkout;
  if (session.status === 'paid') return unchanged(checkout, 'already_paid');
  if (pendingPayment(checkout)) return unchanged(checkout, 'in_progress');
  if (session.status === 'failed' || session.status === 'expired') return unchanged(checkout, 'closed');
  // The time of the session is over, although no worker has recorded that yet.
  const ends = nextTimer(checkout);
  if (ends !== null && ends <= now) return unchanged(checkout, 'closed');
  if (session.attempts >= MAX_ATTEMPTS) return unchanged(checkout, 'closed');

  const counted = withSession(checkout, { attempts: session.attempts + 1 });
  return changed(checkout, openAttempt(counted, attempt, now), 'started');
}

/** Records that the provider accepted the payment, and its URL for the buyer. */
export function acceptHandoff(
  checkout: Checkout,
  handoff: { paymentId: string; reference: string; url: string | null },
): Decision<'accepted' | 'too_late' | 'ignored'> {
  const payment = checkout.payments.find(({ id }) => id === handoff.paymentId);
  if (!payment || payment.providerReference !== null) return unchanged(checkout, 'ignored');

  const { reference: providerReference, url: providerUrl } = handoff;
  const named: Payment = { ...payment, providerReference, providerUrl, handoffUncertain: false };
  // The payment failed meanwhile, so the provider must cancel it. A handoff that was uncertain until then stays
  // uncertain.
  if (payment.status === 'failed') {
    const late: Payment = { ...named, handoffUncertain: payment.handoffUncertain };
    return changed(checkout, withPayment(checkout, late), 'too_late', [{ type: 'cancel_at_provider', payment: late }]);
  }
  return announcePending(checkout, withPayment(checkout, named), named, 'accepted');
}

/** Records that the provider may or may not have the payment. It counts against the route until the provider reports. */
export function markHandoffUncertain(checkout: Checkout, paymentId: string): Decision<'noted' | 'ignored'> {
  const payment = checkout.payments.find(({ id }) => id === paymentId);
  if (payment?.status !== 'pending' || payment.providerReference !== null || payment.handoffUncertain) {
    return unchanged(checkout, 'ignored');
  }
  return changed(checkout, withPayment(checkout, { ...payment, handoffUncertain: true }), 'noted');
}

/**
 * Fails a payment that the provider does not have, and fails over to `retry`, if given, within the same attempt. With
 * `mayArrive` a request to the provider may still be in flight, so the provider is asked to cancel the payment. `reason` is
 * the provider's own.
 */
export function rejectHandoff(
  checkout: Checkout,
  paymentId: string,
  { retry, mayArrive, reason }: { retry: NewAttempt | undefined; mayArrive: boolean; reason: string | null },
  now: Instant,
): Decision<'failed_over' | 'refused' | 'ignored'> {
  const payment = checkout.payments.find(({ id }) => id === paymentId);
  // The provider has accepted the payment meanwhile.
  if (payment?.status !== 'pending' || payment.providerReference !== null) return unchanged(checkout, 'ignored');

  const refused = failPayment(checkout, payment, { ...REFUSED, reason }, now);
  const effects: Effect[] = mayArrive ? [{ type: 'cancel_at_provider', payment }] : [];
  if (retry) return changed(checkout, openAttempt(refused, retry, now), 'failed_over', effects);
  return closeIfUsedUp(checkout, refused, 'refused', effects);
}

/** Fails a payment that the provider does not know. It counts against the route only after an uncertain handoff. */
export function failUnknownHandoff(checkout: Checkout, paymentId: string, now: Instant): Decision<'lost' | 'ignored'> {
  const payment = checkout.payments.find(({ id }) => id === paymentId);
  if (payment?.status !== 'pending' || payment.providerReference !== null) return unchanged(checkout, 'ignored');

  const lost = failPayment(checkout, payment, payment.handoffUncertain ? REFUSED : NEVER_SENT, now);
  // The handoff request may still be in flight.
  return closeIfUsedUp(checkout, lost, 'lost', [{ type: 'cancel_at_provider', payment }]);
}

/** Applies a verified provider report, in any order, of any age, any number of times. */
export function applyProviderEvent(
  checkout: Checkout,
  event: ProviderEvent,
  unforeseen: UnstartedRecords,
  now: Instant,
): Decision<'applied' | 'ignored' | 'amount_mismatch' | OriginMismatch | 'unknown_payment'> {
  const { session, payments } = checkout;
  const reported = findReportedPayment(checkout, event);
  const named = reported ?? payments.find(({ id }) => event.paymentId === null || id === event.paymentId);
  const mismatch = originMismatch(session, named, event);
  if (mismatch) return unchanged(checkout, mismatch);
  // A report of money counts for its payment, whatever the amount.
  const hasUsableAmount = event.amount === session.amount || (event.status === 'paid' && reported !== undefined);
  if (!hasUsableAmount || event.currency !== CURRENCY) return unchanged(checkout, 'amount_mismatch');
  const { route } = unforeseen;
  if (!reported && (event.paymentId !== null || !route)) return unchanged(checkout, 'unknown_payment');
  // A provider can know of a payment that the buyer did not start on our page.
  if (!reported && session.status === 'expired' && event.status !== 'paid') return unchanged(checkout, 'ignored');

  const started = reported || !route ? checkout : openUnstarted(checkout, { ...unforeseen, route }, now);
  const payment = findReportedPayment(started, event)!;
  switch (event.status) {
    case 'provider_pending':
      if (payment.status !== 'pending') return unchanged(checkout, 'ignored');
      return announcePending(checkout, started, payment, 'applied');
    case 'failed': {
      const isOpen = payment.status === 'pending';
      // The report proves that the provider has the payment.
      const known: Payment = { ...payment, handoffUncertain: false };
      const failed = isOpen ? failPayment(started, known, event.failure ?? DECLINED, now) : started;
      const ends = event.endsCheckout === true && failed.session.status === 'pending' && !pendingPayment(failed);
      if (ends) return failCheckout(checkout, failed, 'applied');
      return isOpen ? closeIfUsedUp(checkout, failed, 'applied') : unchanged(checkout, 'ignored');
    }
    case 'paid':
      return receiveReport(checkout, started, payment, event, unforeseen, now);
  }
}

/** True if the buyer may abandon the attempt: while the handoff is uncertain, a second attempt could be paid too. */
export function canAbandon({ providerReference }: Payment): boolean {
  return providerReference !== null;
}

/** The buyer abandons the current attempt, to choose another payment method. */
export function abandonAttempt(checkout: Checkout, now: Instant): Decision<'abandoned' | 'ignored'> {
  const payment = pendingPayment(checkout);
  if (!payment || !canAbandon(payment)) return unchanged(checkout, 'ignored');
  const failed = failPayment(checkout, payment, ABANDONED, now);
  return closeIfUsedUp(checkout, failed, 'abandoned', [{ type: 'cancel_at_provider', payment }]);
}

/** The buyer cancels the whole checkout. */
export function abandonCheckout(checkout: Checkout, now: Instant): Decision<'failed' | 'ignored'> {
  if (checkout.session.status !== 'pending') return unchanged(checkout, 'ignored');
  const payment = pendingPayment(checkout);
  if (!payment) return failCheckout(checkout, checkout, 'failed');
  const failed = failPayment(checkout, payment, ABANDONED, now);
  return failCheckout(checkout, failed, 'failed', [{ type: 'cancel_at_provider', payment }]);
}

/** The merchant withdraws a session that no buyer has started. */
export function expireSession(checkout: Checkout): Decision<'expired' | 'ignored' | 'invalid_state'> {
  if (checkout.session.status === 'expired') return unchanged(checkout, 'ignored');
  if (checkout.session.status !== 'routed') return unchanged(checkout, 'invalid_state');
  return changed(checkout, withSession(checkout, { status: 'expired' }), 'expired');
}

/** Applies expiry, payment timeout, end of the retry window, or the next inquiry. `timeout` is the failure of a payment. */
export function applyElapsedTime(
  checkout: Checkout,
  now: Instant,
  timeout: Failure = TIMED_OUT,
): Decision<'expired' | 'timed_out' | 'retry_window_over' | 'inquired' | 'ignored'> {
  const { session } = checkout;
  if (session.status === 'routed') {
    if (now < session.expiresAt) return unchanged(checkout, 'ignored');
    return changed(checkout, withSession(checkout, { status: 'expired' }), 'expired');
  }
  if (session.status !== 'pending') return unchanged(checkout, 'ignored');

  const payment = pendingPayment(checkout);
  if (!payment) {
    if (session.retryUntil === null || now < session.retryUntil) return unchanged(checkout, 'ignored');
    return failCheckout(checkout, checkout, 'retry_window_over');
  }
  if (now >= payment.timeoutAt) {
    const failed = failPayment(checkout, payment, timeout, now);
    return failCheckout(checkout, failed, 'timed_out', [{ type: 'cancel_at_provider', payment }]);
  }
  if (payment.inquireAt === null || now < payment.inquireAt) return unchanged(checkout, 'ignored');
  return changed(checkout, withPayment(checkout, withInquiry(payment, now)), 'inquired');
}

/** Records that the rest of a payment was paid out to the merchant. */
export function recordSettlement(
  checkout: Checkout,
  paymentId: string,
  { amount: reported, source, reference, settledAt }: PayoutReport,
  now: Instant,
): Decision<PayoutOutcome> {
  const payment = checkout.payments.find(({ id }) => id === paymentId);
  const outcome = judgePayout(payment, reported);
  if (!payment || outcome !== 'settled') return unchanged(checkout, outcome);
  const { sessionId, environment } = payment;
  const amount = payoutOf(payment);
  const about = { paymentId, sessionId, environment, amount, source, reference };
  const settled: Payment = { ...payment, settled: true };
  const next = withPayment(checkout, { ...settled, ledgerStatus: ledgerStatusOf(settled) });
  return changed(checkout, next, outcome, [
    { type: 'post', posting: settledPosting(payment, amount, now) },
    { type: 'settlement_recorded', settlement: { ...about, settledAt: settledAt ?? now, created: now } },
  ]);
}

/** Opens an attempt that the provider reported before the service knew of it. No inquiry is sent about such an attempt. */
function openUnstarted(checkout: Checkout, attempt: NewAttempt, now: Instant): Checkout {
  const counted = withSession(checkout, { attempts: checkout.session.attempts + 1 });
  const opened = openAttempt(counted, attempt, now);
  return withPayment(opened, { ...opened.payments.at(-1)!, inquireAt: null });
}

function closeIfUsedUp<Outcome extends string>(
  before: Checkout,
  next: Checkout,
  outcome: Outcome,
  effects: Effect[] = [],
): Decision<Outcome> {
  const open = next.session.status === 'pending' && next.session.attempts < MAX_ATTEMPTS;
  return open ? changed(before, next, outcome, effects) : failCheckout(before, next, outcome, effects);
}
