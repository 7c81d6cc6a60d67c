import type { Effect } from './checkout-state.ts';
import { type LedgerEntry, posting } from './ledger.ts';
import type { Cents } from './money.ts';
import type { Checkout, Discrepancy, Instant, Payment, Session } from './records.ts';
import type { Refund } from './refund-record.ts';

/** `refund`: the buyer gets the money back. `accept`: the merchant takes it, or the record is only closed if nothing can be booked. */
export type DiscrepancyAction = 'refund' | 'accept';

/** Actions that an operator can take now. */
export function actionsOf(discrepancy: Discrepancy): DiscrepancyAction[] {
  if (discrepancy.status === 'resolved' || discrepancy.refunding) return [];
  return isBookable(discrepancy) ? ['refund', 'accept'] : ['accept'];
}

/** Whether it holds money that can be booked. Money of another currency or environment, or of an unknown payment, cannot. */
export function isBookable({
  kind,
  paymentId,
  received,
}: Pick<Discrepancy, 'kind' | 'paymentId' | 'received'>): boolean {
  return (kind === 'surplus' || kind === 'amount_mismatch') && paymentId !== null && received > 0;
}

/** Fields of a discrepancy that nobody has decided on. */
export function openDiscrepancy(session: Session, provider: string, created: Instant) {
  return {
    environment: session.environment,
    status: 'open' as const,
    version: 1,
    sessionId: session.id,
    customerId: session.customerId,
    provider,
    refunding: false,
    refundId: null,
    resolution: null,
    note: null,
    created,
    resolvedAt: null,
  };
}

export function resolved(discrepancy: Discrepancy, resolution: Discrepancy['resolution'], now: Instant): Discrepancy {
  return { ...discrepancy, status: 'resolved', resolution, resolvedAt: now };
}

export function withDiscrepancy(checkout: Checkout, changed: Discrepancy): Checkout {
  return { ...checkout, discrepancies: checkout.discrepancies.map((one) => (one.id === changed.id ? changed : one)) };
}

/** Money of a payment that is decided on: accepted as its payment, refunded, or failed to be refunded. It only grows. */
export function decidedAmount({
  status,
  fees,
  shortfall,
  mismatchRefunded: returned,
  mismatchRefundFailed: owed,
}: Payment): Cents {
  return (status === 'paid' ? fees.total - shortfall : 0) + returned + owed;
}

/** Money that the provider took of a payment, with the buyer's fee, if it reports `amount` of the session's amount. */
export function takenAmount({ fees, amount: asked }: Payment, amount: Cents): Cents {
  return fees.total - (asked - amount);
}

/** Money that a discrepancy holds: the part of the payment that arrived, with the buyer's fee, or the excess. */
export function heldAmount({ fees }: Payment, { expected, received }: Discrepancy): Cents {
  return expected === 0 ? received : fees.total - (expected - received);
}

/** Subject of the undecided money of a payment. */
export function amountSubject(payment: Payment): string {
  const decided = decidedAmount(payment);
  return decided === 0 ? payment.id : `${payment.id}/${decided}`;
}

/** The checkout after a change of one of its refunds. Every refund of a surplus payment is about its discrepancy. */
export function followRefund(checkout: Checkout, refund: Refund): Checkout {
  const payment = checkout.payments.find(({ id }) => id === refund.paymentId)!;
  const discrepancies = checkout.discrepancies.map((one) =>
    isAbout(one, refund) ? afterRefund(one, payment, refund) : one,
  );
  return { ...checkout, discrepancies };
}

function isAbout({ kind, paymentId, refundId }: Discrepancy, refund: Refund): boolean {
  if (paymentId !== refund.paymentId) return false;
  return refund.reason === 'mismatch' ? kind === 'amount_mismatch' && refundId === refund.id : kind === 'surplus';
}

/** Resolved once all its money is refunded; open again if a refund fails after it had succeeded. */
function afterRefund(one: Discrepancy, payment: Payment, { id: refundId, status, updated }: Refund): Discrepancy {
  const isReopened = one.resolution === 'refunded' && status === 'failed';
  if (one.status === 'resolved' && !isReopened) return one;
  const isSurplus = one.kind === 'surplus';
  const refunding = isSurplus ? payment.refundPending > 0 : status === 'pending';
  const isRefunded = status === 'succeeded' && !refunding && (!isSurplus || payment.refunded >= payment.fees.total);
  const next: Discrepancy = { ...one, refundId, refunding, status: 'open', resolution: null, resolvedAt: null };
  return isRefunded ? resolved(next, 'refunded', updated) : next;
}

/** Posting about a discrepancy: `received` at most once, before the first refund of a wrong amount; `adjustment` if accepted. */
export function bookDiscrepancy(
  { id }: Discrepancy,
  what: 'received' | 'adjustment',
  { id: paymentId, sessionId }: Payment,
  created: Instant,
  entries: LedgerEntry[],
): Effect[] {
  const head = { id: `${id}:${what}`, paymentId, sessionId, kind: 'adjustment' as const, refundId: null, created };
  const booked = posting(head, entries);
  return booked.entries.length === 0 ? [] : [{ type: 'post', posting: booked }];
}
