import { type Decision, type Effect, changed, posted, unchanged, withPayment } from './checkout-state.ts';
import { followRefund, withDiscrepancy } from './discrepancy.ts';
import { providerText } from './failure.ts';
import { type Posting, type LedgerEntry, posting } from './ledger.ts';
import type { Cents } from './money.ts';
import type { Checkout, Discrepancy, Instant, Payment } from './records.ts';
import {
  type Refund,
  type RefundOrder,
  type RefundOutcome,
  type RefundShares,
  type RefundStatus,
  ledgerStatusOf,
  leftOf,
} from './refund-record.ts';

/** Requests a refund of at most the rest of the payment. */
export function requestRefund(
  checkout: Checkout,
  order: RefundOrder,
  now: Instant,
): Decision<'requested' | 'not_paid' | 'nothing_left' | 'too_much'> {
  const payment = checkout.payments.find(({ id }) => id === order.paymentId);
  if (payment?.status !== 'paid') return unchanged(checkout, 'not_paid');
  const left = leftOf(payment).total;
  if (left <= 0) return unchanged(checkout, 'nothing_left');
  const amount = order.amount ?? left;
  if (amount > left) return unchanged(checkout, 'too_much');

  const { next, effects } = withRefund(checkout, payment, { ...order, amount }, now);
  return changed(checkout, next, 'requested', effects);
}

/** Automatic refund of a whole surplus payment. */
export function surplusRefund(payment: Payment, refundId: string): RefundOrder & { amount: Cents } {
  const amount = payment.fees.total;
  return { refundId, paymentId: payment.id, amount, reason: 'surplus', idempotencyKey: null, requestHash: null };
}

/** The checkout with a refund of `amount`, which is not more than the rest of the payment. */
export function withRefund(
  checkout: Checkout,
  payment: Payment,
  order: RefundOrder & { amount: Cents },
  now: Instant,
): { next: Checkout; effects: Effect[] } {
  return requested(checkout, payment, newRefund(payment, order, sharesOf(payment, order.amount), now), now);
}

/** The checkout with a refund of a wrong amount, which is not part of the payment; the ledger already owes it to the buyer. */
export function withMismatchRefund(
  checkout: Checkout,
  payment: Payment,
  discrepancy: Discrepancy,
  { refundId, amount }: { refundId: string; amount: Cents },
  now: Instant,
): { next: Checkout; effects: Effect[] } {
  const order = { refundId, paymentId: payment.id, amount, idempotencyKey: null, requestHash: null };
  const shares = { merchant: 0, gateway: 0, cost: 0 };
  const refund = newRefund(payment, { ...order, reason: 'mismatch' }, shares, now);
  const isRepeated = discrepancy.refundId !== null;
  const tried: Payment = isRepeated
    ? { ...payment, mismatchRefundFailed: payment.mismatchRefundFailed - amount }
    : payment;
  return requested(withDiscrepancy(checkout, { ...discrepancy, refundId }), tried, refund, now);
}

function requested(checkout: Checkout, payment: Payment, refund: Refund, now: Instant) {
  const next = followRefund(withPayment(checkout, moved(payment, refund, 'none', 'pending')), refund);
  const booked = posting(headOf(refund, 'refund', now), owedEntries(refund));
  const effects: Effect[] = [{ type: 'refund_requested', refund }, ...posted(booked)];
  return { next, effects };
}

/**
 * Records a refund that was made at the provider itself. A refund of more than the rest of the payment is not booked. The refund is
 * pending until a report gives its result.
 */
export function recordForeignRefund(
  checkout: Checkout,
  payment: Payment,
  { refundId, amount, reference }: { refundId: string; amount: Cents; reference: string },
  now: Instant,
): Decision<'applied' | 'refund_excess'> {
  if (payment.status !== 'paid' || amount <= 0 || amount > leftOf(payment).total) {
    return unchanged(checkout, 'refund_excess');
  }
  const order = { refundId, paymentId: payment.id, amount, reason: 'other' as const };
  const keys = { idempotencyKey: null, requestHash: null };
  const made = newRefund(payment, { ...order, ...keys }, sharesOf(payment, amount), now);
  const { next, effects } = requested(checkout, payment, made, now);
  return changed(checkout, next, 'applied', asForeign(effects, reference));
}

/** The effects of a refund that was made at the provider itself, with its id there. */
export function asForeign(effects: readonly Effect[], providerReference: string): Effect[] {
  return effects.map((effect) =>
    effect.type === 'refund_requested'
      ? { ...effect, refund: { ...effect.refund, providerReference }, isForeign: true }
      : effect,
  );
}

/**
 * Applies a report on a refund. Reports may arrive repeatedly and in any order. A failure is final, and can follow a success. The
 * ledger takes a refund from `provider_clearing` once the provider has deducted it, and returns it with a failure.
 */
