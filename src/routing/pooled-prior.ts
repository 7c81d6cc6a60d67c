import { type RouteState, disturbedShareOfTime } from './route-memory.ts';
import type { Policy } from './routing-policy.ts';

/** Configuration of a route (see `RoutePrior`), and its memory: `faded` is decayed to the time of the estimate. */
export interface RouteMemory {
  id: string;
  successRate: number;
  group: string;
  faded: RouteState;
}

const LOWEST_RATE = 0.01;
const HIGHEST_RATE = 0.99;
const MOST_ROUNDS = 20;
const PRECISE_LOGIT = 1e-9;

/** Prior success rates in the order of `memories`: the configured rates, shifted by the performance of all routes together. */
export function pooledRates(memories: readonly RouteMemory[], policy: Policy): number[] {
  const usualRates = memories.map(({ successRate }) => usualRateOf(successRate, policy));
  const shift = pooledShiftOf(usualRates, memories, policy);
  return usualRates.map((rate) => logistic(logit(rate) + shift));
}

/** Success rate outside of disturbances. With it, the average over all time is the configured rate. */
function usualRateOf(successRate: number, policy: Policy): number {
  return bounded(successRate / (1 - disturbedShareOfTime(policy) * (1 - policy.disturbance.levelShare)));
}

/**
 * Performance of all routes together against their configuration, in logits: the configured rates with this shift give the observed
 * number of successes. Each route is weighted by its own traffic. Otherwise a busy good route that performs as configured would raise
 * the estimates of the other routes.
 */
function pooledShiftOf(
  usualRates: readonly number[],
  memories: readonly RouteMemory[],
  { estimate: { pooledPriorWeight } }: Policy,
): number {
  const logits = usualRates.map(logit);
  const counts = memories.map(({ faded }) => faded.slowSuccesses + faded.slowFailures);
  // The prior: outcomes of an average route that performs as configured.
  logits.push(sum(logits) / Math.max(1, logits.length));
  counts.push(pooledPriorWeight);
  const seen = sum(memories.map(({ faded }) => faded.slowSuccesses)) + pooledPriorWeight * logistic(logits.at(-1)!);
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

// Bounds a rate, because no outcome could change the estimate at a configured rate of 0 or 1.
function bounded(rate: number): number {
  return Math.min(HIGHEST_RATE, Math.max(LOWEST_RATE, rate));
}

function logit(rate: number): number {
  return Math.log(bounded(rate) / (1 - bounded(rate)));
}

function logistic(logits: number): number {
  return 1 / (1 + Math.exp(-logits));
}
