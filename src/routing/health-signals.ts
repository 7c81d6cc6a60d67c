import type { Instant } from '../domain/records.ts';
import type { RouteEstimate } from './estimate.ts';
import { HEALTH_POLICY, windowMs } from './health-policy.ts';
import type { HealthPeers, HealthRecord } from './health-record.ts';

/** `handoff_accepted`: the provider accepted the payment, whose outcome (`success`, `failure` or `neutral`) is a later result. */
export type ResultKind = 'handoff_error' | 'handoff_accepted' | 'success' | 'failure' | 'neutral';

/** Result of one attempt, as evidence about its route. */
export interface HealthResult {
  at: Instant;
  kind: ResultKind;
}

/** Input of a health evaluation of a route. */
export interface HealthSignals extends Pick<RouteEstimate, 'shiftedAt' | 'fast' | 'slow' | 'latency'> {
  now: Instant;
  /** At most 20 results, newest first, with times of the same clock as `now`. */
  recent: readonly HealthResult[];
  peers: HealthPeers;
}

/** The results of the current state, newest first. */
export function resultsSince({ since }: HealthRecord, { recent }: HealthSignals): HealthResult[] {
  return recent.filter(({ at }) => at > since);
}

/** True if the route has no result that is recent enough to judge it by. */
export function hasNoRecentResult(record: HealthRecord, signals: HealthSignals): boolean {
  const latest = resultsSince(record, signals)[0]?.at ?? record.since;
  return signals.now - latest >= windowMs(HEALTH_POLICY.untriedSeconds, signals.latency.medianSeconds);
}

/** Length of the latest run of results of `kinds`. `breaking` kinds end the run; other kinds are ignored. */
export function trailingCount(results: readonly HealthResult[], kinds: ResultKind[], breaking: ResultKind[]): number {
  const end = results.findIndex(({ kind }) => breaking.includes(kind));
  const run = end === -1 ? results : results.slice(0, end);
  return run.filter(({ kind }) => kinds.includes(kind)).length;
}

/** True if a result counts as a failure of the route. */
export function isFailure({ kind }: HealthResult): boolean {
  return kind === 'failure' || kind === 'handoff_error';
}
