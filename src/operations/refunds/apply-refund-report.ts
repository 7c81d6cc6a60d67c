import { type Decision, changed, unchanged } from '../../domain/checkout-state.ts';
import { type OriginMismatch, type SignalOrigin, originMismatch } from '../../domain/provider-message.ts';
import { type RefundReport, centsOfUnits } from '../../domain/provider-report.ts';
import { CURRENCY, type Checkout, type Instant } from '../../domain/records.ts';
import { recordRefundAtProvider } from '../../domain/discrepancy-decisions.ts';
import { applyRefundReport } from '../../domain/refund-decisions.ts';
import {
  type Refund,
  type RefundOutcome,
  type RefundProof,
  UNKNOWN_PAYMENT_REASON,
  REFUND_OVERDUE_MS,
  UNKNOWN_PAYMENT_MS,
} from '../../domain/refund-record.ts';
import type { Provider, RefundRequest } from '../../providers/provider.ts';
import type { DueRefund } from '../../store/tables/refunds-table.ts';
import {
  type AppliedSignal,
  type ReceivedSignal,
  type RefundSignal,
  type SignalSubject,
  applyMessage,
} from '../apply-message.ts';
import { commitDecision } from '../commit-decision.ts';
import type { Deps } from '../deps.ts';
import { LEASE_MS, providerDelayMs } from '../provider-delays.ts';
import { applyStoredPayout } from '../settlement/settle-payment.ts';

const REMINDER_MS = 24 * 60 * 60_000;

type Mismatch = OriginMismatch | 'session_mismatch' | 'amount_mismatch';

/** Applies a verified report on a refund once; a wrong report is flagged. A refund that was made at the provider itself is recorded. */
export async function applyRefundSignal(
  deps: Deps,
  subject: SignalSubject,
  received: ReceivedSignal<RefundSignal>,
): Promise<AppliedSignal> {
  const { refund: report } = received.signal;
  const known =
    (report.ours === null ? undefined : await deps.store.refund(report.ours)) ??
    (await refundOfReference(deps, subject.paymentId, report));
  if (!known) return recordForeign(deps, subject, received);
  const { id: refundId, sessionId } = known;
  const { status } = report;
  const reportedSession = received.signal.ref.sessionId ?? subject.sessionId;
  // A message that names another session does not name this payment.
  const paymentId = reportedSession === sessionId ? known.paymentId : null;
  const money = { amount: centsOfUnits(report.amount), currency: report.amount.currency };
  const about = { sessionId, paymentId, refundId, status, ...money };
  const applied = await applyMessage<'applied' | 'ignored' | Mismatch>(deps, received, about, (checkout, now) => {
    const mismatch = mismatchOf(checkout, known, { ...received, ...money, sessionId: reportedSession });
    return mismatch ? unchanged(checkout, mismatch) : decide(deps, known, report, checkout, now);
  });
  if (applied.outcome === 'ignored' && status === 'succeeded' && known.failureReason === UNKNOWN_PAYMENT_REASON) {
    const { provider, eventId } = received;
    const line = { provider, eventId, refundId, status, outcome: applied.outcome };
    deps.log.error(line, 'refund paid out by a provider that denied its payment: correct the books by hand');
  }
  return applied;
}

