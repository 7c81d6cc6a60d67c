import { type ContextMemory, type ContextOutcomes, NO_CONTEXTS, withContexts } from './context-offsets.ts';
import {
  HOUR_SECONDS,
  type HourlyOutcomes,
  type LongTermMemory,
  noLongTermMemory,
  withOutcomes,
} from './long-term-rate.ts';
import type { Policy } from './routing-policy.ts';
import { steadinessAfter } from './steadiness.ts';

/** Sums of the outcomes of one route in one bucket of time, independent of their order. */
export interface Tally {
  /** Milliseconds since 1970, divided by the length of a bucket and rounded down. */
  bucket: number;
  successes: number;
  /** Weighted: a handoff error counts 2. Negative if it cancels a failure of an earlier bucket whose payment was paid later. */
  failures: number;
  /** Attempts that failed because of the buyer or the issuer. */
  neutrals: number;
  /** Outcomes of attempts while the route was in standby. They show its current level, not its usual one. */
  probeSuccesses: number;
  probeFailures: number;
  /** Payments with a known time from handoff to paid, and the sums of the natural logarithm of that time in ms and of its square. */
  timed: number;
  logMs: number;
  logMsSquared: number;
  contexts: readonly ContextOutcomes[];
  /** `successes`, `failures` and `neutrals` by the hour in which their payments started, oldest first. */
  starts: readonly StartedOutcomes[];
}

/** The outcomes of one hour with those that are neutral. */
export interface StartedOutcomes extends HourlyOutcomes {
  neutrals: number;
}

/** Time to paid of the remembered payments: count, and sums as in `Tally`. */
export interface LatencySums {
  count: number;
  logMs: number;
  logMsSquared: number;
}

/**
 * Sums of outcomes, decayed to the bucket of the last outcome. The fast memory has a short half-life, and separate sums for the
 * usual state of a route and for a disturbance.
 */
export interface RouteState {
  bucket: number;
  fastSuccesses: number;
  fastFailures: number;
  fastNeutrals: number;
  disturbedSuccesses: number;
  disturbedFailures: number;
  slowSuccesses: number;
  slowFailures: number;
  slowNeutrals: number;
  longTerm: LongTermMemory;
  /** Evidence that the usual rate rarely changes: the logarithm of how much better the slow estimate predicts outcomes than the fast one. */
  steadiness: number;
  /** Probability that the route is temporarily degraded or down. */
  disturbance: number;
  /** True from the detection of a disturbance until it is over. */
  isDisturbed: boolean;
  /** Bucket of the last detection, or null. */
  shiftedBucket: number | null;
  fastLatency: LatencySums;
  slowLatency: LatencySums;
  contexts: ContextMemory;
}

/** Expected success rates of a route: usually, while it is disturbed, and if its usual rate has not changed for hours. */
export interface Expectation {
  usual: number;
  disturbed: number;
  steady: number;
}

/** States of the routes of one environment, by route id. A route without a state has no outcome yet. */
export type States = ReadonlyMap<string, RouteState>;

// Bounds of success rates, so that no single outcome is conclusive and every estimate can change back.
const LOWEST_RATE = 0.02;
const HIGHEST_RATE = 0.98;
const LEAST_DISTURBANCE = 1e-6;
const MOST_DISTURBANCE = 0.999;
const NO_LATENCY: LatencySums = { count: 0, logMs: 0, logMsSquared: 0 };
const FAST_SUMS = ['fastSuccesses', 'fastFailures', 'fastNeutrals', 'disturbedSuccesses', 'disturbedFailures'] as const;
const SLOW_SUMS = ['slowSuccesses', 'slowFailures', 'slowNeutrals'] as const;

/** The bucket of a time in ms since 1970. */
export function bucketOf(ms: number, { bucketSeconds }: Policy): number {
  return Math.floor(ms / (bucketSeconds * 1000));
}

/** The hour of a bucket, in hours since 1970. */
export function hourOf(bucket: number, { bucketSeconds }: Policy): number {
  return Math.floor((bucket * bucketSeconds) / HOUR_SECONDS);
}

