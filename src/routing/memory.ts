import type { Policy } from './policy.ts';

/** What the outcomes of one route in one bucket of time add up to. Sums only, so their order does not matter. */
export interface Tally {
  /** Milliseconds since 1970, divided by the length of a bucket and rounded down. */
  bucket: number;
  successes: number;
  /** Weighted: a handoff error counts 2. Below 0 where it corrects a failure of an earlier bucket that was paid later. */
  failures: number;
  /** Attempts that failed through the buyer or the issuer. */
  neutrals: number;
  /** Outcomes of attempts made while the route was in standby: they say how it is, not how it usually is. */
  probeSuccesses: number;
  probeFailures: number;
  /** Payments whose time from handoff to paid is known, and the sums of its natural logarithm, ms, and of its square. */
  timed: number;
  logMs: number;
  logMsSquared: number;
}

/** The time to paid of what is remembered: count, and sums as in `Tally`. */
export interface LatencySums {
  count: number;
  logMs: number;
  logMsSquared: number;
}

/**
 * What is remembered of one route: plain numbers, all sums faded to the bucket of its last outcome. The fast memory is in
 * two: outcomes of the route as it usually is, and of the route while something disturbs it. Each outcome goes to both,
 * by how probable either is.
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
  /** Probability that the route is disturbed: degraded or down, for a while. */
  disturbance: number;
  /** Whether a disturbance has been detected, and not yet been over. */
  isDisturbed: boolean;
  /** The bucket in which one was last detected, or null. */
  shiftedBucket: number | null;
  fastLatency: LatencySums;
  slowLatency: LatencySums;
}

/** The success rates to expect of a route as it usually is and of the same route while it is disturbed. */
export interface Expectation {
  usual: number;
  disturbed: number;
}

/** The states of the routes of one environment, by route id. A route without one has had no outcome yet. */
export type States = ReadonlyMap<string, RouteState>;

// A single outcome is never proof, and what is believed can always be unlearnt.
const LOWEST_RATE = 0.02;
const HIGHEST_RATE = 0.98;
const LEAST_DISTURBANCE = 1e-6;
const MOST_DISTURBANCE = 0.999;
const NO_LATENCY: LatencySums = { count: 0, logMs: 0, logMsSquared: 0 };

/** A bucket with no outcome in it. */
export function emptyTally(bucket: number): Tally {
  return {
    bucket,
    successes: 0,
    failures: 0,
    neutrals: 0,
    probeSuccesses: 0,
    probeFailures: 0,
    timed: 0,
    logMs: 0,
    logMsSquared: 0,
  };
}

/** Both together; of the same bucket. */
export function addTallies(a: Tally, b: Tally): Tally {
  return {
    bucket: a.bucket,
    successes: a.successes + b.successes,
    failures: a.failures + b.failures,
    neutrals: a.neutrals + b.neutrals,
    probeSuccesses: a.probeSuccesses + b.probeSuccesses,
    probeFailures: a.probeFailures + b.probeFailures,
    timed: a.timed + b.timed,
    logMs: a.logMs + b.logMs,
    logMsSquared: a.logMsSquared + b.logMsSquared,
  };
}

/** The bucket that a moment, ms since 1970, lies in. */
export function bucketOf(ms: number, { bucketSeconds }: Policy): number {
  return Math.floor(ms / (bucketSeconds * 1000));
}

/** The state as it is at a later bucket, with no outcome since; without a state, that of a route without outcomes. */
export function fadedTo(state: RouteState | undefined, bucket: number, policy: Policy): RouteState {
  if (!state) return freshState(bucket, policy);
  const age = bucket - state.bucket;
  const fast = power(halvingPerBucket(policy.estimate.fastHalfLifeSeconds, policy), age);
  const slow = power(halvingPerBucket(policy.estimate.slowHalfLifeSeconds, policy), age);
  const share = disturbedShareOfTime(policy);
  const disturbance = share + (state.disturbance - share) * power(forgettingPerBucket(policy), age);
  return {
    ...state,
    bucket,
    fastSuccesses: state.fastSuccesses * fast,
    fastFailures: state.fastFailures * fast,
    fastNeutrals: state.fastNeutrals * fast,
    disturbedSuccesses: state.disturbedSuccesses * fast,
    disturbedFailures: state.disturbedFailures * fast,
    slowSuccesses: state.slowSuccesses * slow,
    slowFailures: state.slowFailures * slow,
    slowNeutrals: state.slowNeutrals * slow,
    disturbance,
    isDisturbed: state.isDisturbed && disturbance >= policy.disturbance.overBelow,
    fastLatency: scaled(state.fastLatency, fast),
    slowLatency: scaled(state.slowLatency, slow),
  };
}

/**
 * A state of the tally's bucket with the tally in it. The probability of a disturbance follows Bayes' rule; outcomes are
 * then shared out by it. Within a bucket the order of outcomes is not known, so all are taken at once.
 */
