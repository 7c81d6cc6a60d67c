import { EVENT_CONFLICT, type ProviderMessage, isFlagged } from '../../domain/provider-message.ts';
import { CURRENCY, type Payment, type Session } from '../../domain/records.ts';
import { originMismatch } from '../../domain/signal-origin.ts';
import type { SettlementCallback } from '../../providers/provider.ts';
import type { IncomingMessage } from '../apply-provider-message.ts';
import { commitDecision } from '../commit-decision.ts';
import { unchanged } from '../../domain/checkout-state.ts';
import type { Deps } from '../deps.ts';
import { sessionNotFound } from '../not-found.ts';
import { recordRepeat, storeMessage } from '../store-message.ts';
import { type SettledPayment, settlePayment } from './settle-payment.ts';

export interface SettlementMessage extends Omit<IncomingMessage, 'callback'> {
  callback: SettlementCallback;
}

/**
 * Applies a provider's verified word that a payment has been paid out: once, whatever its order and number. What does not
 * fit is kept and flagged. Answers what it did. Throws GatewayError `not_found` for an unknown session.
 */
export async function applySettlementMessage(deps: Deps, message: SettlementMessage): Promise<string> {
  const { provider, callback } = message;
  const { eventId, sessionId, paymentId } = callback;
  const checkout = await deps.store.checkout(sessionId);
  if (!checkout) throw sessionNotFound(sessionId);
  const payment = checkout.payments.find(({ id }) => id === paymentId);
  const mismatch = mismatchOf(checkout.session, payment, message);
  const committed =
    mismatch === undefined && payment ? await settled(deps, payment, message) : await kept(deps, message, mismatch!);
  const outcome =
    committed === 'duplicate' ? await recordRepeat(deps, messageOf(message, EVENT_CONFLICT, deps.now())) : committed;
  const flagged = isFlagged(outcome);
  const line = { provider, eventId, sessionId, paymentId, status: 'settled', outcome };
  deps.log[flagged ? 'warn' : 'info'](line, flagged ? 'callback flagged' : 'callback');
  return outcome;
}

async function settled(deps: Deps, payment: Payment, message: SettlementMessage): Promise<string> {
  const { settledAt, reference } = message.callback;
  const told = { source: 'provider', amount: null, reference, settledAt } as const;
  const result = await settlePayment(deps, payment, told, (outcome, now, before) =>
    storeMessage(deps, messageOf(message, wordOf(outcome), now), before),
  );
  return wordOf(result.outcome);
}

/** Keeps a message that moves nothing. */
async function kept(deps: Deps, message: SettlementMessage, word: string): Promise<string> {
  const { outcome } = await commitDecision(
    deps,
    message.callback.sessionId,
    (checkout) => unchanged(checkout, word),
    (_decision, before) => storeMessage(deps, messageOf(message, word, deps.now()), before),
  );
  return outcome;
}

function mismatchOf(
  session: Session,
  payment: Payment | undefined,
  { callback, ...origin }: SettlementMessage,
): string | undefined {
  const mismatch = originMismatch(session, payment, origin);
  if (mismatch) return mismatch;
  if (!payment) return 'unknown_payment';
  return callback.amount === payment.amount && callback.currency === CURRENCY ? undefined : 'amount_mismatch';
}

function wordOf(outcome: SettledPayment['outcome'] | 'duplicate'): string {
  if (outcome === 'settled') return 'applied';
  return outcome === 'already' ? 'ignored' : outcome;
}

function messageOf(
  { provider, environment, callback, body }: SettlementMessage,
  outcome: string,
  received: number,
): ProviderMessage {
  const { eventId, sessionId, paymentId, amount, currency } = callback;
  const about = { eventId, sessionId, paymentId, refundId: null, status: 'settled', amount, currency } as const;
  return { provider, environment, ...about, outcome, flagged: isFlagged(outcome), body, received };
}