/** The state decayed to a later bucket, without outcomes in between; without a state, the state of a new route. */
export function fadedTo(state: RouteState | undefined, bucket: number, policy: Policy): RouteState {
  if (!state) return freshState(bucket, policy);
  const { fastHalfLifeSeconds, slowHalfLifeSeconds, steadiness } = policy.estimate;
  const { everySeconds, lastsSeconds } = policy.disturbance;
  // A state can be ahead of a clock that was set back.
  const ageSeconds = Math.max(0, bucket - state.bucket) * policy.bucketSeconds;
  // No Math.pow, because instances must agree to the last bit: V8 has its own exp and log (src/base/ieee754.cc), but may use pow of libc.
  const fast = Math.exp((-Math.LN2 * ageSeconds) / fastHalfLifeSeconds);
  const slow = Math.exp((-Math.LN2 * ageSeconds) / slowHalfLifeSeconds);
  const forgotten = Math.exp(-ageSeconds * (1 / everySeconds + 1 / lastsSeconds));
  const share = disturbedShareOfTime(policy);
  const disturbance = share + (state.disturbance - share) * forgotten;
  return {
    ...decayed(state, fast, slow),
    bucket,
    steadiness: state.steadiness * Math.exp(-ageSeconds / steadiness.lastsSeconds),
    disturbance,
    isDisturbed: state.isDisturbed && disturbance >= policy.disturbance.overBelow,
  };
}

/**
 * Adds a tally to a state of the same bucket. Bayes' rule gives the probability of a disturbance, which divides the outcomes between
 * the usual and the disturbed state. The order of outcomes within a bucket is unknown, so all are added at once.
 */
export function withTally(state: RouteState, tally: Tally, expected: Expectation, policy: Policy): RouteState {
  const { fastMemoryOutcomes, slowMemoryOutcomes, slowHalfLifeSeconds } = policy.estimate;
  const successes = tally.successes + tally.probeSuccesses;
  const failures = tally.failures + tally.probeFailures;
  const before = decayed(
    state,
    keptAfter(successes + failures, fastMemoryOutcomes),
    keptAfter(tally.successes + tally.failures, slowMemoryOutcomes),
  );
  const disturbed = disturbanceAfter(
    state.disturbance,
    logLikelihoodRatio(expected.disturbed, expected.usual, successes, failures),
  );
  const undisturbed = 1 - disturbed;
  const lasting = undisturbed + disturbed * policy.disturbance.lastingShare;
  let { slowSuccesses, slowFailures, slowNeutrals } = before;
  let { longTerm } = state;
  for (const start of tally.starts) {
    // The slow memory decays an outcome from the start of its payment, so outcomes that are known late count less.
    const lateSeconds = Math.max(0, tally.bucket * policy.bucketSeconds - (start.hour + 1) * HOUR_SECONDS);
    const share = lasting * Math.exp((-Math.LN2 * lateSeconds) / slowHalfLifeSeconds);
    slowSuccesses += start.successes * share;
    slowFailures += start.failures * share;
    slowNeutrals += start.neutrals * share;
    longTerm = withOutcomes(longTerm, start, lasting);
  }
  const after: RouteState = {
    ...before,
    bucket: tally.bucket,
    fastSuccesses: before.fastSuccesses + successes * undisturbed,
    fastFailures: Math.max(0, before.fastFailures + failures * undisturbed),
    fastNeutrals: before.fastNeutrals + tally.neutrals,
    disturbedSuccesses: before.disturbedSuccesses + successes * disturbed,
    disturbedFailures: Math.max(0, before.disturbedFailures + failures * disturbed),
    slowSuccesses,
    slowFailures: Math.max(0, slowFailures),
    slowNeutrals,
    longTerm,
    steadiness: steadinessAfter(
      state.steadiness,
      {
        forSlow: undisturbed * logLikelihoodRatio(expected.steady, expected.usual, tally.successes, tally.failures),
        fastOutcomes: state.fastSuccesses + state.fastFailures,
        isReversal: tally.failures < 0,
      },
      policy,
    ),
    disturbance: disturbed,
    fastLatency: withTimes(before.fastLatency, tally),
    slowLatency: withTimes(before.slowLatency, tally),
    contexts: withContexts(
      state.contexts,
      tally.contexts,
      { bucket: tally.bucket, failureRate: 1 - expected.usual, weight: undisturbed },
      policy,
    ),
  };
  return detected(after, policy);
}

