import { recordSettlement } from '../../domain/checkout.ts';
import { type Decision, changed } from '../../domain/checkout-state.ts';
import type { Checkout, Instant } from '../../domain/records.ts';
import { originMismatch } from '../../domain/signal-origin.ts';
import { payoutOf } from '../../domain/settlement.ts';
import { GatewayError } from '../../domain/errors.ts';
import { ERASED_BODY } from '../../domain/personal-data.ts';
import type { ProviderMessage } from '../../domain/provider-message.ts';
import type { Change } from '../../store/store.ts';
import type { Deps } from '../deps.ts';
import { type ToldSettlement, settlementOf } from './settle-payment.ts';

/**
 * What a provider said of a payout while all of the payment was refunded, or about to be, counts once a refund of it has
 * failed. Answers the decision with that in it, and what is to be recorded along.
 */
export async function applyKeptSignal<Outcome extends string>(
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
    along: [settlementOf(payment, payout.amount, toldIn(deps, kept), now)],
  };
}

/** As the provider told it. Of what can no longer be read, since the buyer was erased, the time at which it came is left. */
function toldIn({ providers, log }: Deps, { provider, eventId, body, received }: ProviderMessage): ToldSettlement {
  const told = { source: 'provider', amount: null } as const;
  try {
    const signal = body === ERASED_BODY ? undefined : providers.get(provider)?.readKept(body);
    if (signal?.about === 'settlement') {
      const { reference, settledAt } = signal.callback;
      return { ...told, reference, settledAt: settledAt ?? received };
    }
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
  }
  log.warn({ provider, eventId }, 'kept settlement without its name');
  return { ...told, reference: null, settledAt: received };
}
