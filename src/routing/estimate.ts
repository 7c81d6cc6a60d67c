import {
  type LatencySums,
  type RouteState,
  type States,
  type Tally,
  bucketOf,
  fadedTo,
  hourOf,
  openHoursOf,
  withTally,
} from './route-memory.ts';
import { publishedRate } from './context-offsets.ts';
import { type Suspected, suspectedNeutrals } from './neutral-guard.ts';
import type { Policy } from './routing-policy.ts';
import { type RouteMemory, type RoutePrior, pooledRates } from './pooled-prior.ts';
import { intervalShares, evidenceUntil, longTermRate, priorAround } from './long-term-rate.ts';
import { slowWeightOf } from './steadiness.ts';

/** Estimate of a route at one time. Its numbers are rounded, because decisions store them and are replayed from them. */
export interface RouteEstimate {
  /** Expected success rate, 4 decimals. */
  p: number;
  /** Number of outcomes behind the estimate, 1 decimal. */
  n: number;
  /** Lower bound of the 80 % interval of `p`; `high` is the upper bound. */
  low: number;
  high: number;
  /** Success rate of about the last 15 minutes. With n = 0, `mean` equals the mean of `slow`. */
  fast: { mean: number; n: number };
  /** Usual success rate, over hours, combined with the prior from other routes and the configuration. */
  slow: { mean: number; n: number };
  /** Probability that the route is disturbed (temporarily degraded or down), 4 decimals. */
  disturbance: number;
  /** Time of the last detected disturbance in ms since 1970: the end of its bucket. */
  shiftedAt: number | null;
  /** 95th percentiles of the time to paid in seconds, if times are log-normal; null with fewer than 2 timed payments. */
  latency: {
    p95SecondsFast: number | null;
    p95SecondsSlow: number | null;
    /** Usual median. */
    medianSeconds: number | null;
    nFast: number;
    nSlow: number;
  };
  /** True if neutral outcomes count against the route, because the route has far more of them than its peers. */
  neutralsCounted: boolean;
  /** The end of the bucket of the last outcome, ms since 1970. */
  lastOutcomeAt: number | null;
}

/** Quantiles of a Gaussian in standard deviations: of the central 80 %, of the lower half and of the lower 95 %. */
const EIGHTY_PERCENT = 1.2816;
const MEDIAN = 0;
const NINETY_FIFTH = 1.6449;
/** The smallest number of payment times that describes their distribution. */
const LEAST_TIMED = 2;

/**
 * Adds the tallies of one bucket, which must be later than all folded buckets, to the states. Takes the tallies of all routes at
 * once, because it compares each route with all routes. Ignores routes that are not in `priors`. All instances must use the same
 * order of `priors`, because the last bit of a sum depends on it.
 */
export function fold(
  states: States,
  tallies: ReadonlyMap<string, Tally>,
  bucket: number,
  priors: readonly RoutePrior[],
  policy: Policy,
): States {
  const after = new Map(states);
  for (const { id, faded, expected } of levelsAt(states, priors, bucket, policy, (id) => tallies.has(id))) {
    after.set(id, withTally(faded, tallies.get(id)!, expected, policy));
  }
  return after;
}

/** Estimates of the routes of `priors` at a time in ms since 1970. They are constant within a bucket. */
export function estimateRoutes(
  states: States,
  priors: readonly RoutePrior[],
  nowMs: number,
  policy: Policy,
): Map<string, RouteEstimate> {
  const estimates = new Map<string, RouteEstimate>();
  for (const level of levelsAt(states, priors, bucketOf(nowMs, policy), policy)) {
    estimates.set(level.id, published(level, states.get(level.id), policy));
  }
  return estimates;
}

/** A route's memory at one time and the estimates from it, not rounded. */
type Level = ReturnType<typeof levelOf>;

/** The levels of the routes that `isWanted` accepts; the others only contribute to what is learned from all routes together. */
function levelsAt(
  states: States,
  priors: readonly RoutePrior[],
  bucket: number,
  policy: Policy,
  isWanted: (id: string) => boolean = () => true,
): Level[] {
  const memories = priors.map((prior) => ({ ...prior, faded: fadedTo(states.get(prior.id), bucket, policy) }));
  const pooled = pooledRates(memories, policy);
  const suspected = suspectedNeutrals(memories, policy);
  const slowWeight = slowWeightOf(
    memories.map(({ faded }) => faded.steadiness),
    policy,
  );
  const hour = hourOf(bucket, policy);
  const beliefs = memories.map(({ faded }, i) => {
    const prior = priorAround(pooled[i]!, policy);
    const longTerm = evidenceUntil(faded.longTerm, prior, hour - openHoursOf(faded, policy), policy);
    return { prior, longTerm, evidence: evidenceUntil(longTerm, prior, hour + 1, policy).evidence };
  });
  const shares = intervalShares(beliefs, policy);
  return memories.flatMap((memory, i) => {
    if (!isWanted(memory.id)) return [];
    const faded = { ...memory.faded, longTerm: beliefs[i]!.longTerm };
    return levelOf({ ...memory, faded }, longTermRate(beliefs[i]!, shares), suspected[i]!, slowWeight, policy);
  });
}

