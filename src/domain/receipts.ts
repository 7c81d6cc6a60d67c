import {
  type Decision,
  type Effect,
  cleared,
  changed,
  failPayment,
  pendingPayment,
  unchanged,
  withInvoice,
  withPayment,
  withSession,
} from './checkout-state.ts';
import type { Failure } from './failure.ts';
import { paidPosting, posting } from './ledger.ts';
import type { Cents } from './money.ts';
import type { Checkout, Instant, Payment } from './records.ts';
import { surplusRefund, withRefund } from './refund-decisions.ts';
import { ledgerStatusOf } from './refund.ts';

const SUPERSEDED: Failure = { code: 'superseded', source: 'buyer', reason: null };

/** All that came of a payment and is decided on: what it was paid with, what went back, and what could not go back. It only grows. */
export function accountedFor({ status, fees, shortfall, returned, owed }: Payment): Cents {
  return (status === 'paid' ? fees.total - shortfall : 0) + returned + owed;
}

/** What a provider took beyond what is accounted for, where it says that it took so much of the session's amount. */
export function growthOf(payment: Payment, amount: Cents): Cents {
  return tookOf(payment, amount) - accountedFor(payment);
}

/** With the buyer's fee, since that is what the provider takes. */
function tookOf({ fees, amount: asked }: Payment, amount: Cents): Cents {
  return fees.total - (asked - amount);
}

/**
 * A provider says how much of a payment it has taken, which is all of it so far and only grows. The payment is paid, or
 * made up for, where that is the right amount besides what went back; a word of no more than is accounted for is an older
 * one.
 */
export function receiveWord(
  before: Checkout,
  started: Checkout,
  payment: Payment,
  { amount, txHash }: { amount: Cents; txHash: string | null },
  ids: { refundId: string },
  now: Instant,
): Decision<'applied' | 'ignored' | 'amount_mismatch'> {
  const growth = growthOf(payment, amount);
  if (growth >= 0 && tookOf(payment, amount) - payment.returned === payment.fees.total) {
    // What could not go back is part of it.
    const whole: Payment = { ...payment, owed: 0 };
    if (payment.status !== 'paid') {
      return receiveMoney(before, started, { ...whole, txHash: txHash ?? payment.txHash }, ids, now);
    }
    if (payment.shortfall > 0) return receiveRest(before, whole, now);
  }
  return unchanged(before, growth <= 0 && accountedFor(payment) > 0 ? 'ignored' : 'amount_mismatch');
}

/** Money for a payment has come: it pays the session, or comes on top of what has. */
export function receiveMoney(
  before: Checkout,
  started: Checkout,
  payment: Payment,
  { refundId }: { refundId: string },
  now: Instant,
): Decision<'applied'> {
  const surplus = started.session.status === 'paid';
  const paid: Payment = {
    ...cleared(payment),
    status: 'paid',
    surplus,
    failureCode: null,
    failureSource: null,
    failureReason: null,
    inquireAt: null,
  };
  const posted: Effect = { type: 'post', posting: paidPosting(paid, now) };
  if (surplus) {
    const kept = withInvoice(withPayment(started, paid), paid.id, 'void');
    const { next, effects } = withRefund(kept, paid, surplusRefund(paid, refundId), now);
    return changed(before, next, 'applied', [posted, ...effects]);
  }

  const effects: Effect[] = [posted, { type: 'announce', status: 'paid', payment: paid }];
  let next = withInvoice(withPayment(started, paid), paid.id, 'paid');
  const rival = pendingPayment(next);
  if (rival) {
    next = failPayment(next, rival, SUPERSEDED, now);
    effects.push({ type: 'cancel_at_provider', payment: rival });
  }
  return changed(before, withSession(next, { status: 'paid', retryUntil: null }), 'applied', effects);
}

/** What was short of a payment that the merchant took all the same has come after all, and is the merchant's. */
function receiveRest(checkout: Checkout, payment: Payment, now: Instant): Decision<'applied'> {
  const { id, sessionId, shortfall } = payment;
  const head = { id: `${id}:adjustment`, paymentId: id, sessionId, kind: 'adjustment' as const, refundId: null };
  const booked = posting({ ...head, created: now }, [
    { account: 'provider_clearing', amount: shortfall },
    { account: 'merchant_payable', amount: -shortfall },
  ]);
  const full: Payment = { ...payment, shortfall: 0 };
  const next = withPayment(checkout, { ...full, ledgerStatus: ledgerStatusOf(full) });
  return changed(checkout, next, 'applied', [{ type: 'post', posting: booked }]);
}