/** Records a refund that was made in the provider's dashboard, with the state that the provider reports. */
async function recordForeign(
  deps: Deps,
  { sessionId, paymentId, payment }: SignalSubject,
  received: ReceivedSignal<RefundSignal>,
): Promise<AppliedSignal> {
  const { refund: report } = received.signal;
  const { reference, status } = report;
  if (!payment || reference === null) return { outcome: 'unknown', queued: false };
  const amount = centsOfUnits(report.amount);
  const { currency } = report.amount;
  const [refundId, restId] = [deps.newId('ref'), deps.newId('dis')];
  const about = { sessionId, paymentId, refundId: null, status, amount, currency };
  return applyMessage<string>(deps, received, about, async (checkout, now) => {
    const current = checkout.payments.find(({ id }) => id === paymentId)!;
    const mismatch = originMismatch(checkout.session, current, received);
    if (mismatch) return unchanged(checkout, mismatch);
    if (currency !== CURRENCY) return unchanged(checkout, 'currency_mismatch');
    // Reads the refund after the checkout, for the reason given in `decide`.
    const known = await refundOfReference(deps, paymentId, report);
    if (known) return decide(deps, known, report, checkout, now);
    const made = { refundId, restId, amount, reference, charge: report.charge };
    const recorded = recordRefundAtProvider(checkout, current, made, now);
    const isUnpaid = recorded.outcome === 'refund_excess' && current.status !== 'paid';
    if (isUnpaid && report.isCancellation) return unchanged(checkout, 'ignored');
    const refund = recorded.effects.find((effect) => effect.type === 'refund_requested')?.refund;
    if (!refund) return recorded;
    const reported = applyRefundReport(recorded.next, refund, report, now);
    return changed(checkout, reported.next, 'applied', [...recorded.effects, ...reported.effects]);
  });
}

async function refundOfReference({ store }: Deps, paymentId: string | null, { reference }: RefundReport) {
  return paymentId === null || reference === null ? undefined : store.refundOfReference(paymentId, reference);
}

/** Applies a provider's answer to a refund request or to an inquiry about a refund. */
export async function applyRefundAnswer(deps: Deps, refund: Refund, answer: RefundOutcome): Promise<void> {
  const { outcome } = await commitDecision(deps, refund.sessionId, (checkout, now) =>
    decide(deps, refund, answer, checkout, now),
  );
  logAnswer(deps, refund, answer, outcome);
}

/**
 * Applies an operator's answer about a refund that was sent outside this service, if the refund is still pending. The proof commits
 * with the answer. Returns `duplicate` if another refund has the proof.
 */
export async function applyManualAnswer(
  deps: Deps,
  refund: Refund,
  answer: RefundOutcome,
  proof?: { provider: string; proof: RefundProof },
): Promise<'applied' | 'ignored' | 'duplicate'> {
  const { outcome } = await commitDecision(
    deps,
    refund.sessionId,
    async (checkout, now) => {
      const { status } = (await deps.store.refund(refund.id))!;
      return status === 'pending' ? decide(deps, refund, answer, checkout, now) : unchanged(checkout, 'ignored');
    },
    (decision) => {
      if (!proof || decision.outcome !== 'applied') return [];
      return decision.effects.flatMap((effect) =>
        effect.type === 'refund_changed' ? [{ type: 'refund_proven' as const, refund: effect.refund, ...proof }] : [],
      );
    },
  );
  logAnswer(deps, refund, answer, outcome);
  return outcome;
}

function logAnswer(deps: Deps, { id: refundId, paymentId }: Refund, answer: RefundOutcome, outcome: string): void {
  const { status, reason } = answer;
  const about = { refundId, paymentId, status, reason, outcome };
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
  // Reads the refund after the checkout. Every change of a refund changes the version of its session, so the commit conflicts if the
  // refund is newer than the checkout.
  const refund = (await deps.store.refund(id))!;
  const decided = applyRefundReport(checkout, refund, report, now);
  if (report.status !== 'failed' || decided.outcome !== 'applied') return decided;
  return applyStoredPayout(deps, checkout, decided, refund.paymentId, now);
}

function mismatchOf(
  { session, payments }: Checkout,
  { paymentId, sessionId, amount }: Refund,
  report: SignalOrigin & { sessionId: string; amount: number; currency: string },
): Mismatch | undefined {
  const payment = payments.find(({ id }) => id === paymentId);
  const mismatch = originMismatch(session, payment, report);
  if (mismatch) return mismatch;
  if (report.sessionId !== sessionId) return 'session_mismatch';
  return report.amount !== amount || report.currency !== CURRENCY ? 'amount_mismatch' : undefined;
}

/**
 * Requests a refund from a provider, and later inquires about its outcome until there is one. Without an answer, the money may have
 * been paid out, so only an answer of the provider fails a refund: a refusal, or only the answer `unknown` (no such payment) for
 * {@link UNKNOWN_PAYMENT_MS}. If several instances find the refund due, one of them sends the request. If that process ends before
 * the commit, another instance repeats the request with the same id and gets the same answer.
 */
