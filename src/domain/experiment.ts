import type { Instant } from './records.ts';
import { differenceSequence } from './statistics.ts';

/** Arms of an experiment. `router`: the sessions without the variant. */
export const ARMS = ['variant', 'router'] as const;
export type Arm = (typeof ARMS)[number];

/** Number of sessions of both arms that count at most: more would hardly narrow the interval. */
const MOST_COUNTED = 100_000;
/** Largest minimum sample of an arm with half of the sessions. */
export const LARGEST_SAMPLE = 25_000;

/** `no_difference_shown`: both arms have the minimum sample, and the interval of the difference contains 0. */
export const VERDICTS = ['too_small', 'better', 'worse', 'no_difference_shown'] as const;

/** Settings of an experiment that its result depends on. */
export interface ExperimentPlan {
  /** Percentage of the sessions in the variant. */
  share: number;
  /** Number of sessions in each arm before a verdict. */
  minimumSample: number;
}

/** Sums over the counted sessions of an arm; `cost` is the sum of the provider's costs of the paid ones, each in ppm of its amount. */
export interface ArmCounts {
  arm: Arm;
  sessions: number;
  paid: number;
  cost: number;
}

/** Numbers of an arm. `rate` is the share of paid sessions, `cost` the mean cost of the paid ones in ppm. Null without such sessions. */
interface ArmResult extends Omit<ArmCounts, 'cost'> {
  rate: number | null;
  cost: number | null;
}

/** Result of an experiment. `difference`, and its interval from `low` to `high`, is the rate of the variant minus that of the router, in points. */
export interface ExperimentResult {
  arms: ArmResult[];
  /** Null if an arm has no sessions. */
  difference: number | null;
  low: number;
  high: number;
  verdict: (typeof VERDICTS)[number];
  /** Time of the count. */
  until: Instant;
}

/** Number of sessions at which each arm ends the count of both, so that the arms always count sessions of the same time. */
export function limitsOf(share: number): Record<Arm, number> {
  const variant = (MOST_COUNTED * share) / 100;
  return { variant, router: MOST_COUNTED - variant };
}

/** Largest minimum sample with a share: half of what the variant counts on average, because chance can give it fewer sessions. */
export function largestSampleOf(share: number): number {
  return Math.min(LARGEST_SAMPLE, limitsOf(share).variant / 2);
}

/** Result of an experiment from the counts of its arms; an arm without sessions may be missing. */
export function resultOf(
  counts: readonly ArmCounts[],
  { share, minimumSample }: ExperimentPlan,
  until: Instant,
): ExperimentResult {
  const [variant, router] = [armResult('variant', counts), armResult('router', counts)];
  const [first, second] = [variant, router].map(({ sessions, paid }) => ({ successes: paid, trials: sessions }));
  // The variant is the smaller arm, and reaches the minimum sample with this number of sessions.
  const interval = differenceSequence(first!, second!, (minimumSample * 100) / share);
  const [low, high] = [pointsOf(interval.low), pointsOf(interval.high)];
  const isSmall = Math.min(variant.sessions, router.sessions) < minimumSample;
  const shown = low > 0 ? 'better' : high < 0 ? 'worse' : 'no_difference_shown';
  const difference = variant.rate === null || router.rate === null ? null : pointsOf(variant.rate - router.rate);
  return { arms: [variant, router], difference, low, high, verdict: isSmall ? 'too_small' : shown, until };
}

function armResult(arm: Arm, counts: readonly ArmCounts[]): ArmResult {
  const { sessions, paid, cost } = counts.find((one) => one.arm === arm) ?? { sessions: 0, paid: 0, cost: 0 };
  const rate = sessions === 0 ? null : paid / sessions;
  return { arm, sessions, paid, rate, cost: paid === 0 ? null : Math.round(cost / paid) };
}

/** A share in percentage points with two decimals. */
function pointsOf(share: number): number {
  return Math.round(share * 10_000) / 100;
}
