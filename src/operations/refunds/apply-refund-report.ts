import { type Decision, unchanged } from '../../domain/checkout-state.ts';
import { CURRENCY, type Checkout, type Instant } from '../../domain/records.ts';
import { applyRefundReport } from '../../domain/refund-decisions.ts';
import { type Refund, type RefundOutcome, UNKNOWN_PAYMENT_REASON } from '../../domain/refund-record.ts';
import { type OriginMismatch, originMismatch } from '../../domain/signal-origin.ts';
import type { Environment } from '../../domain/route.ts';
import type { ProviderRefundCallback } from '../../providers/provider.ts';
import type { Change } from '../../store/store.ts';
import { applyMessage } from '../apply-message.ts';
import { commitDecision } from '../commit-decision.ts';
import type { Deps } from '../deps.ts';
import { getRefund } from './read-refunds.ts';
import { applyStoredPayout } from '../settlement/apply-stored-payout.ts';

export interface IncomingRefundMessage {
  provider: string;
  environment: Environment;
  callback: ProviderRefundCallback;
  /** The message verbatim. */
  body: string;
}

type Mismatch = OriginMismatch | 'session_mismatch' | 'amount_mismatch';

/**
 * Applies a provider's verified report on a refund once, in any order and of any age. A report that names another session,
 * amount, environment or provider is stored and flagged, and changes nothing. Throws GatewayError `not_found` for an unknown
 * refund.
 */
export async function applyRefundMessage(deps: Deps, message: IncomingRefundMessage): Promise<string> {
  const { provider, environment, callback, body } = message;
  const { eventId, refundId, status, amount, currency } = callback;
  const known = await getRefund(deps, refundId);
  const { sessionId } = known;
  // A message about another session does not name this payment.
  const paymentId = callback.sessionId === sessionId ? known.paymentId : null;
  const reported = { provider, environment, eventId, sessionId, paymentId, refundId, status, amount, currency, body };
  const { decide, along } = refundDecision(deps, known, callback);
  const { outcome } = await applyMessage<'applied' | 'ignored' | Mismatch>(
    deps,
    reported,
    (checkout, now) => {
      const mismatch = mismatchOf(checkout, known, message);
      return mismatch ? unchanged(checkout, mismatch) : decide(checkout, now);
    },
    along,
  );
  if (outcome === 'ignored' && status === 'succeeded' && known.failureReason === UNKNOWN_PAYMENT_REASON) {
    const about = { provider, eventId, refundId, status, outcome };
    deps.log.error(about, 'refund paid out by a provider that denied its payment: correct the books by hand');
  }
  return outcome;
}

/** Applies a provider's answer to a request or an inquiry. */
export async function applyRefundAnswer(deps: Deps, refund: Refund, answer: RefundOutcome): Promise<void> {
  const { decide, along } = refundDecision(deps, refund, answer);
  const { outcome } = await commitDecision(deps, refund.sessionId, decide, along);
  const { status, reason } = answer;
  const about = { refundId: refund.id, paymentId: refund.paymentId, status, reason, outcome };
  deps.log[status === 'failed' ? 'warn' : 'info'](about, 'refund answered');
}

/** Decision on a report about a refund, and the settlement to commit along with the newest decision. */
function refundDecision(deps: Deps, { id }: Refund, report: RefundOutcome) {
  let settled: Change[] = [];
  return {
    along: () => settled,
    async decide(checkout: Checkout, now: Instant): Promise<Decision<'applied' | 'ignored'>> {
      // Read after the checkout: every change of a refund moves the version of its session, so a decision on a refund that
      // is newer than the checkout conflicts.
      const refund = (await deps.store.refund(id))!;
      const decided = applyRefundReport(checkout, refund, report, now);
      settled = [];
      if (report.status !== 'failed' || decided.outcome !== 'applied') return decided;
      const result = await applyStoredPayout(deps, checkout, decided, refund.paymentId, now);
      settled = result.along;
      return result.decision;
    },
  };
}

function mismatchOf(
  { session, payments }: Checkout,
  { paymentId, sessionId, amount }: Refund,
  { callback, ...origin }: IncomingRefundMessage,
): Mismatch | undefined {
  const payment = payments.find(({ id }) => id === paymentId);
  const mismatch = originMismatch(session, payment, origin);
  if (mismatch) return mismatch;
  if (callback.sessionId !== sessionId) return 'session_mismatch';
  return callback.amount !== amount || callback.currency !== CURRENCY ? 'amount_mismatch' : undefined;
}
