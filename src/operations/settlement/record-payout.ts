import { GatewayError, invalidField } from '../../domain/gateway-error.ts';
import { centsFromAmount, usd } from '../../domain/money.ts';
import type { Instant } from '../../domain/records.ts';
import { EARLIEST_SETTLEMENT, type Settlement, refusalMessage } from '../../domain/settlement.ts';
import type { Deps } from '../deps.ts';
import { getPayment } from '../read-records.ts';
import { settlePayment } from './settle-payment.ts';

const TIME_NEEDED = 'Give the time at which it was paid out, or none for now.';

export interface Payout {
  /** US dollars. */
  amount?: number | undefined;
  reference?: string | undefined;
  settledAt?: Instant | undefined;
}

/**
 * Records the payout of a payment once; a repeat answers the first record. Throws GatewayError `not_found`, `invalid_input`
 * for a time in the future or before the year 2000, and `invalid_state` if there is nothing or another amount to pay out.
 */
export async function recordPayout(deps: Deps, paymentId: string, payout: Payout): Promise<Settlement> {
  const { amount, reference = null, settledAt = null } = payout;
  if (settledAt !== null && settledAt > deps.now()) {
    throw invalidField('settledAt', 'too_big', 'has not come yet', TIME_NEEDED);
  }
  if (settledAt !== null && settledAt < EARLIEST_SETTLEMENT) {
    throw invalidField('settledAt', 'too_small', 'is before the year 2000', TIME_NEEDED);
  }
  const payment = await getPayment(deps, paymentId);
  const cents = amount === undefined ? null : centsFromAmount(amount)!;
  const settled = await settlePayment(deps, payment, { source: 'api', amount: cents, reference, settledAt });
  switch (settled.outcome) {
    case 'settled':
    case 'already':
    case 'duplicate': {
      const recorded = (await deps.store.settlement(payment.id))!;
      if (cents === null || cents === recorded.amount) return recorded;
      throw new GatewayError('invalid_state', `${usd(recorded.amount)} was settled before, not ${usd(cents)}.`, {
        field: 'amount',
        suggestion: 'Read the settlement of the payment, which is recorded once; or leave amount out to get it.',
      });
    }
    case 'amount_differs': {
      const words = `${usd(settled.left)} of the payment is to be paid out, not ${usd(cents!)}.`;
      throw new GatewayError('invalid_state', words, {
        field: 'amount',
        suggestion: 'Look at the refunds of the payment; leave amount out to record what is left.',
      });
    }
    default:
      throw new GatewayError('invalid_state', refusalMessage(settled.outcome, settled.payment), {
        suggestion: 'Look at the payment and its refunds; nothing was recorded.',
      });
  }
}
