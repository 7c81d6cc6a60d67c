import { recordSettlement } from '../../domain/checkout.ts';
import { type Decision, changed } from '../../domain/checkout-state.ts';
import type { Checkout, Instant } from '../../domain/records.ts';
import { payoutOf } from '../../domain/settlement.ts';
import type { Change } from '../../store/store.ts';
import type { Deps } from '../deps.ts';
import { settlementOf } from './settle-payment.ts';

/**
 * What a provider said of a payout while all of the payment was refunded, or about to be, counts once a refund of it has
 * failed. Answers the decision with that in it, and what is to be recorded along.
 */
export async function applyKeptSignal<Outcome extends string>(
  { store }: Deps,
  before: Checkout,
  { outcome, next, effects }: Decision<Outcome>,
  paymentId: string,
  now: Instant,
): Promise<{ decision: Decision<Outcome>; along: Change[] }> {
  const decision = { outcome, next, effects };
  const payment = next.payments.find(({ id }) => id === paymentId);
  const payout = payment && payoutOf(payment);
  if (!payout || 'refusal' in payout || payment.settled) return { decision, along: [] };
  const messages = await store.providerMessages(before.session.id);
  const kept = messages.find(
    (message) => message.status === 'settled' && message.paymentId === paymentId && message.outcome === 'refunded',
  );
  if (!kept) return { decision, along: [] };

  const settled = recordSettlement(next, paymentId, now);
  const told = { source: 'provider', amount: null, reference: null, settledAt: kept.received } as const;
  return {
    decision: changed(before, settled.next, outcome, [...effects, ...settled.effects]),
    along: [settlementOf(payment, payout.amount, told, now)],
  };
}
