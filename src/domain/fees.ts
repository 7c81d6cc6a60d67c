import { type Cents, shareOf } from './money.ts';
import type { Route } from './route.ts';

/** Parts of an amount, in cents: buyerFee + gatewayFee + merchantNet = total, always. The buyer pays `total`. */
export interface FeeSplit {
  buyerFee: Cents;
  gatewayFee: Cents;
  merchantNet: Cents;
  total: Cents;
}

/** Splits an amount. The fees are rounded half up. The merchant's net is the rest of the amount, so that the parts sum exactly. */
export function splitFees(amount: Cents, rates: Pick<Route, 'buyerFeeRate' | 'gatewayFeeRate'>): FeeSplit {
  const buyerFee = shareOf(amount, rates.buyerFeeRate);
  const gatewayFee = shareOf(amount, rates.gatewayFeeRate);
  return { buyerFee, gatewayFee, merchantNet: amount - gatewayFee, total: amount + buyerFee };
}
