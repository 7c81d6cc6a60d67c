import { recordSettlement } from '../../domain/checkout.ts';
import { changed, unchanged } from '../../domain/checkout-state.ts';
import type { Cents } from '../../domain/money.ts';
import type { Checkout, Instant, Payment } from '../../domain/records.ts';
import { type Settlement, type SettlementRefusal, type SettlementSource, payoutOf } from '../../domain/settlement.ts';
import type { Change } from '../../store/store.ts';
import { commitDecision } from '../commit-decision.ts';
import type { Deps } from '../deps.ts';

/** What somebody says of a payout. */
export interface ToldSettlement {
  source: SettlementSource;
  /** What was paid out; null where that was not said. */
  amount: Cents | null;
  reference: string | null;
  /** Null: now. */
  settledAt: Instant | null;
}

/** `already`: it had been recorded before, and nothing was changed. `left` is what there is to pay out. */
export type SettledPayment =
  | { outcome: 'settled'; payment: Payment; amount: Cents }
  | { outcome: 'already'; payment: Payment }
  | { outcome: SettlementRefusal; payment: Payment }
  | { outcome: 'amount_differs'; payment: Payment; left: Cents };

/**
 * Records that a payment's money has been paid out: new state, posting and settlement in one transaction, once, whoever
 * tells and however often. `along` are further changes that belong to it, whatever it comes to.
 */
export async function settlePayment(
  deps: Deps,
  { id: paymentId, sessionId }: Pick<Payment, 'id' | 'sessionId'>,
  told: ToldSettlement,
  along: (outcome: SettledPayment['outcome'], now: Instant, before: Checkout) => Change[] = () => [],
): Promise<SettledPayment | { outcome: 'duplicate' }> {
  let judged: SettledPayment | undefined;
  let decidedAt = 0;
  const { outcome } = await commitDecision<'settled' | 'ignored' | 'invalid_state'>(
    deps,
    sessionId,
    (checkout, now) => {
      decidedAt = now;
      judged = judge(
        checkout.payments.find(({ id }) => id === paymentId)!,
        told.amount,
      );
      if (judged.outcome === 'settled') return recordSettlement(checkout, paymentId, now);
      // Kept until the refund fails, see `applyKeptSignal`: who decides on that refund at the same time decides again.
      return judged.outcome === 'refunded' && told.source === 'provider'
        ? changed(checkout, { ...checkout }, 'ignored')
        : unchanged(checkout, 'ignored');
    },
    (_decision, before) => [
      ...(judged!.outcome === 'settled' ? [settlementOf(judged!.payment, judged!.amount, told, decidedAt)] : []),
      ...along(judged!.outcome, decidedAt, before),
    ],
  );
  return outcome === 'duplicate' ? { outcome } : judged!;
}

/** What it comes to that so much of a payment has been paid out; null where the amount was not said. */
export function judge(payment: Payment, amount: Cents | null): SettledPayment {
  if (payment.settled) return { outcome: 'already', payment };
  const payout = payoutOf(payment);
  if ('refusal' in payout) return { outcome: payout.refusal, payment };
  if (amount !== null && amount !== payout.amount) return { outcome: 'amount_differs', payment, left: payout.amount };
  return { outcome: 'settled', payment, amount: payout.amount };
}

export function settlementOf(payment: Payment, amount: Cents, told: ToldSettlement, created: Instant): Change {
  const { id: paymentId, sessionId, environment } = payment;
  const { source, reference, settledAt } = told;
  const settlement: Settlement = {
    paymentId,
    sessionId,
    environment,
    amount,
    source,
    reference,
    settledAt: settledAt ?? created,
    created,
  };
  return { type: 'settlement_recorded', settlement };
}