export async function requestProviderRefund(deps: Deps, found: DueRefund): Promise<void> {
  const due: DueRefund = { ...found, attempts: found.attempts + 1, dueAt: deps.now() + LEASE_MS };
  const claim = await deps.store.commit([{ type: 'refund_claimed', due }]);
  if (!claim.done) return;
  const { refund } = due;
  const payment = await deps.store.payment(refund.paymentId);
  const provider = payment && deps.providers.get(payment.route.provider);
  if (provider?.traits.refunds === 'manual') return remind(deps, due);
  let answer: RefundOutcome | 'unknown';
  try {
    if (!provider) throw new Error('the provider is not connected');
    const { id: refundId, amount, providerReference: reference, created } = refund;
    answer = await ask(provider, due, { refundId, payment, amount, reference, created });
  } catch (error) {
    return postpone(deps, { ...due, unknownSince: null }, String(error));
  }
  if (answer === 'unknown') {
    const unknownSince = due.unknownSince ?? deps.now();
    const isOver = deps.now() - unknownSince >= UNKNOWN_PAYMENT_MS;
    if (!isOver) return postpone(deps, { ...due, unknownSince }, UNKNOWN_PAYMENT_REASON);
    answer = { status: 'failed', reason: UNKNOWN_PAYMENT_REASON };
  }
  if (answer.status === 'pending') {
    if (answer.deducted && !refund.deducted) await applyRefundAnswer(deps, refund, answer);
    const named = { ...refund, providerReference: answer.reference ?? refund.providerReference };
    return postpone(deps, { ...due, refund: named, unknownSince: null });
  }
  await applyRefundAnswer(deps, refund, answer);
}

/**
 * Requests the refund. A repeat first asks for the outcome of the earlier request, because providers forget idempotency keys. A
 * refund to which the provider has given an id exists there, and is never requested again.
 */
async function ask(
  provider: Provider,
  { attempts }: DueRefund,
  request: RefundRequest,
): Promise<RefundOutcome | 'unknown'> {
  const isNamed = request.reference !== null;
  const known = attempts > 1 || isNamed ? await provider.inquireRefund(request) : undefined;
  if (known) return known;
  if (isNamed) throw new Error(`the provider does not find its refund ${request.reference}`);
  const answer = await provider.refund(request);
  if (answer === 'unknown' && (await provider.inquire(request.payment)) !== 'unknown') {
    throw new Error('the provider answered the refund request as if it did not know the payment');
  }
  return answer;
}

/** Reminds the operator daily of a refund that must be sent outside this service. */
async function remind(deps: Deps, due: DueRefund): Promise<void> {
  const { id: refundId, paymentId, amount } = due.refund;
  const advice = 'send the refund from your wallet, then run: tillway refunds paid <refund> --tx <hash>';
  deps.log.warn({ refundId, paymentId, amount, advice }, 'refund waits for an operator');
  await deps.store.commit([{ type: 'refund_postponed', due: { ...due, dueAt: deps.now() + REMINDER_MS } }]);
}

/** Postpones the next request to the provider. After some days, a log line asks the operator to check the refund. */
async function postpone(deps: Deps, due: DueRefund, problem?: string): Promise<void> {
  logPostponed(deps, due, problem);
  const dueAt = deps.now() + providerDelayMs(due.attempts);
  await deps.store.commit([{ type: 'refund_postponed', due: { ...due, dueAt } }]);
}

function logPostponed({ log, now }: Deps, { refund, attempts }: DueRefund, problem: string | undefined): void {
  const { id: refundId, paymentId, created } = refund;
  const about = { refundId, paymentId, attempts, ...(problem !== undefined && { problem }) };
  if (now() - created >= REFUND_OVERDUE_MS)
    log.error(about, 'refund overdue: its provider has not reported an outcome');
  else if (problem === undefined) log.info(about, 'refund in progress at its provider');
  else log.warn(about, 'refund not accepted yet: it is requested again');
}
