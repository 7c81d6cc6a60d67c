import { type Decision, unchanged } from '../../domain/checkout-state.ts';
import { CURRENCY, type Checkout, type Instant } from '../../domain/records.ts';
import { applyRefundReport } from '../../domain/refund-decisions.ts';
import {
  type Refund,
  type RefundOutcome,
  UNKNOWN_PAYMENT_REASON,
  REFUND_OVERDUE_MS,
  UNKNOWN_PAYMENT_MS,
} from '../../domain/refund-record.ts';
import { type OriginMismatch, originMismatch } from '../../domain/provider-message.ts';
import type { ProviderRefundCallback, Provider } from '../../providers/provider.ts';
import { type IncomingMessage, applyMessage } from '../apply-provider-message.ts';
import { commitDecision } from '../commit-decision.ts';
import type { Deps } from '../deps.ts';
import { getRefund } from '../read-records.ts';
import { applyStoredPayout } from '../settlement/settle-payment.ts';
import type { DueRefund } from '../../store/tables/refunds-table.ts';
import { LEASE_MS, providerDelayMs } from '../run-provider-task.ts';

type Mismatch = OriginMismatch | 'session_mismatch' | 'amount_mismatch';

/** Applies a verified report on a refund once; a wrong one is flagged. Throws GatewayError `not_found` for an unknown refund. */
export async function applyRefundMessage(
  deps: Deps,
  message: IncomingMessage<ProviderRefundCallback>,
): Promise<string> {
  const { provider, environment, callback, body } = message;
  const { eventId, refundId, status, amount, currency } = callback;
  const known = await getRefund(deps, refundId);
  const { sessionId } = known;
  // A message about another session does not name this payment.
  const paymentId = callback.sessionId === sessionId ? known.paymentId : null;
  const reported = { provider, environment, eventId, sessionId, paymentId, refundId, status, amount, currency, body };
  const { outcome } = await applyMessage<'applied' | 'ignored' | Mismatch>(deps, reported, (checkout, now) => {
    const mismatch = mismatchOf(checkout, known, message);
    return mismatch ? unchanged(checkout, mismatch) : decide(deps, known, callback, checkout, now);
  });
  if (outcome === 'ignored' && status === 'succeeded' && known.failureReason === UNKNOWN_PAYMENT_REASON) {
    const about = { provider, eventId, refundId, status, outcome };
    deps.log.error(about, 'refund paid out by a provider that denied its payment: correct the books by hand');
  }
  return outcome;
}

/** Applies a provider's answer to a request or an inquiry. */
export async function applyRefundAnswer(deps: Deps, refund: Refund, answer: RefundOutcome): Promise<void> {
  const { outcome } = await commitDecision(deps, refund.sessionId, (checkout, now) =>
    decide(deps, refund, answer, checkout, now),
  );
  const { status, reason } = answer;
  const about = { refundId: refund.id, paymentId: refund.paymentId, status, reason, outcome };
  deps.log[status === 'failed' ? 'warn' : 'info'](about, 'refund answered');
}

/** Decision on a report about a refund. */
async function decide(
  deps: Deps,
  { id }: Refund,
  report: RefundOutcome,
  checkout: Checkout,
  now: Instant,
): Promise<Decision<'applied' | 'ignored'>> {
  // Read after the checkout: every change of a refund moves the version of its session, so a decision on a refund that is
  // newer than the checkout conflicts.
  const refund = (await deps.store.refund(id))!;
  const decided = applyRefundReport(checkout, refund, report, now);
  if (report.status !== 'failed' || decided.outcome !== 'applied') return decided;
  return applyStoredPayout(deps, checkout, decided, refund.paymentId, now);
}

function mismatchOf(
  { session, payments }: Checkout,
  { paymentId, sessionId, amount }: Refund,
  { callback, ...origin }: IncomingMessage<ProviderRefundCallback>,
): Mismatch | undefined {
  const payment = payments.find(({ id }) => id === paymentId);
  const mismatch = originMismatch(session, payment, origin);
  if (mismatch) return mismatch;
  if (callback.sessionId !== sessionId) return 'session_mismatch';
  return callback.amount !== amount || callback.currency !== CURRENCY ? 'amount_mismatch' : undefined;
}

/**
 * Asks a provider for a refund, and later for its outcome until there is one. Without an answer the money may have been paid
 * out, so only an answer of the provider fails a refund: a refusal, or for {@link UNKNOWN_PAYMENT_MS} no other answer than
 * that it does not know the payment. If several instances find the refund due, one of them asks. If its process ends between
 * the answer and the commit, the next one asks with the same id and gets the same answer.
 */
export async function requestProviderRefund(deps: Deps, found: DueRefund): Promise<void> {
  const due: DueRefund = { ...found, attempts: found.attempts + 1, dueAt: deps.now() + LEASE_MS };
  const claim = await deps.store.commit([{ type: 'refund_claimed', due }]);
  if (!claim.done) return;
  const { refund } = due;
  const payment = await deps.store.payment(refund.paymentId);
  const provider = payment && deps.providers.get(payment.route.provider);
  let answer: RefundOutcome | 'unknown';
  try {
    if (!provider) throw new Error('the provider is not connected');
    answer = await ask(provider, due, { refundId: refund.id, payment, amount: refund.amount });
  } catch (error) {
    return postpone(deps, { ...due, unknownSince: null }, String(error));
  }
  if (answer === 'unknown') {
    const unknownSince = due.unknownSince ?? deps.now();
    const isOver = deps.now() - unknownSince >= UNKNOWN_PAYMENT_MS;
    if (!isOver) return postpone(deps, { ...due, unknownSince }, UNKNOWN_PAYMENT_REASON);
    answer = { status: 'failed', reason: UNKNOWN_PAYMENT_REASON };
  }
  if (answer.status === 'pending') return postpone(deps, { ...due, unknownSince: null });
  await applyRefundAnswer(deps, refund, answer);
}

/** Requests the refund. A repeat first asks for the outcome of the earlier request, because providers forget idempotency keys. */
async function ask(
  provider: Provider,
  { attempts }: DueRefund,
  request: Parameters<Provider['refund']>[0],
): Promise<RefundOutcome | 'unknown'> {
  const known = attempts > 1 ? await provider.inquireRefund(request) : undefined;
  if (known) return known;
  const answer = await provider.refund(request);
  if (answer === 'unknown' && (await provider.inquire(request.payment))) {
    throw new Error('the provider answered the refund request as if it did not know the payment');
  }
  return answer;
}

/** Postpones the next question to the provider. After some days the log asks the operator to look. */
async function postpone(deps: Deps, due: DueRefund, problem?: string): Promise<void> {
  note(deps, due, problem);
  const dueAt = deps.now() + providerDelayMs(due.attempts);
  await deps.store.commit([{ type: 'refund_postponed', due: { ...due, dueAt } }]);
}

function note({ log, now }: Deps, { refund, attempts }: DueRefund, problem: string | undefined): void {
  const { id: refundId, paymentId, created } = refund;
  const about = { refundId, paymentId, attempts, ...(problem !== undefined && { problem }) };
  if (now() - created >= REFUND_OVERDUE_MS)
    log.error(about, 'refund overdue: its provider has not reported an outcome');
  else if (problem === undefined) log.info(about, 'refund in progress at its provider');
  else log.warn(about, 'refund not accepted yet: it is requested again');
}
