import type { Cents, RatePpm } from '../domain/money.ts';
import type { Route, RouteHealth } from '../domain/route.ts';
import type { ObjectiveWeights, Policy } from './routing-policy.ts';

type Objective = Policy['objective'];

const PPM = 1_000_000;
const LONGEST_WAIT_MINUTES = 60;

// Amount for comparisons of routes without a payment, such as the published score: 50 dollars.
const TYPICAL_AMOUNT: Cents = 5000;

/**
 * Cost of a paid payment over a route, as a fraction of its amount, with the share that is lost afterwards; negative if the weights
 * make fees a gain. Without an amount, the fixed part of the provider's charge is that of a typical payment.
 */
export function costOf(
  route: Pick<Route, 'buyerFeeRate' | 'gatewayFeeRate' | 'providerCostRate' | 'providerCostFixed'> & {
    lostRate?: RatePpm;
  },
  weights: ObjectiveWeights,
  amount: Cents | null = null,
): number {
  const { providerCostFixed: fixed = 0, lostRate = 0 } = route;
  const fixedRate = fixed === 0 ? 0 : (fixed * PPM) / (amount ?? TYPICAL_AMOUNT);
  const cost =
    weights.buyerFee * route.buyerFeeRate +
    weights.gatewayFee * route.gatewayFeeRate +
    weights.providerCost * (route.providerCostRate + fixedRate) +
    lostRate;
  return cost / PPM;
}

/** Expected value of a payment over a route, as a fraction of its amount; it may be negative. */
export function valueOf(p: number, cost: number, etaMinutes: number, objective: Objective): number {
  const hours = Math.min(Math.max(etaMinutes, 0), LONGEST_WAIT_MINUTES) / 60;
  return p * (objective.margin - cost) - objective.waitPerHour * hours;
}

/** The value less the penalties for the route. They are subtracted, because a factor would improve a negative value. */
export function indexOf(
  value: number,
  { health, failed }: { health: RouteHealth; failed: boolean },
  { healthPenalty, failedPenalty, margin }: Objective,
): number {
  return value - (healthPenalty[health] + (failed ? failedPenalty : 0)) * margin;
}

/** The published score of an index: 0 to 100 with one decimal, higher is better. */
export function scoreOf(index: number, objective: Objective): number {
  const share = Math.min(1, Math.max(0, index / objective.margin));
  return Math.round(share * 1000) / 10;
}