export function withTally(state: RouteState, tally: Tally, expected: Expectation, policy: Policy): RouteState {
  const { fastMemoryOutcomes, slowMemoryOutcomes } = policy.estimate;
  const successes = tally.successes + tally.probeSuccesses;
  const failures = tally.failures + tally.probeFailures;
  const fast = power(1 - 1 / fastMemoryOutcomes, wholeCount(successes + failures));
  const slow = power(1 - 1 / slowMemoryOutcomes, wholeCount(tally.successes + tally.failures));
  const disturbed = afterOutcomes(state.disturbance, successes, failures, expected);
  const usual = 1 - disturbed;
  const lasting = usual + disturbed * policy.disturbance.lastingShare;
  const latency = { count: tally.timed, logMs: tally.logMs, logMsSquared: tally.logMsSquared };
  const after: RouteState = {
    ...state,
    bucket: tally.bucket,
    fastSuccesses: state.fastSuccesses * fast + successes * usual,
    fastFailures: Math.max(0, state.fastFailures * fast + failures * usual),
    fastNeutrals: state.fastNeutrals * fast + tally.neutrals,
    disturbedSuccesses: state.disturbedSuccesses * fast + successes * disturbed,
    disturbedFailures: Math.max(0, state.disturbedFailures * fast + failures * disturbed),
    slowSuccesses: state.slowSuccesses * slow + tally.successes * lasting,
    slowFailures: Math.max(0, state.slowFailures * slow + tally.failures * lasting),
    slowNeutrals: state.slowNeutrals * slow + tally.neutrals * lasting,
    disturbance: disturbed,
    fastLatency: plus(scaled(state.fastLatency, fast), latency),
    slowLatency: plus(scaled(state.slowLatency, slow), latency),
  };
  return detected(after, policy);
}

/** The state of a route that is known to have recovered: what was fast in it is forgotten, the usual level stays. */
export function withFastCleared(state: RouteState): RouteState {
  return {
    ...state,
    fastSuccesses: 0,
    fastFailures: 0,
    fastNeutrals: 0,
    disturbedSuccesses: 0,
    disturbedFailures: 0,
    disturbance: LEAST_DISTURBANCE,
    isDisturbed: false,
    fastLatency: NO_LATENCY,
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
    disturbance: disturbedShareOfTime(policy),
    isDisturbed: false,
    shiftedBucket: null,
    fastLatency: NO_LATENCY,
    slowLatency: NO_LATENCY,
  };
}

function afterOutcomes(disturbance: number, successes: number, failures: number, expected: Expectation): number {
  const [usual, disturbed] = [held(expected.usual), held(expected.disturbed)];
  const evidence = successes * Math.log(disturbed / usual) + failures * Math.log((1 - disturbed) / (1 - usual));
  const odds = (disturbance / (1 - disturbance)) * Math.exp(evidence);
  // Infinite odds are as certain as it gets.
  const after = odds === Infinity ? 1 : odds / (1 + odds);
  return Math.min(MOST_DISTURBANCE, Math.max(LEAST_DISTURBANCE, after));
}

/** Detected above one probability and over below a lower one, so that a route on the edge is detected once. */
function detected(state: RouteState, { disturbance: { detectedAbove, overBelow } }: Policy): RouteState {
  if (state.isDisturbed) return { ...state, isDisturbed: state.disturbance >= overBelow };
  if (state.disturbance < detectedAbove) return state;
  return { ...state, isDisturbed: true, shiftedBucket: state.bucket };
}

/** Share of the time that a route is disturbed: what is believed of one that nothing has been heard of. */
export function disturbedShareOfTime({ disturbance: { everySeconds, lastsSeconds } }: Policy): number {
  return lastsSeconds / (lastsSeconds + everySeconds);
}

function forgettingPerBucket({ bucketSeconds, disturbance: { everySeconds, lastsSeconds } }: Policy): number {
  return Math.exp(-bucketSeconds * (1 / everySeconds + 1 / lastsSeconds));
}

// Instances must agree to the last bit. V8 brings its own exp and log (src/base/ieee754.cc); pow may be the C library's.
function halvingPerBucket(halfLifeSeconds: number, { bucketSeconds }: Policy): number {
  return Math.exp((-Math.LN2 * bucketSeconds) / halfLifeSeconds);
}

/** `base` to a whole power of 0 or more, by multiplication alone. */
function power(base: number, exponent: number): number {
  let result = 1;
  let square = base;
  for (let left = exponent; left > 0; left = Math.floor(left / 2)) {
    if (left % 2 === 1) result *= square;
    square *= square;
  }
  return result;
}

// A correction takes outcomes back: nothing fades for it.
function wholeCount(outcomes: number): number {
  return Math.max(0, Math.round(outcomes));
}

function scaled({ count, logMs, logMsSquared }: LatencySums, share: number): LatencySums {
  return { count: count * share, logMs: logMs * share, logMsSquared: logMsSquared * share };
}

function plus(a: LatencySums, b: LatencySums): LatencySums {
  return { count: a.count + b.count, logMs: a.logMs + b.logMs, logMsSquared: a.logMsSquared + b.logMsSquared };
}

function held(rate: number): number {
  return Math.min(HIGHEST_RATE, Math.max(LOWEST_RATE, rate));
}
