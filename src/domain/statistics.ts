/** 97.5th percentile of the normal distribution, for intervals of 95 %. */
const Z = 1.959964;

/** An interval of shares from 0 to 1. */
export interface ShareInterval {
  low: number;
  high: number;
}

/** Wilson score interval: https://en.wikipedia.org/wiki/Binomial_proportion_confidence_interval. `z` is a percentile of the normal distribution. Without trials, it is 0 to 1. */
export function wilsonInterval(successes: number, trials: number, z = Z): ShareInterval {
  if (trials === 0) return { low: 0, high: 1 };
  const [share, weight] = [successes / trials, z ** 2 / trials];
  const centre = (share + weight / 2) / (1 + weight);
  const half = (z / (1 + weight)) * Math.sqrt((share * (1 - share)) / trials + weight / (4 * trials));
  return { low: Math.max(0, Math.min(share, centre - half)), high: Math.min(1, Math.max(share, centre + half)) };
}
