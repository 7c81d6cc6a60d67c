import { REFUND_OVERDUE_MS, type Refund, type RefundOutcome } from '../../domain/refund.ts';
import type { Provider } from '../../providers/provider.ts';
import type { DueRefund } from '../../store/refunds.ts';
import type { Deps } from '../deps.ts';
import { applyRefundAnswer } from './apply-refund-report.ts';

/** Longer than a provider is given to answer two questions. */
const LEASE_MS = 60_000;
const FIRST_DELAY_MS = 5000;
const LONGEST_DELAY_MS = 60 * 60_000;

/**
 * Asks a provider to give money back, and then what has become of that, until it says. A refund is never given up without
 * its word: the money may have gone out. Of several instances that find it due, one asks; where that one ends between
 * the answer and the commit, the next one asks under the same id and is told the same.
 */
export async function askForRefund(deps: Deps, found: DueRefund): Promise<void> {
  const due: DueRefund = { ...found, attempts: found.attempts + 1, dueAt: deps.now() + LEASE_MS };
  const claim = await deps.store.commit([{ type: 'refund_claimed', due }]);
  if (!claim.done) return;
  const { refund } = due;
  const payment = await deps.store.payment(refund.paymentId);
  const provider = payment && deps.providers.get(payment.route.provider);
  let answer: RefundOutcome;
  try {
    if (!provider) throw new Error('the provider is not connected');
    answer = await ask(provider, due, { refundId: refund.id, payment, amount: refund.amount });
  } catch (error) {
    return postpone(deps, due, error);
  }
  if (answer.status === 'pending') return postpone(deps, due);
  await applyRefundAnswer(deps, refund, answer);
}

/** Providers forget idempotency keys in time: whoever has asked before asks what became of that first. */
async function ask(
  provider: Provider,
  { attempts }: DueRefund,
  request: Parameters<Provider['refund']>[0],
): Promise<RefundOutcome> {
  const known = attempts > 1 ? await provider.inquireRefund(request) : undefined;
  return known ?? provider.refund(request);
}

/** It is asked again later, though its own callback may be sooner; without an answer for days somebody has to look. */
async function postpone(deps: Deps, due: DueRefund, error?: unknown): Promise<void> {
  const { refund, attempts } = due;
  const delay = Math.min(FIRST_DELAY_MS * 2 ** (attempts - 1), LONGEST_DELAY_MS);
  note(deps, refund, attempts, error);
  await deps.store.commit([{ type: 'refund_postponed', due: { ...due, dueAt: deps.now() + delay } }]);
}

function note({ log, now }: Deps, refund: Refund, attempts: number, error: unknown): void {
  const { id: refundId, paymentId, created } = refund;
  const about = { refundId, paymentId, attempts, ...(error !== undefined && { err: error }) };
  if (now() - created >= REFUND_OVERDUE_MS)
    log.error(about, 'refund overdue: its provider has not said what became of it');
  else if (error === undefined) log.info(about, 'refund under way at its provider');
  else log.warn(about, 'refund not answered: it is asked for again');
}
