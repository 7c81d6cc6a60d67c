import { recordSettlement, withCost } from './checkout.ts';
import {
  type Decision,
  type NewAttempt,
  announcePending,
  changed,
  closeIfUsedUp,
  failCheckout,
  failPayment,
  findReportedPayment,
  inquiryDelayMs,
  openAttempt,
  pendingPayment,
  unchanged,
  withPayment,
  withSession,
} from './checkout-state.ts';
import { type Failure, type ProviderFailure, providerText } from './failure.ts';
import type { Cents } from './money.ts';
import type { PaymentCard } from './payment-card.ts';
import { type OriginMismatch, type SignalOrigin, originMismatch } from './provider-message.ts';
import { type SurplusIds, receiveReport } from './receipts.ts';
import { CURRENCY, type Checkout, type Instant, type Payment, type ProviderStatus } from './records.ts';
import type { Route } from './route.ts';

/** Longest time for which a payment waits for its money. */
const LONGEST_WAIT_MS = 14 * 24 * 60 * 60_000;
const DECLINED: Failure = { code: 'declined', source: 'route', reason: null };

/** Normalised provider report on a payment. */
export interface ProviderEvent extends SignalOrigin {
  /** The reported attempt; null if the provider names only the session. */
  paymentId: string | null;
  status: ProviderStatus;
  /** All the money taken so far in cents, without the buyer's fee; null if the provider names no amount. */
  amount: Cents | null;
  currency: string | null;
  txHash: string | null;
  /** Failure of the payment, or its last soft decline; null if there is none or the provider gives no cause. */
  failure: ProviderFailure | null;
  /** True if the provider takes the money of the approved payment only after a capture. */
  requiresCapture?: boolean;
  /** Time by which the money is expected after the buyer has done their part. */
  expectedBy?: Instant | null;
  /** The id by which the provider's refunds, disputes and payouts name the payment. */
  chargeReference?: string | null;
  /** The provider's actual charge. */
  cost?: Cents | null;
  /** Time at which the merchant could use the money of a paid payment. */
  settledAt?: Instant | null;
  /** The card with which the buyer paid or tried to pay. */
  card?: PaymentCard | null;
  /** True if a failure ends the whole checkout. Only `webhook.verify_sample` sets it; a failure at a provider ends one attempt. */
  endsCheckout?: boolean;
}

/** Records that an event may create: an attempt that the buyer did not start on our page, or the refund of surplus money. */
export interface UnstartedRecords extends Omit<NewAttempt, 'route'>, SurplusIds {
  /** A route of the reporting provider in the session's environment; undefined if it has none. */
  route: Route | undefined;
}

/** Applies a verified provider report. Reports may arrive late, repeatedly and in any order. */
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
  if (!hasUsableAmount(session.amount, event, reported)) return unchanged(checkout, 'amount_mismatch');
  const { route } = unforeseen;
  if (!reported && (event.paymentId !== null || !route)) return unchanged(checkout, 'unknown_payment');
  // The buyer did not start the reported payment on our page. An expired session accepts only money.
  if (!reported && session.status === 'expired' && event.status !== 'paid') return unchanged(checkout, 'ignored');

  const started = reported || !route ? checkout : openUnstarted(checkout, { ...unforeseen, route }, now);
  const payment = withCard(findReportedPayment(started, event)!, event);
  switch (event.status) {
    case 'provider_pending':
      if (payment.status !== 'pending') return unchanged(checkout, 'ignored');
      return applyProgress(checkout, started, payment, event, now);
    case 'failed': {
      const isOpen = payment.status === 'pending';
      // The report proves that the provider has the payment.
      const known: Payment = { ...payment, handoffUncertain: false };
      const failed = isOpen ? failPayment(started, known, failureOf(payment, event), now) : started;
      const ends = event.endsCheckout === true && failed.session.status === 'pending' && !pendingPayment(failed);
      if (ends) return failCheckout(checkout, failed, 'applied');
      return isOpen ? closeIfUsedUp(checkout, failed, 'applied') : unchanged(checkout, 'ignored');
    }
    case 'paid': {
      const { txHash } = event;
      const received = receiveReport(checkout, started, payment, { amount: event.amount!, txHash }, unforeseen, now);
      const detailed = withChargeDetails(checkout, received, payment.id, event, now);
      return withSettlement(checkout, detailed, payment.id, event, now);
    }
  }
}

/** The payment with the card of a report; the same object if the report has no other card. */
function withCard(payment: Payment, { card = null }: ProviderEvent): Payment {
  const { card: known } = payment;
  const isKnown = card === null || (card.country === known?.country && card.group === known.group);
  return isKnown ? payment : { ...payment, card };
}

