import type { Policy } from './routing-policy.ts';

/** Probability of each of `RATES` to be the long-term success rate of a route. */
export type RateBelief = readonly number[];

/** A success rate, and the number of outcomes that would give an equally certain estimate. */
export interface WeighedRate {
  rate: number;
  outcomes: number;
}

const STEP = 1 / 4;
/** Success rates from 0.03 % to 99.97 %, whose logits differ by `STEP`. */
const RATES = Array.from({ length: 65 }, (_, i) => 1 / (1 + Math.exp(8 - i * STEP)));
const SUCCESS_LOGS = RATES.map((rate) => Math.log(rate));
const FAILURE_LOGS = RATES.map((rate) => Math.log(1 - rate));
const LEAST_VARIANCE = 1e-9;
// No rate is excluded for ever, whatever the outcomes were.
const LEAST_SHARE = 1e-100;

/**
 * The belief after some time without outcomes; without a belief, that about a new route. A long-term rate stays until it changes to
 * another one of the distribution of the routes' rates around `pooled`.
 */
export function laterBelief(
  belief: RateBelief | null,
  seconds: number,
  pooled: number,
  { estimate }: Policy,
): RateBelief {
  if (belief && seconds === 0) return belief;
  const prior = beta(estimate.longTermPriorWeight * pooled, estimate.longTermPriorWeight * (1 - pooled));
  if (!belief) return prior;
  const kept = Math.exp(-seconds / estimate.changesEverySeconds);
  return belief.map((share, i) => kept * share + (1 - kept) * prior[i]!);
}

/** The belief after outcomes, by Bayes' rule. Corrections of earlier outcomes are negative. */
export function withOutcomes(belief: RateBelief, successes: number, failures: number): RateBelief {
  if (successes === 0 && failures === 0) return belief;
  const likelihoods = likelihoodsOf(successes, failures);
  return normalized(belief.map((share, i) => share * likelihoods[i]!));
}

/** Mean of a belief. Its weight follows from the variance, as that of a mean of outcomes. */
export function meanOf(belief: RateBelief): WeighedRate {
  const rate = belief.reduce((sum, share, i) => sum + share * RATES[i]!, 0);
  const square = belief.reduce((sum, share, i) => sum + share * RATES[i]! * RATES[i]!, 0);
  return { rate, outcomes: (rate * (1 - rate)) / Math.max(LEAST_VARIANCE, square - rate * rate) };
}

/** The beta distribution. Its first and last share contain all rates beyond them, so that the mean is exact. */
function beta(successes: number, failures: number): RateBelief {
  const shares = likelihoodsOf(successes, failures);
  shares[0]! /= 1 - Math.exp(-STEP * successes);
  shares[RATES.length - 1]! /= 1 - Math.exp(-STEP * failures);
  return normalized(shares);
}

/** Likelihood of outcomes at each rate, in relation to the largest likelihood, because all can be very small. */
function likelihoodsOf(successes: number, failures: number): number[] {
  const logs = RATES.map((_, i) => successes * SUCCESS_LOGS[i]! + failures * FAILURE_LOGS[i]!);
  const most = Math.max(...logs);
  return logs.map((log) => Math.exp(log - most));
}

function normalized(shares: readonly number[]): RateBelief {
  const total = shares.reduce((sum, share) => sum + share, 0);
  return shares.map((share) => Math.max(LEAST_SHARE, share / total));
}
