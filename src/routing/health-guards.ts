import { HEALTH_POLICY as policy, windowMs } from './health-policy.ts';
import { type HealthRecord, type HealthTransition, timeInWords } from './health-record.ts';
import { type HealthSignals, trailingCount, hasNoRecentResult, resultsSince } from './health-signals.ts';

/** A transition that the signals cause, with its reason in words. */
export interface HealthMove extends Pick<HealthTransition, 'to' | 'cause' | 'numbers'> {
  because: string;
}

/** Transition to standby after too many handoff errors, if it is due. */
export function toStandbyByHandoffs(record: HealthRecord, signals: HealthSignals): HealthMove | undefined {
  const results = resultsSince(record, signals);
  const inARow = trailingCount(results, ['handoff_error'], ['handoff_accepted', 'success']);
  if (inARow >= policy.standbyHandoffErrorsInARow) {
    const because = `${inARow} handoff errors in a row`;
    return { to: 'standby', cause: 'handoff_errors_in_a_row', because, numbers: { handoffErrors: inARow } };
  }
  const handoffs = results
    .filter(({ kind }) => kind === 'handoff_error' || kind === 'handoff_accepted')
    .slice(0, policy.standbyHandoffResults);
  const handoffErrors = handoffs.filter(({ kind }) => kind === 'handoff_error').length;
  if (handoffErrors < policy.standbyHandoffErrors) return undefined;
  const because = `${handoffErrors} of the last ${handoffs.length} handoffs failed`;
  return {
    to: 'standby',
    cause: 'handoff_error_share',
    because,
    numbers: { handoffErrors, handoffs: handoffs.length },
  };
}

/** Transition to standby for a low success rate, if it is due and enough routes of the kind remain. */
export function toStandbyBySuccess(signals: HealthSignals): HealthMove | undefined {
  if (!isFailing(signals)) return undefined;
  const { fast, peers } = signals;
  const allowed = Math.floor(peers.routesOfKind * policy.standbyShareOfKind);
  if (peers.inLowSuccessStandby >= allowed || peers.usable < 2) return undefined;
  const rate = `${percent(fast.mean)} of about ${Math.round(fast.n)} recent payments succeeded`;
  const because = `${rate}, below the minimum of ${percent(policy.standbySuccessShare)}`;
  return { to: 'standby', cause: 'low_success', because, numbers: { successShare: fast.mean, outcomes: fast.n } };
}

/** Transition to degraded for a fallen success rate or slow payments, if it is due. */
export function toDegraded(record: HealthRecord, signals: HealthSignals): HealthMove | undefined {
  const { now, shiftedAt, fast, slow, latency } = signals;
  if (now - record.since < windowMs(policy.minimumStateSeconds, latency.medianSeconds)) return undefined;
  const numbers = { successShare: fast.mean, usualSuccessShare: slow.mean, outcomes: fast.n };
  const rates = `${percent(fast.mean)} recently, ${percent(slow.mean)} usually`;
  if (shiftedAt !== null && shiftedAt > record.since) {
    const because = `the success rate fell suddenly at ${timeInWords(shiftedAt, now)} (${rates})`;
    return { to: 'degraded', cause: 'shift', because, numbers: { ...numbers, shiftedAtMs: shiftedAt } };
  }
  if (hasDropped(signals)) {
    return { to: 'degraded', cause: 'success_drop', because: `the success rate is down (${rates})`, numbers };
  }
  if (!isSlow(signals, policy.slowFactor)) return undefined;
  const [fastP95Seconds, slowP95Seconds] = [latency.p95SecondsFast!, latency.p95SecondsSlow!];
  const because = `1 payment in 20 takes over ${Math.round(fastP95Seconds)} s, usually ${Math.round(slowP95Seconds)} s`;
  return { to: 'degraded', cause: 'latency', because, numbers: { fastP95Seconds, slowP95Seconds } };
}

/** Transition from degraded to live, if the route has recovered. */
export function toLive(record: HealthRecord, signals: HealthSignals): HealthMove | undefined {
  const { now, fast, slow, recent, latency } = signals;
  const { successes, failures } = record;
  const outcomes = successes + failures;
  const inStateMs = now - record.since;
  // A route that the catalogue sets to degraded needs outcomes to become live.
  if (record.cause !== 'configured' && hasNoRecentResult(record, signals) && !isSuspect(signals)) {
    const because = `no payment for ${untriedHours(signals)} hours, and no sign of a problem`;
    return { to: 'live', cause: 'recovered_quietly', because, numbers: { successes, failures } };
  }
  if (outcomes < policy.quietRecoveryMinimumOutcomes) return undefined;
  if (inStateMs < windowMs(policy.minimumStateSeconds, latency.medianSeconds)) return undefined;
  // A condition that degrades a live route must not hold, or the route would oscillate.
  if (isSuspect(signals)) return undefined;
  const numbers = { successes, failures, successShare: fast.mean, usualSuccessShare: slow.mean };
  if (outcomes < policy.recoveryMinimumOutcomes) {
    if (failures > 0 || inStateMs < windowMs(policy.quietRecoverySeconds, latency.medianSeconds)) return undefined;
    const because = `all ${successes} payments since ${timeInWords(record.since, now)} succeeded`;
    return { to: 'live', cause: 'recovered_quietly', because, numbers };
  }
  const latest = recent.slice(0, policy.recoveryResultsWithoutHandoffError);
  if (latest.some(({ kind }) => kind === 'handoff_error')) return undefined;
  if (fast.mean < slow.mean - policy.recoveryShare) return undefined;
  const because = `the success rate is back (${percent(fast.mean)} recently, ${percent(slow.mean)} usually)`;
  return { to: 'live', cause: 'recovered', because, numbers };
}

/** The time without results after which a route is used again, in hours. */
export function untriedHours({ latency }: HealthSignals): number {
  return Math.round(windowMs(policy.untriedSeconds, latency.medianSeconds) / 3_600_000);
}

function isSuspect(signals: HealthSignals): boolean {
  return isFailing(signals) || hasDropped(signals) || isSlow(signals, policy.recoverySlowFactor);
}

function isFailing({ fast }: HealthSignals): boolean {
  return fast.n >= policy.standbyMinimumOutcomes && fast.mean < policy.standbySuccessShare;
}

function hasDropped({ fast, slow }: HealthSignals): boolean {
  if (fast.n < policy.dropMinimumOutcomes) return false;
  const standardError = Math.sqrt((slow.mean * (1 - slow.mean)) / fast.n);
  return fast.mean < slow.mean - Math.max(policy.dropShare, policy.dropSigmas * standardError);
}

function isSlow({ latency: { p95SecondsFast, p95SecondsSlow, nFast } }: HealthSignals, factor: number): boolean {
  if (p95SecondsFast === null || p95SecondsSlow === null) return false;
  return nFast >= policy.slowMinimumOutcomes && p95SecondsFast > factor * p95SecondsSlow;
}

/** A share of 0 to 1 as a percentage, such as `91.2 %`. */
function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}
