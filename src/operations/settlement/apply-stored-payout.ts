import { recordSettlement } from '../../domain/checkout.ts';
import { type Decision, changed } from '../../domain/checkout-state.ts';
import type { Checkout, Instant } from '../../domain/records.ts';
import { originMismatch } from '../../domain/signal-origin.ts';
import { payoutOf } from '../../domain/settlement.ts';
import { GatewayError } from '../../domain/gateway-error.ts';
import { ERASED_BODY } from '../../domain/personal-data.ts';
import type { ProviderMessage } from '../../domain/provider-message.ts';
import type { Change } from '../../store/store.ts';
import type { Deps } from '../deps.ts';
import { type PayoutReport, settlementOf } from './settle-payment.ts';

/**
 * Applies a stored payout report once a refund of the payment fails: when the report arrived, all of the payment was refunded
 * or about to be. Answers the decision that includes it, and the changes to commit along.
 */
export async function applyStoredPayout<Outcome extends string>(
  deps: Deps,
  before: Checkout,
  { outcome, next, effects }: Decision<Outcome>,
  paymentId: string,
  now: Instant,
): Promise<{ decision: Decision<Outcome>; along: Change[] }> {
  const decision = { outcome, next, effects };
  const payment = next.payments.find(({ id }) => id === paymentId);
  const payout = payment && payoutOf(payment);
  if (!payout || 'refusal' in payout || payment.settled) return { decision, along: [] };
  const messages = await deps.store.providerMessages(before.session.id);
  const kept = messages.find(
    (message) =>
      message.status === 'settled' &&
      message.paymentId === paymentId &&
      message.outcome === 'refunded' &&
      originMismatch(before.session, payment, message) === undefined,
  );
  if (!kept) return { decision, along: [] };

  const settled = recordSettlement(next, paymentId, now);
  return {
    decision: changed(before, settled.next, outcome, [...effects, ...settled.effects]),
    along: [settlementOf(payment, payout.amount, reportOf(deps, kept), now)],
  };
}

/** The provider's report. Of an unreadable one, such as an erased buyer's, only the time of its receipt is known. */
function reportOf({ providers, log }: Deps, { provider, eventId, body, received }: ProviderMessage): PayoutReport {
  const report = { source: 'provider', amount: null } as const;
  try {
    const signal = body === ERASED_BODY ? undefined : providers.get(provider)?.readStored(body);
    if (signal?.about === 'settlement') {
      const { reference, settledAt } = signal.callback;
      return { ...report, reference, settledAt: settledAt ?? received };
    }
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
  }
  log.warn({ provider, eventId }, 'stored settlement report without its reference');
  return { ...report, reference: null, settledAt: received };
}
