import type { Cents } from './money.ts';
import { type ProviderAmount, centsOfUnits } from './provider-report.ts';
import { CURRENCY, type Payment } from './records.ts';

/** Assets that count as US dollars, one to one, on a route with that asset. */
const DOLLAR_ASSETS: readonly string[] = ['USDC'];

/**
 * Part of the session's amount, in cents without the buyer's fee, that the money `received` pays for. Money in a currency other
 * than USD is returned in hundredths of that currency. Fractions of a cent are dropped.
 */
export function sessionAmountOf(
  payment: Payment | undefined,
  received: ProviderAmount,
): { amount: Cents; currency: string } {
  const cents = centsOfUnits(received);
  const isDollarAsset = DOLLAR_ASSETS.includes(received.currency) && payment?.route.asset === received.currency;
  const currency = isDollarAsset ? CURRENCY : received.currency;
  if (!payment || received.excludesBuyerFee === true || currency !== CURRENCY) return { amount: cents, currency };
  return { amount: payment.amount + cents - payment.fees.total, currency: CURRENCY };
}
