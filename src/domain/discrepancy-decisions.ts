import { type Decision, changed, unchanged, withPayment } from './checkout-state.ts';
import { amountSubject, bookDiscrepancy, heldAmount, isBookable, resolved, withDiscrepancy } from './discrepancy.ts';
import type { Cents } from './money.ts';
import { receivePayment } from './receipts.ts';
import type { Checkout, Discrepancy, Instant, Payment } from './records.ts';
import { asForeign, recordForeignRefund, surplusRefund, withMismatchRefund, withRefund } from './refund-decisions.ts';
import { ledgerStatusOf, leftOf } from './refund-record.ts';

/** Outcome of an operator's decision about a discrepancy. `closed`: the discrepancy is resolved, and nothing is booked. */
export type Resolved = 'accepted' | 'refunding' | 'closed' | 'already_paid' | 'too_little' | 'nothing_left';

/** Accepts the money of a discrepancy for the merchant. */
export function acceptMoney(checkout: Checkout, discrepancy: Discrepancy, now: Instant): Decision<Resolved> {
  const accepted = withDiscrepancy(checkout, resolved(discrepancy, 'accepted', now));
  const payment = paymentOf(checkout, discrepancy);
  if (!payment) return { outcome: 'closed', next: accepted, effects: [] };
  if (discrepancy.kind === 'surplus') return acceptSurplus(checkout, accepted, payment, discrepancy, now);
  const held = heldAmount(payment, discrepancy);
  // After a failed refund, the ledger still books the money as owed to the buyer.
  const owed = discrepancy.refundId === null ? 0 : held;
  const accepting: Payment = { ...payment, mismatchRefundFailed: payment.mismatchRefundFailed - owed };
  if (payment.status === 'paid' && !payment.surplus) {
    return acceptExcess(checkout, accepted, accepting, discrepancy, { held, owed }, now);
  }
  // Another payment has paid the session, so money of a second payment belongs to the buyer.
  if (checkout.session.status === 'paid') return unchanged(checkout, 'already_paid');
  const missing = payment.fees.total - held;
  if (missing > payment.fees.merchantNet) return unchanged(checkout, 'too_little');

  const paid = receivePayment(checkout, accepted, { ...accepting, shortfall: missing }, now);
  const adjustment = bookDiscrepancy(discrepancy, 'adjustment', payment, now, [
    { account: 'provider_clearing', amount: -missing - owed },
    { account: 'merchant_payable', amount: missing },
    { account: 'buyer_refunds_payable', amount: owed },
  ]);
  return { outcome: 'accepted', next: paid.next, effects: [...paid.effects, ...adjustment] };
}

/** Refunds the money of a discrepancy to the buyer. */
export function refundMoney(
  checkout: Checkout,
  discrepancy: Discrepancy,
  refundId: string,
  now: Instant,
): Decision<Resolved> {
  const payment = paymentOf(checkout, discrepancy)!;
  if (discrepancy.kind === 'surplus') {
    const amount = leftOf(payment).total;
    if (amount <= 0) return unchanged(checkout, 'nothing_left');
    const { next, effects } = withRefund(checkout, payment, { ...surplusRefund(payment, refundId), amount }, now);
    return changed(checkout, next, 'refunding', effects);
  }
  const amount = heldAmount(payment, discrepancy);
  const { next, effects } = withMismatchRefund(checkout, payment, discrepancy, { refundId, amount }, now);
  if (discrepancy.refundId !== null) return changed(checkout, next, 'refunding', effects);
  const booked = bookDiscrepancy(discrepancy, 'received', payment, now, [
    { account: 'provider_clearing', amount },
    { account: 'buyer_refunds_payable', amount: -amount },
  ]);
  return changed(checkout, next, 'refunding', [...booked, ...effects]);
}

/** A refund that was made at the provider itself. */
interface ForeignRefund {
  refundId: string;
  /** Id of the record of the wrong money that the refund leaves. */
  restId: string;
  amount: Cents;
  /** The provider's id of the refund. */
  reference: string;
  /** As in {@link RefundReport}. */
  charge?: string | undefined;
}

