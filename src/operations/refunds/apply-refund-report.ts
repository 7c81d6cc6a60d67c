import { unchanged } from '../../domain/checkout-state.ts';
import { CURRENCY, type Checkout, type Instant } from '../../domain/records.ts';
import { applyRefundReport } from '../../domain/refund-decisions.ts';
import { EVENT_CONFLICT, type ProviderMessage, isFlagged } from '../../domain/provider-message.ts';
import { type Refund, type RefundOutcome, UNKNOWN_PAYMENT_REASON } from '../../domain/refund.ts';
import { type OriginMismatch, originMismatch } from '../../domain/signal-origin.ts';
import type { Environment } from '../../domain/route.ts';
import type { ProviderRefundCallback } from '../../providers/provider.ts';
import type { Change } from '../../store/store.ts';
import { commitDecision } from '../commit-decision.ts';
import type { Deps } from '../deps.ts';
import { recordNotFound } from '../not-found.ts';
import { recordRepeat, storeMessage } from '../store-message.ts';
import { applyKeptSignal } from '../settlement/apply-kept-signal.ts';

export interface IncomingRefundMessage {
  provider: string;
  environment: Environment;
  callback: ProviderRefundCallback;
  /** As it came, for the records. */
  body: string;
}

type Mismatch = OriginMismatch | 'session_mismatch' | 'amount_mismatch';

/**
 * Applies a provider's verified word on a refund once, whatever its order and age: the message, the refund, its payment
 * and the posting commit together. What is of another session, amount, environment or provider is kept and flagged, and moves
 * nothing. Throws GatewayError `not_found` for an unknown refund.
 */
export async function applyRefundMessage(deps: Deps, message: IncomingRefundMessage): Promise<string> {
  const { provider, callback } = message;
  const { eventId, refundId, status } = callback;
  const known = await deps.store.refund(refundId);
  if (!known) throw recordNotFound('refund', refundId, 'ref_');
  const mismatch = await mismatchOf(deps, known, message);
  const committed = await report(deps, known, callback, mismatch, (did, before) =>
    storeMessage(deps, messageOf(known, message, did, deps.now()), before),
  );
  const outcome =
    committed.outcome === 'duplicate'
      ? await recordRepeat(deps, messageOf(known, message, EVENT_CONFLICT, deps.now()))
      : committed.outcome;
  const about = { provider, eventId, refundId, status, outcome };
  const flagged = isFlagged(outcome);
  deps.log[flagged ? 'warn' : 'info'](about, flagged ? 'refund callback flagged' : 'refund callback');
  if (outcome === 'ignored' && status === 'succeeded' && known.failureReason === UNKNOWN_PAYMENT_REASON) {
    deps.log.error(about, 'refund paid out by a provider that denied its payment: correct the books by hand');
  }
  return outcome;
}

/** Applies what a provider answered when it was asked. */
export async function applyRefundAnswer(deps: Deps, refund: Refund, answer: RefundOutcome): Promise<void> {
  const { outcome } = await report(deps, refund, answer, undefined, () => []);
  const { status, reason } = answer;
  const about = { refundId: refund.id, paymentId: refund.paymentId, status, reason, outcome };
  deps.log[status === 'failed' ? 'warn' : 'info'](about, 'refund answered');
}

function report(
  deps: Deps,
  { id, sessionId }: Refund,
  word: RefundOutcome,
  mismatch: Mismatch | undefined,
  along: (outcome: string, before: Checkout) => Change[],
) {
  let settled: Change[] = [];
  return commitDecision<'applied' | 'ignored' | Mismatch>(
    deps,
    sessionId,
    async (checkout, now) => {
      if (mismatch) return unchanged(checkout, mismatch);
      // Read after the checkout: whoever moves a refund moves the version of its session, so that what is decided on a
      // refund that is newer than the checkout does not commit.
      const refund = (await deps.store.refund(id))!;
      const decided = applyRefundReport(checkout, refund, word, now);
      settled = [];
      if (word.status !== 'failed' || decided.outcome !== 'applied') return decided;
      const result = await applyKeptSignal(deps, checkout, decided, refund.paymentId, now);
      settled = result.along;
      return result.decision;
    },
    ({ outcome }, before) => [...along(outcome, before), ...settled],
  );
}

function messageOf(
  known: Refund,
  { provider, environment, callback, body }: IncomingRefundMessage,
  outcome: string,
  received: Instant,
): ProviderMessage {
  const { eventId, refundId, status, amount, currency } = callback;
  const { sessionId } = known;
  // A message about another session does not name this payment.
  const paymentId = callback.sessionId === sessionId ? known.paymentId : null;
  const about = { provider, environment, eventId, sessionId, paymentId, refundId, status, amount, currency };
  return { ...about, outcome, flagged: isFlagged(outcome), body, received };
}

async function mismatchOf(
  deps: Deps,
  { paymentId, sessionId, amount }: Refund,
  { callback, ...origin }: IncomingRefundMessage,
): Promise<Mismatch | undefined> {
  const { session, payments } = (await deps.store.checkout(sessionId))!;
  const mismatch = originMismatch(
    session,
    payments.find(({ id }) => id === paymentId),
    origin,
  );
  if (mismatch) return mismatch;
  if (callback.sessionId !== sessionId) return 'session_mismatch';
  return callback.amount !== amount || callback.currency !== CURRENCY ? 'amount_mismatch' : undefined;
}
