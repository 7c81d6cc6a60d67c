import { sessionAmountOf } from '../../domain/charge-amount.ts';
import { recordSettlement } from '../../domain/checkout.ts';
import { type Decision, type Effect, changed, unchanged } from '../../domain/checkout-state.ts';
import { GatewayError, invalidField } from '../../domain/gateway-error.ts';
import { payoutPosting } from '../../domain/ledger.ts';
import { usd } from '../../domain/money.ts';
import { type ProviderMessage, originMismatch } from '../../domain/provider-message.ts';
import { type PayoutEntry, centsOfUnits } from '../../domain/provider-report.ts';
import { CURRENCY, type Checkout, type Instant, type Payment } from '../../domain/records.ts';
import {
  EARLIEST_SETTLEMENT,
  type PayoutReport,
  type Settlement,
  judgePayout,
  payoutOf,
  refusalMessage,
} from '../../domain/settlement.ts';
import {
  type AppliedSignal,
  type ReceivedSignal,
  type SettlementSignal,
  type SignalSubject,
  applyMessage,
  signalFromJson,
} from '../apply-message.ts';
import { centsOf } from '../cents-of.ts';
import { commitDecision } from '../commit-decision.ts';
import type { Deps } from '../deps.ts';
import { getPayment } from '../read-records.ts';

/** Records the payout of a payment: its state, its posting and the settlement commit together, once. */
export async function settlePayment(
  deps: Deps,
  { id, sessionId }: Pick<Payment, 'id' | 'sessionId'>,
  report: PayoutReport,
) {
  const { outcome, checkout } = await commitDecision(deps, sessionId, (current, now) =>
    recordSettlement(current, id, report, now),
  );
  return { outcome, payment: checkout.payments.find((one) => one.id === id)! };
}

/** A payout as the caller of the API reports it. */
export interface Payout {
  /** Amount in US dollars. */
  amount?: number | undefined;
  reference?: string | undefined;
  settledAt?: Instant | undefined;
}

const TIME_NEEDED = 'Give the time at which it was paid out, or none for now.';

/**
 * Records the payout of a payment once; a repeat returns the first record. Throws GatewayError `not_found`, `invalid_input`
 * for a time in the future or before the year 2000, and `invalid_state` if nothing, or another amount, is to be paid out.
 */
export async function recordPayout(deps: Deps, paymentId: string, payout: Payout): Promise<Settlement> {
  const { reference = null, settledAt = null } = payout;
  if (settledAt !== null && settledAt > deps.now()) {
    throw invalidField('settledAt', 'too_big', 'is in the future', TIME_NEEDED);
  }
  if (settledAt !== null && settledAt < EARLIEST_SETTLEMENT) {
    throw invalidField('settledAt', 'too_small', 'is before the year 2000', TIME_NEEDED);
  }
  const amount = payout.amount === undefined ? null : centsOf(payout.amount);
  const report = { source: 'api', amount, reference, settledAt } as const;
  const { outcome, payment } = await settlePayment(deps, await getPayment(deps, paymentId), report);
  switch (outcome) {
    case 'settled':
    case 'already':
    case 'duplicate': {
      const recorded = (await deps.store.settlement(payment.id))!;
      if (amount === null || amount === recorded.amount) return recorded;
      throw new GatewayError('invalid_state', `${usd(recorded.amount)} was settled before, not ${usd(amount)}.`, {
        field: 'amount',
        suggestion: 'Read the settlement of the payment, which is recorded once; or leave amount out to get it.',
      });
    }
    case 'amount_differs': {
      const words = `${usd(payoutOf(payment))} of the payment is to be paid out, not ${usd(amount!)}.`;
      throw new GatewayError('invalid_state', words, {
        field: 'amount',
        suggestion: 'Look at the refunds of the payment; leave amount out to record what is left.',
      });
    }
    default:
      throw new GatewayError('invalid_state', refusalMessage(outcome, payment), {
        suggestion: 'Look at the payment and its refunds; nothing was recorded.',
      });
  }
}