/** Combines the posteriors of the usual and the disturbed state of a route. `n` is derived from the variance within each state only. */
function levelOf(
  { id, faded }: RouteMemory,
  longTerm: ReturnType<typeof longTermRate>,
  suspected: Suspected,
  slowWeight: number,
  { estimate, disturbance }: Policy,
) {
  const slowOutcomes = faded.slowSuccesses + faded.slowFailures + suspected.slow + estimate.slowPriorWeight;
  const slowMean = (faded.slowSuccesses + estimate.slowPriorWeight * longTerm.rate) / slowOutcomes;
  const usualOutcomes = faded.fastSuccesses + faded.fastFailures + suspected.fast + slowWeight;
  const usual = (faded.fastSuccesses + slowWeight * slowMean) / usualOutcomes;
  const disturbedOutcomes = faded.disturbedSuccesses + faded.disturbedFailures + disturbance.levelWeight;
  const disturbedPrior = disturbance.levelWeight * disturbance.levelShare * slowMean;
  // A few lucky outcomes must not make a disturbance look like an improvement.
  const disturbed = Math.min(usual, (faded.disturbedSuccesses + disturbedPrior) / disturbedOutcomes);
  const neutralsCounted = suspected.fast + suspected.slow > 0;
  const share = faded.disturbance;
  const p = (1 - share) * usual + share * disturbed;
  // The variance of a mean includes that of its prior.
  const slowVariance = 1 / slowOutcomes + (estimate.slowPriorWeight / slowOutcomes) ** 2 / longTerm.outcomes;
  const usualVariance = 1 / usualOutcomes + (slowWeight / usualOutcomes) ** 2 * slowVariance;
  const variance =
    (1 - share) * usual * (1 - usual) * usualVariance + (share * disturbed * (1 - disturbed)) / disturbedOutcomes;
  return {
    id,
    faded,
    slowMean,
    slowOutcomes,
    // If neutral outcomes count, they lower both estimates, but tallies do not have them as failures. So tallies are no evidence then.
    expected: { usual, disturbed, steady: neutralsCounted ? usual : slowMean },
    p,
    n: (p * (1 - p)) / variance,
    neutralsCounted,
  };
}

function published(level: Level, state: RouteState | undefined, policy: Policy): RouteEstimate {
  const { faded, p, n, slowMean, slowOutcomes, neutralsCounted } = level;
  const reach = EIGHTY_PERCENT * Math.sqrt((p * (1 - p)) / (n + 1));
  const fastSuccesses = faded.fastSuccesses + faded.disturbedSuccesses;
  const fastOutcomes = fastSuccesses + faded.fastFailures + faded.disturbedFailures;
  const endOf = (bucket: number) => (bucket + 1) * policy.bucketSeconds * 1000;
  return {
    p: publishedRate(p),
    n: rounded(n, 1),
    low: rounded(Math.max(0, p - reach), 4),
    high: rounded(Math.min(1, p + reach), 4),
    fast: {
      mean: rounded(fastOutcomes > 0 ? fastSuccesses / fastOutcomes : slowMean, 4),
      n: rounded(fastOutcomes, 1),
    },
    slow: { mean: rounded(slowMean, 4), n: rounded(slowOutcomes, 1) },
    disturbance: rounded(faded.disturbance, 4),
    shiftedAt: faded.shiftedBucket === null ? null : endOf(faded.shiftedBucket),
    latency: {
      p95SecondsFast: secondsToPaid(faded.fastLatency, NINETY_FIFTH),
      p95SecondsSlow: secondsToPaid(faded.slowLatency, NINETY_FIFTH),
      medianSeconds: secondsToPaid(faded.slowLatency, MEDIAN),
      nFast: rounded(faded.fastLatency.count, 1),
      nSlow: rounded(faded.slowLatency.count, 1),
    },
    neutralsCounted,
    lastOutcomeAt: state ? endOf(state.bucket) : null,
  };
}

/** A quantile of a log-normal time to paid; null with too few times. */
function secondsToPaid({ count, logMs, logMsSquared }: LatencySums, quantile: number): number | null {
  if (count < LEAST_TIMED) return null;
  const mean = logMs / count;
  const variance = Math.max(0, logMsSquared / count - mean * mean);
  return rounded(Math.exp(mean + quantile * Math.sqrt(variance)) / 1000, 1);
}

function rounded(value: number, decimals: number): number {
  const scale = 10 ** decimals;
  return Math.round(value * scale) / scale;
}
