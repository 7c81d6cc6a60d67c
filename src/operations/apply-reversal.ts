import { type Decision, unchanged } from '../domain/checkout-state.ts';
import { originMismatch } from '../domain/provider-message.ts';
import { type ProviderAmount, centsOfUnits } from '../domain/provider-report.ts';
import { CURRENCY, type Checkout, type Instant } from '../domain/records.ts';
import { leftOf } from '../domain/refund-record.ts';
import { applyReversal } from '../domain/reversal-decisions.ts';
import {
  type AppliedSignal,
  type ReceivedSignal,
  type ReversalSignal,
  type SignalSubject,
  applyMessage,
} from './apply-message.ts';
import type { Deps } from './deps.ts';
import { applyStoredPayout } from './settlement/settle-payment.ts';

/** Applies a report on money that the provider has taken back or returned. */
export function applyReversalSignal(
  deps: Deps,
  { sessionId, paymentId, checkout: known }: SignalSubject,
  received: ReceivedSignal<ReversalSignal>,
): Promise<AppliedSignal> {
  const { reversal } = received.signal;
  const { reference, status, revision, reason } = reversal;
  const amounts = { taken: centsOfUnits(reversal.taken), fee: centsOfUnits(reversal.fee) };
  const isForeignMoney = [reversal.taken, reversal.fee].some(isNotDollars);
  const about = {
    sessionId,
    paymentId,
    refundId: null,
    status,
    amount: amounts.taken,
    currency: reversal.taken.currency,
  };
  const ids = { reversalId: deps.newId('rev'), discrepancyId: deps.newId('dis') };

  async function decide(checkout: Checkout, now: Instant): Promise<Decision<string>> {
    const payment = checkout.payments.find(({ id }) => id === paymentId);
    const mismatch = originMismatch(checkout.session, payment, received);
    if (mismatch) return unchanged(checkout, mismatch);
    if (!payment) return unchanged(checkout, 'unknown_payment');
    if (isForeignMoney) return unchanged(checkout, 'currency_mismatch');
    // Reads the reversal after the checkout: if it changes between the reads, the session version changes too, and the commit conflicts.
    const before = await deps.store.reversalOfReference(payment.id, reference);
    const rest = leftOf(payment).total + (before?.taken ?? 0);
    const taken = reversal.isAtMostRest ? Math.min(amounts.taken, Math.max(rest, 0)) : amounts.taken;
    const state = { reference, status, revision, reason, ...amounts, taken };
    const decided = applyReversal(checkout, payment, before, state, ids, now);
    // Money that the provider returns can be part of a payout that was reported when nothing of the payment was left.
    const isReturned = decided.outcome === 'applied' && taken < (before?.taken ?? 0);
    return isReturned ? applyStoredPayout(deps, checkout, decided, payment.id, now) : decided;
  }
  return applyMessage<string>(deps, received, about, decide, known);
}

function isNotDollars({ currency, units }: ProviderAmount): boolean {
  return currency !== CURRENCY && units !== 0n;
}
