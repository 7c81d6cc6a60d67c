import type { Cents } from './money.ts';
import { type ProviderAmount, centsOfUnits } from './provider-report.ts';
import { CURRENCY, type Payment } from './records.ts';

/**
 * Part of the session's amount, in cents without the buyer's fee, that the money `received` pays for. Money in a currency other
 * than USD is returned in hundredths of that currency. Fractions of a cent are dropped.
 */
export function sessionAmountOf(
  payment: Payment | undefined,
  received: ProviderAmount,
): { amount: Cents; currency: string } {
  const cents = centsOfUnits(received);
  if (!payment || received.excludesBuyerFee === true || received.currency !== CURRENCY)
    return { amount: cents, currency: received.currency };
  return { amount: payment.amount + cents - payment.fees.total, currency: CURRENCY };
}
