/** 97.5th percentile of the normal distribution, for intervals of 95 %. */
const Z = 1.959964;

/** An interval of shares from 0 to 1. */
export interface ShareInterval {
  low: number;
  high: number;
}

/** Wilson score interval of 95 %: https://en.wikipedia.org/wiki/Binomial_proportion_confidence_interval. Without trials it is 0 to 1. */
export function wilsonInterval(successes: number, trials: number): ShareInterval {
  if (trials === 0) return { low: 0, high: 1 };
  const [share, weight] = [successes / trials, Z ** 2 / trials];
  const centre = (share + weight / 2) / (1 + weight);
  const half = (Z / (1 + weight)) * Math.sqrt((share * (1 - share)) / trials + weight / (4 * trials));
  return { low: Math.max(0, Math.min(share, centre - half)), high: Math.min(1, Math.max(share, centre + half)) };
}

/** Exact probability of at most `successes` successes in `trials` trials that each succeed with probability `p` (0 < p < 1). */
export function binomialAtMost(successes: number, trials: number, p: number): number {
  if (successes >= trials) return 1;
  // Logarithms, because the first terms of many trials are smaller than the smallest number.
  let term = trials * Math.log1p(-p);
  let sum = Math.exp(term);
  for (let count = 0; count < successes; count++) {
    term += Math.log((trials - count) / (count + 1)) + Math.log(p) - Math.log1p(-p);
    sum += Math.exp(term);
  }
  return Math.min(1, sum);
}
