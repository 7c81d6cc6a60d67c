import { type Decision, unchanged } from '../domain/checkout-state.ts';
import { originMismatch } from '../domain/provider-message.ts';
import { type ProviderAmount, type ReversalReport, centsOfUnits } from '../domain/provider-report.ts';
import { CURRENCY, type Checkout, type Instant } from '../domain/records.ts';
import { leftOf } from '../domain/refund-record.ts';
import { stateOf, sumOfMovements } from '../domain/reversal.ts';
import { applyReversal } from '../domain/reversal-decisions.ts';
import {
  type AppliedSignal,
  type ReceivedSignal,
  type ReversalSignal,
  type SignalSubject,
  applyMessage,
  signalFromJson,
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
  const { reference, status } = reversal;
  const amount = centsOfUnits(reversal.taken);
  const isForeignMoney = [reversal.taken, reversal.fee, reversal.returned].some(isNotDollars);
  const about = {
    sessionId,
    paymentId,
    refundId: null,
    status,
    amount,
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
    const report = reversal.returned ? sumOfMovements([...(await earlierReports()), reversal]) : stateOf(reversal);
    const rest = leftOf(payment).total + (before?.taken ?? 0);
    const taken = reversal.isAtMostRest ? Math.min(report.taken, Math.max(rest, 0)) : report.taken;
    const state = { ...report, taken };
    const decided = applyReversal(checkout, payment, before, state, ids, now);
    // Money that the provider returns can be part of a payout that was reported when nothing of the payment was left.
    const isReturned = decided.outcome === 'applied' && taken < (before?.taken ?? 0);
    return isReturned ? applyStoredPayout(deps, checkout, decided, payment.id, now) : decided;
  }

  /** Applied reports on the reversal, each of which names one movement of its money. */
  async function earlierReports(): Promise<ReversalReport[]> {
    const messages = await deps.store.providerMessages(sessionId);
    return messages
      .filter((one) => one.about === 'reversal' && one.paymentId === paymentId && !one.flagged)
      .filter(({ eventId }) => eventId !== received.eventId)
      .flatMap(({ signal }) => (signal === null ? [] : [(signalFromJson(signal) as ReversalSignal).reversal]))
      .filter((report) => report.reference === reference);
  }

  return applyMessage<string>(deps, received, about, decide, known);
}

function isNotDollars(money: ProviderAmount | undefined): boolean {
  return money !== undefined && money.currency !== CURRENCY && money.units !== 0n;
}
