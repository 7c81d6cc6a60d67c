import type { Cents } from './money.ts';
import { type ProviderAmount, centsOfUnits } from './provider-report.ts';
import { CURRENCY, type Payment } from './records.ts';

/** The total that the provider is asked to take for a payment, in its own unit. */
function chargeAmountOf({ fees }: Pick<Payment, 'fees'>): ProviderAmount {
  return { units: BigInt(fees.total), currency: CURRENCY, exponent: 2 };
}

/**
 * Part of the session's amount (cents, without the buyer's fee) that the money `received` pays for. Money in another currency than
 * the charge's is converted to hundredths of its own currency. Fractions of a cent are dropped.
 */
export function sessionAmountOf(
  payment: Payment | undefined,
  received: ProviderAmount,
): { amount: Cents; currency: string } {
  const cents = centsOfUnits(received);
  if (!payment || received.excludesBuyerFee === true) return { amount: cents, currency: received.currency };
  const { currency } = chargeAmountOf(payment);
  if (received.currency !== currency) return { amount: cents, currency: received.currency };
  return { amount: payment.amount + cents - payment.fees.total, currency: CURRENCY };
}