/** Applies a verified payout report once; a wrong report is flagged. */
export function applySettlementSignal(
  deps: Deps,
  { sessionId, paymentId, payment, checkout: known }: SignalSubject,
  received: ReceivedSignal<SettlementSignal>,
): Promise<AppliedSignal> {
  const { entry } = received.signal;
  const money = entry.amount ? sessionAmountOf(payment, entry.amount) : { amount: null, currency: null };
  const about = { sessionId, paymentId, refundId: null, status: 'settled', ...money } as const;
  function decide(checkout: Checkout, now: Instant): Decision<string> {
    const reported = checkout.payments.find(({ id }) => id === paymentId);
    const mismatch = originMismatch(checkout.session, reported, received);
    if (mismatch) return unchanged(checkout, mismatch);
    if (!reported) return unchanged(checkout, 'unknown_payment');
    const isExpected = money.amount === null || (money.amount === reported.amount && money.currency === CURRENCY);
    return isExpected ? settleEntry(checkout, reported, entry, now) : unchanged(checkout, 'amount_mismatch');
  }
  return applyMessage<string>(deps, received, about, decide, known);
}

/** Settles the payment, and books the money that left the provider's balance, if the provider reports it. */
function settleEntry(
  checkout: Checkout,
  payment: Payment,
  { payout: reference, settledAt, moved }: PayoutEntry,
  now: Instant,
): Decision<string> {
  if (moved && payment.status !== 'paid') return unchanged(checkout, 'not_paid');
  const booked: Effect[] = moved
    ? [{ type: 'post', posting: payoutPosting(payment, { id: moved.id, net: centsOfUnits(moved.net) }, now) }]
    : [];
  if (moved?.isCharge === false) return changed(checkout, checkout, 'applied', booked);
  const report = { source: 'provider', amount: null, reference, settledAt, isFromOperator: moved !== null } as const;
  const { outcome, next, effects } = recordSettlement(checkout, payment.id, report, now);
  if (outcome === 'settled') return changed(checkout, next, 'applied', [...booked, ...effects]);
  if (outcome === 'already') return changed(checkout, checkout, booked.length > 0 ? 'applied' : 'ignored', booked);
  // `applyStoredPayout` may use this report later. A copy of the checkout makes concurrent decisions conflict.
  return changed(checkout, isStored(outcome) ? { ...checkout } : checkout, outcome, booked);
}

const isStored = (outcome: string) => outcome === 'refunded' || outcome === 'surplus';

/**
 * Applies the payout report that arrived while nothing of the payment was the merchant's, once a refund fails, money is returned or
 * a surplus is accepted.
 */
export async function applyStoredPayout<Outcome extends string>(
  deps: Deps,
  before: Checkout,
  decided: Decision<Outcome>,
  paymentId: string,
  now: Instant,
): Promise<Decision<Outcome>> {
  const payment = decided.next.payments.find(({ id }) => id === paymentId);
  if (judgePayout(payment, null) !== 'settled') return decided;
  const messages = await deps.store.providerMessages(before.session.id);
  const stored = messages.find(
    (message) =>
      message.status === 'settled' &&
      message.paymentId === paymentId &&
      isStored(message.outcome) &&
      originMismatch(before.session, payment, message) === undefined,
  );
  if (!stored) return decided;
  const { next, effects } = recordSettlement(decided.next, paymentId, reportOf(stored), now);
  return changed(before, next, decided.outcome, [...decided.effects, ...effects]);
}

/** The stored report. A message of a version that did not store the report has only the time of its receipt. */
function reportOf({ signal, received }: ProviderMessage): PayoutReport {
  const { entry } = signal === null ? {} : (signalFromJson(signal) as { entry?: PayoutEntry });
  return {
    source: 'provider',
    amount: null,
    reference: entry?.payout ?? null,
    settledAt: entry?.settledAt ?? received,
    isFromOperator: (entry?.moved ?? null) !== null,
  };
}
