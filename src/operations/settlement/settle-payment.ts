import { recordSettlement } from '../../domain/checkout.ts';
import { type Decision, changed, unchanged } from '../../domain/checkout-state.ts';
import { GatewayError, invalidField } from '../../domain/gateway-error.ts';
import { centsFromAmount, usd } from '../../domain/money.ts';
import { ERASED_BODY } from '../../domain/personal-data.ts';
import { type ProviderMessage, originMismatch } from '../../domain/provider-message.ts';
import { CURRENCY, type Checkout, type Instant, type Payment } from '../../domain/records.ts';
import {
  EARLIEST_SETTLEMENT,
  type PayoutReport,
  type Settlement,
  judgePayout,
  payoutOf,
  refusalMessage,
} from '../../domain/settlement.ts';
import type { SettlementCallback } from '../../providers/provider.ts';
import { type IncomingMessage, applyMessage } from '../apply-provider-message.ts';
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

export interface Payout {
  /** Amount in US dollars. */
  amount?: number | undefined;
  reference?: string | undefined;
  settledAt?: Instant | undefined;
}

const TIME_NEEDED = 'Give the time at which it was paid out, or none for now.';

/**
 * Records the payout of a payment once; a repeat answers the first record. Throws GatewayError `not_found`, `invalid_input`
 * for a time in the future or before the year 2000, and `invalid_state` if there is nothing or another amount to pay out.
 */
export async function recordPayout(deps: Deps, paymentId: string, payout: Payout): Promise<Settlement> {
  const { reference = null, settledAt = null } = payout;
  if (settledAt !== null && settledAt > deps.now()) {
    throw invalidField('settledAt', 'too_big', 'has not come yet', TIME_NEEDED);
  }
  if (settledAt !== null && settledAt < EARLIEST_SETTLEMENT) {
    throw invalidField('settledAt', 'too_small', 'is before the year 2000', TIME_NEEDED);
  }
  const amount = payout.amount === undefined ? null : centsFromAmount(payout.amount)!;
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

/** Applies a verified payout report once; a wrong one is flagged. Throws GatewayError `not_found` for an unknown session. */
export async function applySettlementMessage(
  deps: Deps,
  message: IncomingMessage<SettlementCallback>,
): Promise<string> {
  const { provider, environment, callback, body } = message;
  const { eventId, sessionId, paymentId, amount, currency, reference, settledAt } = callback;
  const about = { eventId, sessionId, paymentId, refundId: null, status: 'settled', amount, currency } as const;
  const report = { source: 'provider', amount: null, reference, settledAt } as const;
  const { outcome } = await applyMessage<string>(deps, { provider, environment, ...about, body }, (checkout, now) => {
    const mismatch = mismatchOf(checkout, message);
    if (mismatch !== undefined) return unchanged(checkout, mismatch);
    const decision = recordSettlement(checkout, paymentId, report, now);
    if (decision.outcome === 'settled') return { ...decision, outcome: 'applied' };
    if (decision.outcome === 'already') return unchanged(checkout, 'ignored');
    // `applyStoredPayout` uses the report if the refund fails: a concurrent decision on that refund must see it.
    return changed(checkout, decision.outcome === 'refunded' ? { ...checkout } : checkout, decision.outcome);
  });
  return outcome;
}

function mismatchOf(
  { session, payments }: Checkout,
  { callback, ...origin }: IncomingMessage<SettlementCallback>,
): string | undefined {
  const payment = payments.find(({ id }) => id === callback.paymentId);
  const mismatch = originMismatch(session, payment, origin);
  if (mismatch) return mismatch;
  if (!payment) return 'unknown_payment';
  return callback.amount === payment.amount && callback.currency === CURRENCY ? undefined : 'amount_mismatch';
}

/** Applies the payout report that arrived while all of the payment was refunded, once such a refund fails. */
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
      message.outcome === 'refunded' &&
      originMismatch(before.session, payment, message) === undefined,
  );
  if (!stored) return decided;
  const { next, effects } = recordSettlement(decided.next, paymentId, reportOf(deps, stored), now);
  return changed(before, next, decided.outcome, [...decided.effects, ...effects]);
}

/** The provider's report. Of an unreadable one, such as an erased buyer's, only the time of its receipt is known. */
function reportOf({ providers, log }: Deps, { provider, eventId, body, received }: ProviderMessage): PayoutReport {
  const report = { source: 'provider', amount: null } as const;
  try {
    const signal = body === ERASED_BODY ? undefined : providers.get(provider)?.readStored(body);
    if (signal?.about === 'settlement') {
      const { reference, settledAt } = signal.callback;
      return { ...report, reference, settledAt: settledAt ?? received };
    }
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
  }
  log.warn({ provider, eventId }, 'stored settlement report without its reference');
  return { ...report, reference: null, settledAt: received };
}
