import { type Cents, type RatePpm, shareOf } from './money.ts';

/** Parts of an amount, in cents: buyerFee + gatewayFee + merchantNet = total, always. The buyer pays `total`. */
export interface FeeSplit {
  buyerFee: Cents;
  gatewayFee: Cents;
  merchantNet: Cents;
  total: Cents;
}

export interface FeeRates {
  buyerFeeRate: RatePpm;
  gatewayFeeRate: RatePpm;
}

/** Both fees are rounded half up; the merchant's net is the rest of the amount, so that the parts sum exactly. */
export function splitFees(amount: Cents, rates: FeeRates): FeeSplit {
  const buyerFee = shareOf(amount, rates.buyerFeeRate);
  const gatewayFee = shareOf(amount, rates.gatewayFeeRate);
  return { buyerFee, gatewayFee, merchantNet: amount - gatewayFee, total: amount + buyerFee };
}
