import type { Policy } from './routing-policy.ts';

/** Outcomes of the payments of a route that started in one hour. */
export interface HourlyOutcomes {
  /** Start of the hour, in hours since 1970. */
  hour: number;
  successes: number;
  /** Negative if more failures were reversed than counted. */
  failures: number;
}

/** For each of the assumed `intervals` and each of `RATES`: likelihood of the outcomes, relative to the prior. Only the ratios count. */
type Evidence = readonly (readonly number[])[];

/** Memory of the outcomes of a route for its long-term rate. */
export interface LongTermMemory {
  /** The evidence contains the outcomes of payments that started before this hour, in hours since 1970. */
  until: number;
  evidence: Evidence;
  /** Outcomes of payments that started later, in the order of their hours. */
  recent: readonly HourlyOutcomes[];
}

/** Knowledge about the long-term rate of a route: the prior of `RATES` and the evidence. */
export interface Belief {
  prior: Shares;
  evidence: Evidence;
}

/** Probabilities that add up to 1. */
type Shares = readonly number[];

const STEP = 1 / 4;
/** Success rates from 0.03 % to 99.97 %, whose logits differ by `STEP`. */
const RATES = Array.from({ length: 65 }, (_, i) => 1 / (1 + Math.exp(8 - i * STEP)));
const SUCCESS_LOGS = RATES.map((rate) => Math.log(rate));
const FAILURE_LOGS = RATES.map((rate) => Math.log(1 - rate));
/** Length of the hours of `HourlyOutcomes`. */
export const HOUR_SECONDS = 3600;

/** The memory of a route without outcomes. */
export function noLongTermMemory({ estimate: { intervals } }: Policy): LongTermMemory {
  return { until: 0, evidence: intervals.map(() => RATES.map(() => 1)), recent: [] };
}

/** Prior of the long-term rate of a route: a beta distribution with the mean `rate`. */
export function priorAround(rate: number, { estimate: { longTermPriorWeight } }: Policy): Shares {
  const [successes, failures] = [longTermPriorWeight * rate, longTermPriorWeight * (1 - rate)];
  const shares = likelihoods(successes, failures);
  // The first and the last share contain all rates beyond them. Otherwise, the mean would be too close to 50 %.
  shares[0]! /= 1 - Math.exp(-STEP * successes);
  shares[RATES.length - 1]! /= 1 - Math.exp(-STEP * failures);
  return normalized(shares);
}

/**
 * The memory with a share of the outcomes of payments that started in one hour. Outcomes of an hour that is already evidence count for
 * the next hour.
 */
export function withOutcomes(memory: LongTermMemory, outcomes: HourlyOutcomes, share = 1): LongTermMemory {
  const [successes, failures] = [share * outcomes.successes, share * outcomes.failures];
  if (successes === 0 && failures === 0) return memory;
  const hour = Math.max(outcomes.hour, memory.until);
  const earlier = memory.recent.find((each) => each.hour === hour) ?? { successes: 0, failures: 0 };
  const others = memory.recent.filter((each) => each !== earlier);
  const together = { hour, successes: earlier.successes + successes, failures: earlier.failures + failures };
  return { ...memory, recent: [...others, together].toSorted((a, b) => a.hour - b.hour) };
}

/**
 * Moves the outcomes of payments that started before the hour `until` into the evidence. Bayes' rule cannot take a failure
 * back, so a failure that is reversed later cancels the next one.
 */
export function evidenceUntil(memory: LongTermMemory, prior: Shares, until: number, policy: Policy): LongTermMemory {
  if (until <= memory.until) return memory;
  const evidence = memory.evidence.map((ofInterval) => ofInterval.slice());
  let hour = memory.until;
  let reversed = 0;
  const passed = memory.recent.filter((each) => each.hour < until);
  for (const { hour: next, successes, failures } of passed) {
    const counted = Math.max(0, failures + reversed);
    fade(evidence, prior, next - hour, policy);
    // Without a limit, the small differences between busy hours would look like changes of the rate.
    const share = Math.min(1, policy.estimate.mostInAnHour / (successes + counted));
    applyBayes(evidence, likelihoods(share * successes, share * counted));
    reversed += failures - counted;
    hour = next;
  }
  fade(evidence, prior, until - hour, policy);
  const after = { until, evidence, recent: memory.recent.slice(passed.length) };
  return withOutcomes(after, { hour: until, successes: 0, failures: reversed });
}

