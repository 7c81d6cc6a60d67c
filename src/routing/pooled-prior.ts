import { type RouteState, disturbedShareOfTime } from './route-memory.ts';
import type { Policy } from './routing-policy.ts';

/** Configured expectation for a route: the prior of its estimate. */
export interface RoutePrior {
  id: string;
  /** Share of attempts expected to succeed, 0 to 1. */
  successRate: number;
  /** Name of the group of routes that are compared by their share of neutral outcomes, for example the route kind. */
  group: string;
}

/** Configuration of a route, and its memory decayed to the time of the estimate. */
export interface RouteMemory extends RoutePrior {
  faded: RouteState;
}

const LOWEST_RATE = 0.01;
const HIGHEST_RATE = 0.99;
const MOST_ROUNDS = 20;
const PRECISE_LOGIT = 1e-9;

/** Prior success rates in the order of `memories`: the configured rates, shifted by the performance of all routes together. */
export function pooledRates(memories: readonly RouteMemory[], policy: Policy): number[] {
  // Outside of disturbances, routes are better than the configured rate, which is their average over all time.
  const averageToUsual = 1 - disturbedShareOfTime(policy) * (1 - policy.disturbance.levelShare);
  const logits = memories.map(({ successRate }) => logit(successRate / averageToUsual));
  const shift = pooledShiftOf(logits, memories, policy);
  return logits.map((each) => logistic(each + shift));
}

/**
 * Performance of all routes together against their configuration, in logits: the configured rates with this shift give the observed
 * number of successes. Each route is weighted by its own traffic. Otherwise a busy good route that performs as configured would raise
 * the estimates of the other routes.
 */
function pooledShiftOf(
  configuredLogits: readonly number[],
  memories: readonly RouteMemory[],
  { estimate: { pooledPriorWeight } }: Policy,
): number {
  // The prior: outcomes of an average route that performs as configured.
  const average = sum(configuredLogits) / Math.max(1, configuredLogits.length);
  const logits = [...configuredLogits, average];
  const counts = [...memories.map(({ faded }) => faded.slowSuccesses + faded.slowFailures), pooledPriorWeight];
  const seen = sum(memories.map(({ faded }) => faded.slowSuccesses)) + pooledPriorWeight * logistic(average);
  const outcomes = sum(counts);
  // Exact if all routes have the same configuration; otherwise Newton's method refines it.
  let shift = logit(seen / outcomes) - logit(sum(counts.map((count, i) => count * logistic(logits[i]!))) / outcomes);
  for (let round = 0; round < MOST_ROUNDS; round += 1) {
    let [excess, slope] = [-seen, 0];
    for (const [i, count] of counts.entries()) {
      const rate = logistic(logits[i]! + shift);
      excess += count * rate;
      slope += count * rate * (1 - rate);
    }
    const step = Math.min(1, Math.max(-1, excess / slope));
    shift -= step;
    if (Math.abs(step) < PRECISE_LOGIT) break;
  }
  return shift;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

// The rate is bounded, because no outcome could change an estimate of 0 or 1, and the usual rate can be computed as more than 1.
function logit(rate: number): number {
  const bounded = Math.min(HIGHEST_RATE, Math.max(LOWEST_RATE, rate));
  return Math.log(bounded / (1 - bounded));
}

function logistic(logits: number): number {
  return 1 / (1 + Math.exp(-logits));
}
