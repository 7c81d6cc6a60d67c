import { GatewayError, invalidField } from '../../domain/errors.ts';
import { amountFromCents, centsFromAmount } from '../../domain/money.ts';
import { CURRENCY, type Instant, type Payment } from '../../domain/records.ts';
import { EARLIEST_SETTLEMENT, type Settlement, type SettlementRefusal, refusalWords } from '../../domain/settlement.ts';
import type { Deps } from '../deps.ts';
import { getPayment } from '../read-records.ts';
import { settlePayment } from './settle-payment.ts';

export interface Payout {
  /** US dollars. */
  amount?: number | undefined;
  reference?: string | undefined;
  settledAt?: Instant | undefined;
}

/**
 * Records that a payment was paid out, once: told again, it answers what was recorded first. Throws GatewayError
 * `not_found`, `invalid_input` for a time that has not come or is of another century, and `invalid_state` where there is
 * nothing to pay out, or not so much.
 */
export async function recordPayout(deps: Deps, paymentId: string, payout: Payout): Promise<Settlement> {
  const { amount, reference = null, settledAt = null } = payout;
  if (settledAt !== null && settledAt > deps.now()) {
    throw invalidField(
      'settledAt',
      'too_big',
      'has not come yet',
      'Give the time at which it was paid out, or none for now.',
    );
  }
  if (settledAt !== null && settledAt < EARLIEST_SETTLEMENT) {
    throw invalidField(
      'settledAt',
      'too_small',
      'is before the year 2000',
      'Give the time at which it was paid out, or none for now.',
    );
  }
  const payment = await getPayment(deps, paymentId);
  const cents = amount === undefined ? null : centsFromAmount(amount)!;
  const settled = await settlePayment(deps, payment, { source: 'api', amount: cents, reference, settledAt });
  switch (settled.outcome) {
    case 'settled':
    case 'already':
    case 'duplicate': {
      const recorded = (await deps.store.settlement(payment.id))!;
      if (cents !== null && cents !== recorded.amount) throw settledOtherwise(recorded.amount, cents);
      return recorded;
    }
    case 'amount_differs':
      throw differs(settled.left, cents!);
    default:
      throw refused(settled.outcome, settled.payment);
  }
}

function settledOtherwise(before: number, told: number): GatewayError {
  return new GatewayError('invalid_state', `${words(before)} was settled before, not ${words(told)}.`, {
    field: 'amount',
    suggestion: 'Read the settlement of the payment: it is recorded once. Leave amount out to be answered that.',
  });
}

function words(cents: number): string {
  return `${amountFromCents(cents).toFixed(2)} ${CURRENCY}`;
}

function differs(left: number, told: number): GatewayError {
  return new GatewayError('invalid_state', `${words(left)} of the payment is to be paid out, not ${words(told)}.`, {
    field: 'amount',
    suggestion: 'Look at the refunds of the payment; leave amount out to record what is left.',
  });
}

function refused(refusal: SettlementRefusal, payment: Payment): GatewayError {
  return new GatewayError('invalid_state', refusalWords(refusal, payment), {
    suggestion: 'Look at the payment and its refunds; nothing was recorded.',
  });
}