/**
 * Changes the evidence to that of some hours later. When a rate changes, every rate is as probable as in the prior. Rarely, the
 * interval between changes also changes, so that each interval stays possible.
 */
function fade(evidence: number[][], prior: Shares, hours: number, { estimate }: Policy): void {
  if (hours === 0) return;
  const seconds = hours * HOUR_SECONDS;
  const masses = evidence.map((ofInterval) => massOf(ofInterval, prior));
  const total = masses.reduce((sum, mass, interval) => sum + estimate.intervals[interval]!.share * mass, 0);
  const sameInterval = Math.exp(-seconds / estimate.intervalLastsSeconds);
  for (const [interval, ofInterval] of evidence.entries()) {
    const same = sameInterval * Math.exp(-seconds / estimate.intervals[interval]!.seconds);
    const fresh = (sameInterval - same) * masses[interval]! + (1 - sameInterval) * total;
    for (let i = 0; i < ofInterval.length; i += 1) ofInterval[i] = same * ofInterval[i]! + fresh;
  }
}

/** Multiplies the evidence by likelihoods of the rates, and divides it by its largest value, because all can become very small. */
function applyBayes(evidence: number[][], ofRates: readonly number[]): void {
  let most = 0;
  for (const ofInterval of evidence) {
    for (let i = 0; i < ofInterval.length; i += 1) {
      ofInterval[i]! *= ofRates[i]!;
      if (ofInterval[i]! > most) most = ofInterval[i]!;
    }
  }
  for (const ofInterval of evidence) for (let i = 0; i < ofInterval.length; i += 1) ofInterval[i]! /= most;
}

/** Probability of each of `intervals`, from the evidence of all routes. */
export function intervalShares(beliefs: readonly Belief[], { estimate: { intervals } }: Policy): Shares {
  const logs = intervals.map(({ share }, interval) =>
    beliefs.reduce((sum, { evidence, prior }) => sum + Math.log(massOf(evidence[interval]!, prior)), Math.log(share)),
  );
  const shares = logs.map((log) => Math.exp(log - Math.max(...logs)));
  return normalized(shares);
}

/** Mean of the long-term rate, and the number of outcomes that would give an equally certain estimate. */
export function longTermRate({ evidence, prior }: Belief, shares: Shares): { rate: number; outcomes: number } {
  let [rate, square] = [0, 0];
  for (const [interval, ofInterval] of evidence.entries()) {
    const weight = shares[interval]! / massOf(ofInterval, prior);
    for (let i = 0; i < RATES.length; i += 1) {
      const share = weight * ofInterval[i]! * prior[i]!;
      rate += share * RATES[i]!;
      square += share * RATES[i]! * RATES[i]!;
    }
  }
  const ofOneOutcome = rate * (1 - rate);
  // Each of the rates stands for the rates around it.
  const within = (STEP * ofOneOutcome) ** 2 / 12;
  return { rate, outcomes: ofOneOutcome / (square - rate * rate + within) };
}

function massOf(ofInterval: readonly number[], prior: Shares): number {
  let mass = 0;
  for (let i = 0; i < ofInterval.length; i += 1) mass += ofInterval[i]! * prior[i]!;
  return mass;
}

function normalized(shares: Shares): Shares {
  const total = shares.reduce((sum, share) => sum + share, 0);
  return shares.map((share) => share / total);
}

/** Likelihood of outcomes at each rate, divided by the largest one, because all can be very small. */
function likelihoods(successes: number, failures: number): number[] {
  const logs = SUCCESS_LOGS.slice();
  let most = -Infinity;
  for (let i = 0; i < logs.length; i += 1) {
    logs[i] = successes * SUCCESS_LOGS[i]! + failures * FAILURE_LOGS[i]!;
    if (logs[i]! > most) most = logs[i]!;
  }
  for (let i = 0; i < logs.length; i += 1) logs[i] = Math.exp(logs[i]! - most);
  return logs;
}
