import {
  type Decision,
  type Effect,
  changed,
  failPayment,
  pendingPayment,
  unchanged,
  withInvoice,
  withPayment,
  withSession,
} from './checkout-state.ts';
import {
  amountSubject,
  bookDiscrepancy,
  decidedAmount,
  heldAmount,
  openDiscrepancy,
  resolved,
  takenAmount,
} from './discrepancy.ts';
import type { Failure } from './failure.ts';
import { paidPosting, posting } from './ledger.ts';
import type { Cents } from './money.ts';
import { CURRENCY, type Checkout, type Discrepancy, type Instant, type Payment } from './records.ts';
import { surplusRefund, withRefund } from './refund-decisions.ts';
import { ledgerStatusOf } from './refund-record.ts';

const SUPERSEDED: Failure = { code: 'superseded', source: 'buyer', reason: null };

/** Ids for the refund and the discrepancy of surplus money, which the caller has already created. */
export interface SurplusIds {
  refundId: string;
  discrepancyId: string;
}

/**
 * Applies a provider's report of all the money that it has taken for a payment so far. This amount only grows. If it equals the
 * total, without refunded wrong amounts, the payment is paid or its shortfall is made up. A report of at most the decided amount is
 * out of date.
 */
export function receiveReport(
  before: Checkout,
  started: Checkout,
  payment: Payment,
  { amount, txHash }: { amount: Cents; txHash: string | null },
  ids: SurplusIds,
  now: Instant,
): Decision<'applied' | 'ignored' | 'amount_mismatch'> {
  const taken = takenAmount(payment, amount);
  const decided = decidedAmount(payment);
  const isRight = taken >= decided && taken - payment.mismatchRefunded === payment.fees.total;
  // Money whose refund failed is part of the right amount.
  const whole: Payment = { ...payment, mismatchRefundFailed: 0 };
  if (isRight && payment.status !== 'paid') {
    const paying: Payment = { ...whole, txHash: txHash ?? payment.txHash };
    const isSurplus = started.session.status === 'paid';
    const received = isSurplus
      ? receiveSurplus(before, started, paying, ids, now)
      : receivePayment(before, started, paying, now);
    return resolvePaidInFull(received, payment, now);
  }
  if (isRight && payment.shortfall > 0) return resolvePaidInFull(receiveRest(before, whole, now), payment, now);
  return unchanged(before, taken <= decided && decided > 0 ? 'ignored' : 'amount_mismatch');
}

/** Marks the payment and its session as paid. Another pending payment of the session fails and is cancelled at its provider. */
export function receivePayment(
  before: Checkout,
  started: Checkout,
  payment: Payment,
  now: Instant,
): Decision<'applied'> {
  const paid = paidPayment(payment, false);
  const effects: Effect[] = [
    { type: 'post', posting: paidPosting(paid, now) },
    { type: 'announce', status: 'paid', payment: paid },
  ];
  let next = withInvoice(withPayment(started, paid), paid.id, 'paid');
  const rival = pendingPayment(next);
  if (rival) {
    next = failPayment(next, rival, SUPERSEDED, now);
    effects.push({ type: 'cancel_at_provider', payment: rival });
  }
  return changed(before, withSession(next, { status: 'paid', retryUntil: null }), 'applied', effects);
}

/** Books a second payment of a paid session and requests its refund. The discrepancy stays open until the refund has succeeded. */
function receiveSurplus(
  before: Checkout,
  started: Checkout,
  payment: Payment,
  { refundId, discrepancyId }: SurplusIds,
  now: Instant,
): Decision<'applied'> {
  const paid = paidPayment(payment, true);
  const discrepancy: Discrepancy = {
    ...openDiscrepancy(started.session, paid.route.provider, now),
    id: discrepancyId,
    kind: 'surplus',
    paymentId: paid.id,
    subject: paid.id,
    eventId: null,
    expected: 0,
    received: paid.amount,
    currency: CURRENCY,
  };
  const listed = { ...started, discrepancies: [...started.discrepancies, discrepancy] };
  const voided = withInvoice(withPayment(listed, paid), paid.id, 'void');
  const { next, effects } = withRefund(voided, paid, surplusRefund(paid, refundId), now);
  return changed(before, next, 'applied', [{ type: 'post', posting: paidPosting(paid, now) }, ...effects]);
}

function paidPayment(payment: Payment, surplus: boolean): Payment {
  const noFailure = { failureCode: null, failureSource: null, failureReason: null };
  return { ...payment, ...noFailure, handoffUncertain: false, status: 'paid', surplus, inquireAt: null };
}

/** Books the shortfall of an accepted payment, which arrived later, for the merchant. */
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

/** Resolves the open `amount_mismatch` discrepancies of a payment whose right amount has arrived. An excess stays open. */
function resolvePaidInFull(
  { outcome, next, effects }: Decision<'applied'>,
  earlier: Payment,
  now: Instant,
): Decision<'applied'> {
  const payment = next.payments.find(({ id }) => id === earlier.id)!;
  const growth = decidedAmount(payment) - decidedAmount(earlier);
  const isOpen = ({ paymentId, kind, status, refunding }: Discrepancy) =>
    paymentId === payment.id && kind === 'amount_mismatch' && status === 'open' && !refunding;
  const adjustments: Effect[] = [];
  const discrepancies = next.discrepancies.map((one) => {
    if (!isOpen(one)) return one;
    const held = heldAmount(payment, one);
    if (one.refundId === null && one.subject === amountSubject(earlier) && held > growth) {
      return { ...one, subject: amountSubject(payment), expected: 0, received: held - growth };
    }
    // The refund of this discrepancy failed, so its money was still booked as owed to the buyer.
    if (one.refundId !== null) {
      adjustments.push(
        ...bookDiscrepancy(one, 'adjustment', payment, now, [
          { account: 'provider_clearing', amount: -held },
          { account: 'buyer_refunds_payable', amount: held },
        ]),
      );
    }
    return resolved(one, 'paid_in_full', now);
  });
  return { outcome, next: { ...next, discrepancies }, effects: [...effects, ...adjustments] };
}
