import { recordSettlement } from '../../domain/checkout.ts';
import { type Decision, changed } from '../../domain/checkout-state.ts';
import type { Cents } from '../../domain/money.ts';
import type { Checkout, Instant, Payment } from '../../domain/records.ts';
import { type Settlement, type SettlementRefusal, type SettlementSource, payoutOf } from '../../domain/settlement.ts';
import type { Change } from '../../store/store.ts';
import { commitDecision } from '../commit-decision.ts';
import type { Deps } from '../deps.ts';

/** Report of a payout. */
export interface PayoutReport {
  source: SettlementSource;
  /** Reported amount; null if the report has none. */
  amount: Cents | null;
  reference: string | null;
  /** Null: now. */
  settledAt: Instant | null;
}

/** `already`: a settlement was recorded before, and nothing changes. `left` is the amount to pay out. */
export type SettledPayment =
  | { outcome: 'settled'; payment: Payment; amount: Cents }
  | { outcome: 'already'; payment: Payment }
  | { outcome: SettlementRefusal; payment: Payment }
  | { outcome: 'amount_differs'; payment: Payment; left: Cents };

/** Records the payout of a payment: its state, its posting and the settlement commit together, once. */
export async function settlePayment(
  deps: Deps,
  { id: paymentId, sessionId }: Pick<Payment, 'id' | 'sessionId'>,
  report: PayoutReport,
): Promise<SettledPayment | { outcome: 'duplicate' }> {
  let settled: SettledPayment | undefined;
  const settling = settlementDecision(paymentId, report);
  const { outcome } = await commitDecision(
    deps,
    sessionId,
    (checkout, now) => {
      const decided = settling.decide(checkout, now);
      ({ settled } = decided);
      return decided.decision;
    },
    settling.along,
  );
  return outcome === 'duplicate' ? { outcome } : settled!;
}

/** Decision on a report of a payout, and the settlement to commit along with the newest decision. */
export function settlementDecision(paymentId: string, report: PayoutReport) {
  let recorded: Change[] = [];
  return {
    along: () => recorded,
    decide(checkout: Checkout, now: Instant): { settled: SettledPayment; decision: Decision<string> } {
      const settled = judge(
        checkout.payments.find(({ id }) => id === paymentId)!,
        report.amount,
      );
      recorded = [];
      if (settled.outcome === 'settled') {
        recorded = [settlementOf(settled.payment, settled.amount, report, now)];
        return { settled, decision: recordSettlement(checkout, paymentId, now) };
      }
      // `applyKeptSignal` uses the report if the refund fails: a concurrent decision on that refund must see it.
      const isKept = settled.outcome === 'refunded' && report.source === 'provider';
      const next = isKept ? { ...checkout } : checkout;
      return { settled, decision: changed(checkout, next, 'ignored') };
    },
  };
}

/** Outcome of a payout report; `amount` null if the report has none. */
export function judge(payment: Payment, amount: Cents | null): SettledPayment {
  if (payment.settled) return { outcome: 'already', payment };
  const payout = payoutOf(payment);
  if ('refusal' in payout) return { outcome: payout.refusal, payment };
  if (amount !== null && amount !== payout.amount) return { outcome: 'amount_differs', payment, left: payout.amount };
  return { outcome: 'settled', payment, amount: payout.amount };
}

export function settlementOf(payment: Payment, amount: Cents, report: PayoutReport, created: Instant): Change {
  const { id: paymentId, sessionId, environment } = payment;
  const { source, reference, settledAt } = report;
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