/**
 * Records a refund that was made at the provider itself as a refund of the payment or of its wrong money. A refund of a further charge
 * leaves the money of the paid order untouched; accepted money of such a charge is part of the payment.
 */
export function recordRefundAtProvider(
  checkout: Checkout,
  payment: Payment,
  made: ForeignRefund,
  now: Instant,
): Decision<'applied' | 'not_paid' | 'refund_excess'> {
  const { chargeReference, shortfall } = payment;
  const isOfOther = made.charge !== undefined && chargeReference !== null && made.charge !== chargeReference;
  const ofPayment = () => recordForeignRefund(checkout, payment, made, now);
  const ofWrongMoney = () => recordRefundOfWrongMoney(checkout, payment, made, now);
  const first = isOfOther ? ofWrongMoney() : ofPayment();
  if (first.outcome !== 'refund_excess') return first;
  if (!isOfOther) return ofWrongMoney();
  return made.amount <= -shortfall ? ofPayment() : first;
}

/** If the refund is a part of the wrong money, the rest gets a record of its own. */
function recordRefundOfWrongMoney(
  checkout: Checkout,
  payment: Payment,
  { refundId, restId, amount, reference }: ForeignRefund,
  now: Instant,
): Decision<'applied' | 'refund_excess'> {
  const fits = (one: Discrepancy) => {
    if (one.kind !== 'amount_mismatch' || one.paymentId !== payment.id) return false;
    if (one.status !== 'open' || one.refunding) return false;
    const rest = heldAmount(payment, one) - amount;
    // Money whose refund has failed is booked as a whole.
    return rest === 0 || (rest > 0 && one.refundId === null);
  };
  const found = checkout.discrepancies.find(fits);
  if (!found || amount <= 0) return unchanged(checkout, 'refund_excess');
  const rest = heldAmount(payment, found) - amount;
  const part = rest > 0 ? { ...found, expected: 0, received: amount } : found;
  const { next, effects } = refundMoney(withDiscrepancy(checkout, part), part, refundId, now);
  const subject = amountSubject(next.payments.find(({ id }) => id === payment.id)!);
  const left = { ...found, id: restId, version: 1, created: now, subject, expected: 0, received: rest };
  const discrepancies = rest > 0 ? [...next.discrepancies, left] : next.discrepancies;
  return changed(checkout, { ...next, discrepancies }, 'applied', asForeign(effects, reference));
}

/** Accepts for the merchant the money that exceeds the amount of a paid payment. */
function acceptExcess(
  before: Checkout,
  accepted: Checkout,
  payment: Payment,
  discrepancy: Discrepancy,
  { held, owed }: { held: Cents; owed: Cents },
  now: Instant,
): Decision<Resolved> {
  const more: Payment = { ...payment, shortfall: payment.shortfall - held };
  const next = withPayment(accepted, { ...more, ledgerStatus: ledgerStatusOf(more) });
  const booked = bookDiscrepancy(discrepancy, 'adjustment', payment, now, [
    { account: 'provider_clearing', amount: held - owed },
    { account: 'buyer_refunds_payable', amount: owed },
    { account: 'merchant_payable', amount: -held },
  ]);
  return changed(before, next, 'accepted', booked);
}

/** Accepts for the merchant the unrefunded rest of a surplus payment, which the ledger owed to the buyer. */
function acceptSurplus(
  before: Checkout,
  accepted: Checkout,
  payment: Payment,
  discrepancy: Discrepancy,
  now: Instant,
): Decision<Resolved> {
  const { total } = leftOf(payment);
  if (total <= 0) return unchanged(before, 'nothing_left');
  const booked = bookDiscrepancy(discrepancy, 'adjustment', payment, now, [
    { account: 'buyer_refunds_payable', amount: total },
    { account: 'merchant_payable', amount: -total },
  ]);
  return changed(before, withPayment(accepted, { ...payment, surplusAccepted: true }), 'accepted', booked);
}

function paymentOf({ payments }: Checkout, discrepancy: Discrepancy): Payment | undefined {
  return isBookable(discrepancy) ? payments.find(({ id }) => id === discrepancy.paymentId) : undefined;
}