/** The state of a route that is known to have recovered. Its fast memory is empty; its slow memory stays. */
export function withoutFastMemory(state: RouteState): RouteState {
  return {
    ...decayed(state, 0, 1),
    disturbance: LEAST_DISTURBANCE,
    isDisturbed: false,
  };
}

function freshState(bucket: number, policy: Policy): RouteState {
  return {
    bucket,
    fastSuccesses: 0,
    fastFailures: 0,
    fastNeutrals: 0,
    disturbedSuccesses: 0,
    disturbedFailures: 0,
    slowSuccesses: 0,
    slowFailures: 0,
    slowNeutrals: 0,
    longTerm: noLongTermMemory(policy),
    steadiness: 0,
    disturbance: disturbedShareOfTime(policy),
    isDisturbed: false,
    shiftedBucket: null,
    fastLatency: NO_LATENCY,
    slowLatency: NO_LATENCY,
    contexts: NO_CONTEXTS,
  };
}

/** Logarithm of how much more probable the outcomes are at the success rate `rate` than at `other`. */
function logLikelihoodRatio(rate: number, other: number, successes: number, failures: number): number {
  const [first, second] = [bounded(rate), bounded(other)];
  return successes * Math.log(first / second) + failures * Math.log((1 - first) / (1 - second));
}

function disturbanceAfter(disturbance: number, evidence: number): number {
  const odds = (disturbance / (1 - disturbance)) * Math.exp(evidence);
  const after = odds === Infinity ? 1 : odds / (1 + odds);
  return Math.min(MOST_DISTURBANCE, Math.max(LEAST_DISTURBANCE, after));
}

/** The state after the detection of disturbances. Two thresholds prevent repeated detections while the probability is near one of them. */
function detected(state: RouteState, { disturbance: { detectedAbove, overBelow } }: Policy): RouteState {
  if (state.isDisturbed) return { ...state, isDisturbed: state.disturbance >= overBelow };
  if (state.disturbance < detectedAbove) return state;
  return { ...state, isDisturbed: true, shiftedBucket: state.bucket };
}

/** Expected share of time that a route is disturbed: the prior of a route without outcomes. */
export function disturbedShareOfTime({ disturbance: { everySeconds, lastsSeconds } }: Policy): number {
  return lastsSeconds / (lastsSeconds + everySeconds);
}

/** Number of hours after which most payments that started in one hour are paid; the maximum before the first one is paid. */
export function openHoursOf({ slowLatency: { count, logMs } }: RouteState, { estimate }: Policy): number {
  if (count === 0) return estimate.mostOpenHours;
  // The median of a log-normal time is the exponential of the mean logarithm.
  const medianHours = Math.exp(logMs / count) / (1000 * HOUR_SECONDS);
  return Math.min(estimate.mostOpenHours, Math.ceil(estimate.openMedians * medianHours));
}

/** Share of a memory of about `length` outcomes that remains after more outcomes. Negative outcomes are corrections, which remove nothing. */
function keptAfter(outcomes: number, length: number): number {
  return Math.exp(Math.max(0, outcomes) * Math.log(1 - 1 / length));
}

/** The state with the shares `fast` and `slow` of its fast and its slow memory. */
function decayed(state: RouteState, fast: number, slow: number): RouteState {
  const [fastLatency, slowLatency] = [scaled(state.fastLatency, fast), scaled(state.slowLatency, slow)];
  const after = { ...state, fastLatency, slowLatency };
  for (const name of FAST_SUMS) after[name] *= fast;
  for (const name of SLOW_SUMS) after[name] *= slow;
  return after;
}

function scaled({ count, logMs, logMsSquared }: LatencySums, share: number): LatencySums {
  return { count: count * share, logMs: logMs * share, logMsSquared: logMsSquared * share };
}

function withTimes({ count, logMs, logMsSquared }: LatencySums, tally: Tally): LatencySums {
  return { count: count + tally.timed, logMs: logMs + tally.logMs, logMsSquared: logMsSquared + tally.logMsSquared };
}

function bounded(rate: number): number {
  return Math.min(HIGHEST_RATE, Math.max(LOWEST_RATE, rate));
}
