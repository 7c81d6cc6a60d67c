import type { Instant } from '../domain/records.ts';
import type { HealthPolicy } from './health-policy.ts';
import type { HealthPeers, HealthRecord } from './health-record.ts';

/** `handoff_accepted` says that the provider took the payment; one of the last three follows when its end is known. */
export type ResultKind = 'handoff_error' | 'handoff_accepted' | 'success' | 'failure' | 'neutral';

export interface HealthResult {
  at: Instant;
  kind: ResultKind;
}

/** Share of successes and the (decayed) number of outcomes that it rests on. */
export interface SuccessEstimate {
  mean: number;
  n: number;
}

/** What is known of a route when its health is looked at. */
export interface HealthSignals {
  now: Instant;
  /** When the success rate last fell suddenly. */
  shiftedAt: Instant | null;
  fast: SuccessEstimate;
  slow: SuccessEstimate;
  /** `n` counts the payments of the fast figure. */
  latency: { fastP95Seconds: number; slowP95Seconds: number; n: number } | null;
  /** At most 20, newest first, timed by the clock of `now`. */
  recent: readonly HealthResult[];
  peers: HealthPeers;
}

/** The results that count in the present state, newest first. */
export function resultsSince({ since }: HealthRecord, { recent }: HealthSignals): HealthResult[] {
  return recent.filter(({ at }) => at > since);
}

/** Whether there has been no result for so long that nobody knows any more how the route is. */
export function isUntried(record: HealthRecord, signals: HealthSignals, policy: HealthPolicy): boolean {
  const latest = resultsSince(record, signals)[0]?.at ?? record.since;
  return signals.now - latest >= policy.untriedSeconds * 1000;
}

/** How many of the kind came last, up to the newest of those that break the run; other kinds do neither. */
export function countInARow(results: readonly HealthResult[], kinds: ResultKind[], breaking: ResultKind[]): number {
  const end = results.findIndex(({ kind }) => breaking.includes(kind));
  const run = end === -1 ? results : results.slice(0, end);
  return run.filter(({ kind }) => kinds.includes(kind)).length;
}

/** Whether an outcome is the route's failure. */
export function isFailure({ kind }: HealthResult): boolean {
  return kind === 'failure' || kind === 'handoff_error';
}
