import type { Route, RouteHealth } from '../domain/route.ts';
import type { ObjectiveWeights, Policy } from './policy.ts';

type Objective = Policy['objective'];

const PPM = 1_000_000;
const LONGEST_WAIT_MINUTES = 60;

/** What a payment over this route costs, as a fraction of its amount; below 0 where the weights make fees a gain. */
export function costOf(
  route: Pick<Route, 'buyerFeeRate' | 'gatewayFeeRate' | 'providerCostRate'>,
  weights: ObjectiveWeights,
): number {
  const cost =
    weights.buyerFee * route.buyerFeeRate +
    weights.gatewayFee * route.gatewayFeeRate +
    weights.providerCost * route.providerCostRate;
  return cost / PPM;
}

/** What sending a payment this way is expected to bring, as a fraction of its amount: it may be below 0. */
export function valueOf(p: number, cost: number, etaMinutes: number, objective: Objective): number {
  const hours = Math.min(Math.max(etaMinutes, 0), LONGEST_WAIT_MINUTES) / 60;
  return p * (objective.margin - cost) - objective.waitPerHour * hours;
}

/**
 * What `value` counts for in this health. The penalty is taken off, not multiplied in: a tenth off a loss would be a
 * gain, and the worse route the better one.
 */
export function indexOf(value: number, health: RouteHealth, objective: Objective): number {
  return value - objective.healthPenalty[health] * objective.margin;
}

/** 0 to 100 with one decimal, higher is better: what is published of an index. */
export function scoreOf(index: number, objective: Objective): number {
  const share = Math.min(1, Math.max(0, index / objective.margin));
  return Math.round(share * 1000) / 10;
}