export function applyRefundReport(
  checkout: Checkout,
  refund: Refund,
  { status, deducted: isDeducted = false, reason, reference }: RefundOutcome,
  now: Instant,
): Decision<'applied' | 'ignored'> {
  const payment = checkout.payments.find(({ id }) => id === refund.paymentId);
  const deducted = refund.deducted || status === 'succeeded' || (status === 'pending' && isDeducted);
  const follows = refund.status === 'pending' || (refund.status === 'succeeded' && status === 'failed');
  const isNews = status !== refund.status || deducted !== refund.deducted;
  if (!payment || !follows || !isNews) return unchanged(checkout, 'ignored');

  const failureReason = status === 'failed' ? (providerText(reason) ?? 'the provider gives no reason') : null;
  const providerReference = refund.providerReference ?? reference ?? null;
  const after: Refund = { ...refund, status, deducted, failureReason, providerReference, updated: now };
  const next = followRefund(withPayment(checkout, moved(payment, refund, refund.status, status)), after);
  const effects: Effect[] = [{ type: 'refund_changed', refund: after, from: refund.status }];
  if (status === 'failed') effects.push(...posted(refundFailedPosting(refund, now)));
  else if (!refund.deducted) {
    effects.push({ type: 'post', posting: posting(headOf(refund, 'refund_paid', now), paidOutEntries(refund)) });
  }
  // Money that was already owed to the buyer was never the merchant's, so its refund sends no event.
  if ((status === 'succeeded' || refund.status === 'succeeded') && !takesNothing(refund)) {
    effects.push({ type: 'announce_refund', payment, refund: after });
  }
  if (status === 'failed' && payment.surplusAccepted && refund.reason !== 'mismatch' && takesNothing(refund)) {
    effects.push({ type: 'post', posting: refundKeptPosting(refund, now) });
  }
  return changed(checkout, next, 'applied', effects);
}

/** True if the refund takes nothing from merchant and gateway, because its money was owed to the buyer from the start. */
function takesNothing({ shares }: Refund): boolean {
  return shares.merchant === 0 && shares.gateway === 0;
}

function newRefund(
  { id: paymentId, sessionId, environment }: Payment,
  { refundId: id, amount, reason, idempotencyKey, requestHash }: RefundOrder & { amount: Cents },
  shares: RefundShares,
  now: Instant,
): Refund {
  const about = { id, paymentId, sessionId, environment, amount, shares, reason, idempotencyKey, requestHash };
  const state = { status: 'pending', deducted: false, failureReason: null, providerReference: null } as const;
  return { ...about, ...state, created: now, updated: now };
}

/** The payment with its refund sums after a refund changed its status. Refunds of wrong amounts have sums of their own. */
function moved(
  payment: Payment,
  { amount, shares, reason }: Refund,
  from: RefundStatus | 'none',
  to: RefundStatus,
): Payment {
  const taken = Number(to !== 'failed') - Number(from === 'pending' || from === 'succeeded');
  if (reason === 'mismatch') {
    const failed = to === 'failed' ? amount : 0;
    return {
      ...payment,
      mismatchRefunded: payment.mismatchRefunded + taken * amount,
      mismatchRefundFailed: payment.mismatchRefundFailed + failed,
    };
  }
  const { refunded, refundPending, refundShares } = payment;
  const next: Payment = {
    ...payment,
    refunded: refunded + amount * (Number(to === 'succeeded') - Number(from === 'succeeded')),
    refundPending: refundPending + amount * (Number(to === 'pending') - Number(from === 'pending')),
    refundShares: {
      gateway: refundShares.gateway + taken * shares.gateway,
      cost: refundShares.cost + taken * shares.cost,
    },
  };
  return { ...next, ledgerStatus: ledgerStatusOf(next) };
}

/** Shares of a refund, in proportion to the rest of the payment, so that the last refund takes the whole rest. */
function sharesOf(payment: Payment, amount: Cents): RefundShares {
  const left = leftOf(payment);
  // The merchant alone bears reversed money, so it does not change the shares of the gateway and the provider.
  const whole = left.total + payment.reversed;
  const gateway = proportion(left.gateway, amount, whole);
  return {
    merchant: left.merchant === 0 && left.gateway === 0 ? 0 : amount - gateway,
    gateway,
    cost: proportion(left.cost, amount, whole),
  };
}

/** `part * amount / whole`, rounded half up, in integers: exact, since no payment is near 2^25 cents. */
function proportion(part: Cents, amount: Cents, whole: Cents): Cents {
  const scaled = 2 * part * amount + whole;
  return (scaled - (scaled % (2 * whole))) / (2 * whole);
}

/** Posting of a failed refund, which cancels all earlier postings of that refund. */
function refundFailedPosting(refund: Refund, now: Instant): Posting {
  const booked = [...owedEntries(refund), ...(refund.deducted ? paidOutEntries(refund) : [])];
  return posting(
    headOf(refund, 'refund_failed', now),
    booked.map(({ account, amount }) => ({ account, amount: -amount })),
  );
}

/** Posting of a failed refund of a surplus payment whose rest an operator accepted. The merchant gets the unrefunded money too. */
function refundKeptPosting(refund: Refund, now: Instant): Posting {
  return posting({ ...headOf(refund, 'adjustment', now), refundId: null }, [
    { account: 'buyer_refunds_payable', amount: refund.amount },
    { account: 'merchant_payable', amount: -refund.amount },
  ]);
}

/** Moves the shares of the merchant and the gateway to the buyer; all 0 if the money was owed to the buyer before. */
function owedEntries({ shares }: Refund): LedgerEntry[] {
  return [
    { account: 'merchant_payable', amount: shares.merchant },
    { account: 'gateway_revenue', amount: shares.gateway },
    { account: 'buyer_refunds_payable', amount: -(shares.merchant + shares.gateway) },
  ];
}

/** Entries of a refund that the provider has deducted. The provider returns its cost in proportion. */
function paidOutEntries({ amount, shares }: Refund): LedgerEntry[] {
  return [
    { account: 'buyer_refunds_payable', amount },
    { account: 'provider_clearing', amount: -(amount - shares.cost) },
    { account: 'provider_cost', amount: -shares.cost },
  ];
}

function headOf({ id, paymentId, sessionId }: Refund, kind: Posting['kind'], created: Instant) {
  return { id: `${id}:${kind}`, paymentId, sessionId, kind, refundId: id, created };
}
