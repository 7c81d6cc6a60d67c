import {
  REFUND_OVERDUE_MS,
  type RefundOutcome,
  UNKNOWN_PAYMENT_MS,
  UNKNOWN_PAYMENT_REASON,
} from '../../domain/refund-record.ts';
import type { Provider } from '../../providers/provider.ts';
import type { DueRefund } from '../../store/tables/refunds-table.ts';
import type { Deps } from '../deps.ts';
import { LEASE_MS, providerDelayMs } from '../provider-backoff.ts';
import { applyRefundAnswer } from './apply-refund-report.ts';

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
    throw new Error('the provider knows the payment, but not when asked for its refund');
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
