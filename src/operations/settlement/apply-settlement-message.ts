import { unchanged } from '../../domain/checkout-state.ts';
import { CURRENCY, type Checkout, type Payment } from '../../domain/records.ts';
import { originMismatch } from '../../domain/signal-origin.ts';
import type { SettlementCallback } from '../../providers/provider.ts';
import { applyMessage } from '../apply-message.ts';
import type { IncomingMessage } from '../apply-provider-message.ts';
import type { Deps } from '../deps.ts';
import { settlementDecision } from './settle-payment.ts';

export interface SettlementMessage extends Omit<IncomingMessage, 'callback'> {
  callback: SettlementCallback;
}

/**
 * Applies a provider's verified report of a payout once, in any order and number. A report that does not match its payment is
 * stored and flagged. Answers the outcome. Throws GatewayError `not_found` for an unknown session.
 */
export async function applySettlementMessage(deps: Deps, message: SettlementMessage): Promise<string> {
  const { provider, environment, callback, body } = message;
  const { eventId, sessionId, paymentId, amount, currency, reference, settledAt } = callback;
  const about = { eventId, sessionId, paymentId, refundId: null, status: 'settled', amount, currency } as const;
  const report = { source: 'provider', amount: null, reference, settledAt } as const;
  const settling = settlementDecision(paymentId, report);
  const { outcome } = await applyMessage<string>(
    deps,
    { provider, environment, ...about, body },
    (checkout, now) => {
      const payment = checkout.payments.find(({ id }) => id === paymentId);
      const mismatch = mismatchOf(checkout, payment, message);
      if (mismatch !== undefined) return unchanged(checkout, mismatch);
      const { settled, decision } = settling.decide(checkout, now);
      const renamed: Record<string, string> = { settled: 'applied', already: 'ignored' };
      return { ...decision, outcome: renamed[settled.outcome] ?? settled.outcome };
    },
    settling.along,
  );
  return outcome;
}

function mismatchOf(
  { session }: Checkout,
  payment: Payment | undefined,
  { callback, ...origin }: SettlementMessage,
): string | undefined {
  const mismatch = originMismatch(session, payment, origin);
  if (mismatch) return mismatch;
  if (!payment) return 'unknown_payment';
  return callback.amount === payment.amount && callback.currency === CURRENCY ? undefined : 'amount_mismatch';
}