/** True if the amount of a report can be applied. A `paid` report needs an amount, but a known payment may receive a wrong one. */
function hasUsableAmount(
  expected: Cents,
  { status, amount, currency }: ProviderEvent,
  reported: Payment | undefined,
): boolean {
  if (amount === null) return status !== 'paid';
  return currency === CURRENCY && (amount === expected || (status === 'paid' && reported !== undefined));
}

/** Cause of a failed payment. If the buyer cancels at the provider after a soft decline, that decline is the cause. */
function failureOf({ decline }: Payment, { failure }: ProviderEvent): Failure {
  return failure?.code === 'cancelled' && decline !== null ? decline : (failure ?? decline ?? DECLINED);
}

/**
 * Records the progress of a pending payment. If the money is expected after the timeout, the timeout moves to that time. After a
 * decline, no money is expected.
 */
function applyProgress(
  before: Checkout,
  started: Checkout,
  payment: Payment,
  { failure, requiresCapture = false, expectedBy = null, chargeReference = null }: ProviderEvent,
  now: Instant,
): Decision<'applied'> {
  const { decline } = payment;
  const latest = payment.created + LONGEST_WAIT_MS;
  const unnamed = failure === null ? payment.expectedBy : null;
  const expected = expectedBy === null ? unnamed : Math.min(Math.max(expectedBy, now), latest);
  const isMoved = expected !== payment.expectedBy;
  const progressed: Payment = {
    ...payment,
    decline: failure ? { ...failure, reason: providerText(failure.reason) } : decline,
    expectedBy: expected,
    chargeReference: payment.chargeReference ?? (expected === null ? null : chargeReference),
    timeoutAt: Math.max(payment.timeoutAt, expected ?? 0),
    inquireAt:
      isMoved && payment.inquireAt !== null
        ? now + inquiryDelayMs(payment.inquiries, expected, now)
        : payment.inquireAt,
  };
  const isDeclined = failure !== null && (failure.code !== decline?.code || failure.source !== decline.source);
  const hasNewCard = !started.payments.includes(payment);
  const isNamed = progressed.chargeReference !== payment.chargeReference;
  const isChanged = isMoved || isDeclined || hasNewCard || isNamed;
  const next = isChanged ? withPayment(started, progressed) : started;
  const decision = announcePending(before, next, isChanged ? progressed : payment, 'applied');
  if (!requiresCapture) return decision;
  const { effects } = decision;
  return changed(before, decision.next, 'applied', [...effects, { type: 'capture_at_provider', payment: progressed }]);
}

/** Adds the charge reference that the provider reported to a decision about money, and the cost if the payment is paid. */
function withChargeDetails<Outcome extends string>(
  before: Checkout,
  { outcome, next, effects }: Decision<Outcome>,
  paymentId: string,
  { chargeReference = null, cost = null }: ProviderEvent,
  now: Instant,
): Decision<Outcome | 'applied'> {
  const payment = next.payments.find(({ id }) => id === paymentId)!;
  const { charged, booked } = withCost(payment, payment.status === 'paid' ? cost : null, now);
  const isNamed = chargeReference !== null && payment.chargeReference === null;
  if (charged === payment && !isNamed) return { outcome, next, effects };
  const detailed: Payment = { ...charged, chargeReference: payment.chargeReference ?? chargeReference };
  const applied = outcome === 'ignored' ? 'applied' : outcome;
  return changed(before, withPayment(next, detailed), applied, [...effects, ...booked]);
}

/** Adds the settlement of a payment whose money the merchant can use already to a decision about the paid payment. */
function withSettlement<Outcome extends string>(
  before: Checkout,
  decision: Decision<Outcome>,
  paymentId: string,
  { settledAt = null, chargeReference: reference = null }: ProviderEvent,
  now: Instant,
): Decision<Outcome | 'applied'> {
  if (settledAt === null) return decision;
  const report = { source: 'provider', amount: null, reference, settledAt } as const;
  const { outcome, next, effects } = recordSettlement(decision.next, paymentId, report, now);
  if (outcome !== 'settled') return decision;
  const applied = decision.outcome === 'ignored' ? 'applied' : decision.outcome;
  return changed(before, next, applied, [...decision.effects, ...effects]);
}

/** Opens an attempt that the provider reported before the service knew of it. No inquiry is sent about such an attempt. */
function openUnstarted(checkout: Checkout, attempt: NewAttempt, now: Instant): Checkout {
  const counted = withSession(checkout, { attempts: checkout.session.attempts + 1 });
  const opened = openAttempt(counted, attempt, now);
  return withPayment(opened, { ...opened.payments.at(-1)!, inquireAt: null });
}
