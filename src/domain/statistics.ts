/** 97.5th percentile of the normal distribution, for intervals of 95 %. */
const Z = 1.959964;

/** An interval of shares from 0 to 1, or of differences of shares. */
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

/** Successes among a number of trials. */
interface Sample {
  successes: number;
  trials: number;
}

/** Largest probability that a confidence sequence of {@link differenceSequence} ever excludes the true difference. */
const ALPHA = 0.05;

/**
 * Interval of 95 % of the difference of two shares, `first` minus `second`, that is valid at every look: it may be computed after every
 * trial, and the decision to stop may depend on it. The asymptotic confidence sequence of Waudby-Smith et al.,
 * https://arxiv.org/abs/2103.06476, narrowest at about `narrowestAt` trials of both samples together.
 */
export function differenceSequence(first: Sample, second: Sample, narrowestAt: number): ShareInterval {
  if (first.trials === 0 || second.trials === 0) return { low: -1, high: 1 };
  const total = first.trials + second.trials;
  const pooled = { successes: first.successes + second.successes, trials: total };
  // A small sample without failures understates its variance; the pooled variance then bounds it.
  const variance = Math.max(
    varianceOf(first) / first.trials + varianceOf(second) / second.trials,
    varianceOf(pooled) * (1 / first.trials + 1 / second.trials),
  );
  const quantile = -2 * Math.log(ALPHA);
  const spread = (total * (quantile + Math.log(quantile) + 1)) / narrowestAt;
  const half = Math.sqrt(((variance * 2 * (spread + 1)) / spread) * Math.log(Math.sqrt(spread + 1) / ALPHA));
  const difference = first.successes / first.trials - second.successes / second.trials;
  return { low: Math.max(-1, difference - half), high: Math.min(1, difference + half) };
}

function varianceOf({ successes, trials }: Sample): number {
  const share = (successes + 1) / (trials + 2);
  return share * (1 - share);
}
