import { type RouteState, disturbedShareOfTime } from './memory.ts';
import type { Policy } from './policy.ts';

/** What is configured of a route, see `RoutePrior`, with what is remembered of it, faded to the moment in question. */
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

/**
 * What is expected of each route, between its disturbances, before its own outcomes are looked at: what it is configured
 * to do, moved by how all routes together do against what they are configured to. In the order of `memories`.
 */
export function pooledRates(memories: readonly RouteMemory[], policy: Policy): number[] {
  const usualRates = memories.map(({ successRate }) => usualRateOf(successRate, policy));
  const shift = pooledShiftOf(usualRates, memories, policy);
  return usualRates.map((rate) => logistic(logit(rate) + shift));
}

/** The rate that a route needs between its disturbances to come to the configured one over all. */
function usualRateOf(successRate: number, policy: Policy): number {
  return held(successRate / (1 - disturbedShareOfTime(policy) * (1 - policy.disturbance.levelShare)));
}

/**
 * How much better or worse, in logits, all routes together do than configured: moved by it, their rates would have brought
 * the successes that there were. Each counts by its own traffic, or a merchant whose best route carries nearly everything
 * and does as promised would have the others raised.
 */
function pooledShiftOf(
  usualRates: readonly number[],
  memories: readonly RouteMemory[],
  { estimate: { pooledPriorWeight } }: Policy,
): number {
  const logits = usualRates.map(logit);
  const counts = memories.map(({ faded }) => faded.slowSuccesses + faded.slowFailures);
  // Outcomes as configured, of a route in the middle of all.
  logits.push(sum(logits) / Math.max(1, logits.length));
  counts.push(pooledPriorWeight);
  const seen = sum(memories.map(({ faded }) => faded.slowSuccesses)) + pooledPriorWeight * logistic(logits.at(-1)!);
  const outcomes = sum(counts);
  // Exact where all are configured alike; Newton's method does the rest.
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

// Nothing is taken for certain: a route configured at 1 could never be learnt about.
function held(rate: number): number {
  return Math.min(HIGHEST_RATE, Math.max(LOWEST_RATE, rate));
}

function logit(rate: number): number {
  return Math.log(held(rate) / (1 - held(rate)));
}

function logistic(logits: number): number {
  return 1 / (1 + Math.exp(-logits));
}
