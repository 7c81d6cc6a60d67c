import { type Decision, changed, posted, unchanged, withPayment } from './checkout-state.ts';
import { openDiscrepancy, resolved, withDiscrepancy } from './discrepancy.ts';
import { providerText } from './failure.ts';
import { posting } from './ledger.ts';
import { CURRENCY, type Checkout, type Discrepancy, type Instant, type Payment } from './records.ts';
import type { Reversal, ReversalState } from './reversal.ts';

/**
 * Books the difference between a report on a reversal and `known`, its stored state. Older reports are ignored. The
 * payment stays paid, but its reversed money can no longer be refunded.
 */
export function applyReversal(
  checkout: Checkout,
  payment: Payment,
  known: Reversal | undefined,
  report: ReversalState,
  ids: { reversalId: string; discrepancyId: string },
  now: Instant,
): Decision<'applied' | 'ignored' | 'not_paid'> {
  if (payment.status !== 'paid') return unchanged(checkout, 'not_paid');
  if (known && report.revision <= known.revision) return unchanged(checkout, 'ignored');

  const { id: paymentId, sessionId, environment } = payment;
  const first = { id: ids.reversalId, paymentId, sessionId, environment, created: now, taken: 0, fee: 0 };
  const earlier = known ?? first;
  const reversal: Reversal = { ...earlier, ...report, reason: providerText(report.reason), updated: now };
  const taken = reversal.taken - earlier.taken;
  const fee = reversal.fee - earlier.fee;
  // Surplus money that was not accepted is the buyer's.
  const owner = payment.surplus && !payment.surplusAccepted ? 'buyer_refunds_payable' : 'merchant_payable';
  const head = { id: `${reversal.id}:${reversal.revision}`, paymentId, sessionId, refundId: null, created: now };
  const booked = posting({ ...head, kind: 'reversal' }, [
    { account: owner, amount: taken },
    { account: 'provider_cost', amount: fee },
    { account: 'provider_clearing', amount: -(taken + fee) },
  ]);
  const next = withPayment(listed(checkout, payment, reversal, ids.discrepancyId, now), {
    ...payment,
    reversed: payment.reversed + taken,
  });
  return changed(checkout, next, 'applied', [
    ...posted(booked),
    { type: 'reversal_changed', reversal, from: known?.revision ?? null },
    { type: 'announce_dispute', payment, reversal },
  ]);
}

/** The checkout with the discrepancy of a reversal, which stays open until the reversal is won or an operator resolves it. */
function listed(
  checkout: Checkout,
  payment: Payment,
  { id, status, taken }: Reversal,
  discrepancyId: string,
  now: Instant,
): Checkout {
  const known = checkout.discrepancies.find(({ kind, subject }) => kind === 'reversal' && subject === id);
  if (known) {
    const shown = { ...known, received: taken };
    if (known.resolution !== null && known.resolution !== 'paid_in_full') return withDiscrepancy(checkout, shown);
    const open: Discrepancy = { ...shown, status: 'open', resolution: null, resolvedAt: null };
    return withDiscrepancy(checkout, status === 'won' ? resolved(open, 'paid_in_full', now) : open);
  }
  const about = { kind: 'reversal' as const, paymentId: payment.id, subject: id, eventId: null };
  const opened = {
    ...openDiscrepancy(checkout.session, payment.route.provider, now),
    ...about,
    id: discrepancyId,
    expected: 0,
    received: taken,
    currency: CURRENCY,
  };
  const first = status === 'won' ? resolved(opened, 'paid_in_full', now) : opened;
  return { ...checkout, discrepancies: [...checkout.discrepancies, first] };
}
