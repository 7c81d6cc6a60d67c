import type { Policy } from './routing-policy.ts';

/** Memory of the outcomes of a route for its long-term rate. */
export interface LongTermMemory {
  /** For each of `RATES`, how much more probable the outcomes have made it than the prior. Only the ratios count. */
  evidence: readonly number[];
  /** Outcomes that are not yet part of the evidence. `failures` is negative if more were reversed than are pending. */
  pending: { successes: number; failures: number };
}

/** Probabilities of `RATES`. */
type Shares = readonly number[];

const STEP = 1 / 4;
/** Success rates from 0.03 % to 99.97 %, whose logits differ by `STEP`. */
const RATES = Array.from({ length: 65 }, (_, i) => 1 / (1 + Math.exp(8 - i * STEP)));
const SUCCESS_LOGS = RATES.map((rate) => Math.log(rate));
const FAILURE_LOGS = RATES.map((rate) => Math.log(1 - rate));
const LEAST_VARIANCE = 1e-9;
// Evidence of 0 could never grow again.
const LEAST_EVIDENCE = 1e-100;

export const NO_LONG_TERM_MEMORY: LongTermMemory = {
  evidence: RATES.map(() => 1),
  pending: { successes: 0, failures: 0 },
};

/** Prior of the long-term rate of a route: a beta distribution with the mean `rate`. */
export function priorAround(rate: number, { estimate: { longTermPriorWeight } }: Policy): Shares {
  const [successes, failures] = [longTermPriorWeight * rate, longTermPriorWeight * (1 - rate)];
  const shares = likelihoods(successes, failures);
  // The first and the last share contain all rates beyond them. Otherwise, the mean would be too close to 50 %.
  shares[0]! /= 1 - Math.exp(-STEP * successes);
  shares[RATES.length - 1]! /= 1 - Math.exp(-STEP * failures);
  const total = shares.reduce((sum, share) => sum + share, 0);
  for (let i = 0; i < shares.length; i += 1) shares[i]! /= total;
  return shares;
}

/**
 * The memory after some time without outcomes. A long-term rate stays until it changes; then every rate is as probable as in the prior.
 * Bayes' rule cannot take a failure back, so outcomes become evidence only after a time in which failures can be reversed.
 */
export function laterMemory(memory: LongTermMemory, prior: Shares, seconds: number, policy: Policy): LongTermMemory {
  if (seconds <= 0) return memory;
  const { changesEverySeconds, pendingSeconds } = policy.estimate;
  const { evidence, pending } = memory;
  const share = 1 - Math.exp(-seconds / pendingSeconds);
  const [successes, failures] = [share * pending.successes, share * Math.max(0, pending.failures)];
  const after = withCounts(evidence, successes, failures, policy);
  const unchanged = Math.exp(-seconds / changesEverySeconds);
  const mean = after.reduce((sum, each, i) => sum + each * prior[i]!, 0);
  return {
    evidence: after.map((each) => (unchanged * each) / mean + 1 - unchanged),
    pending: { successes: pending.successes - successes, failures: pending.failures - failures },
  };
}

/** The memory after outcomes. Reversed failures are negative. */
export function withOutcomes(
  { evidence, pending }: LongTermMemory,
  successes: number,
  failures: number,
): LongTermMemory {
  return {
    evidence,
    pending: { successes: pending.successes + successes, failures: pending.failures + failures },
  };
}

/** Bayes' rule. Each outcome reduces the weight of the earlier ones, which limits the certainty. */
function withCounts(
  evidence: readonly number[],
  successes: number,
  failures: number,
  { estimate: { longTermMemoryOutcomes } }: Policy,
): readonly number[] {
  if (successes === 0 && failures === 0) return evidence;
  const kept = Math.exp(-(successes + failures) / longTermMemoryOutcomes);
  return likelihoods(successes, failures, (i) => kept * Math.log(evidence[i]!)).map((each) =>
    Math.max(LEAST_EVIDENCE, each),
  );
}

/** Mean of the long-term rate, and the number of outcomes that would give an equally certain estimate. */
export function longTermRate({ evidence }: LongTermMemory, prior: Shares): { rate: number; outcomes: number } {
  let [total, first, second] = [0, 0, 0];
  for (let i = 0; i < RATES.length; i += 1) {
    const share = evidence[i]! * prior[i]!;
    total += share;
    first += share * RATES[i]!;
    second += share * RATES[i]! * RATES[i]!;
  }
  const rate = first / total;
  return { rate, outcomes: (rate * (1 - rate)) / Math.max(LEAST_VARIANCE, second / total - rate * rate) };
}

/** Likelihood of outcomes at each rate, divided by the largest one, because all can be very small. `before` adds to the logarithms. */
function likelihoods(successes: number, failures: number, before?: (i: number) => number): number[] {
  const logs = SUCCESS_LOGS.slice();
  let most = -Infinity;
  for (let i = 0; i < logs.length; i += 1) {
    logs[i] = successes * SUCCESS_LOGS[i]! + failures * FAILURE_LOGS[i]! + (before ? before(i) : 0);
    if (logs[i]! > most) most = logs[i]!;
  }
  for (let i = 0; i < logs.length; i += 1) logs[i] = Math.exp(logs[i]! - most);
  return logs;
}
