import type { Instant } from '../domain/records.ts';
import type { RouteHealth } from '../domain/route.ts';
import {
  type HealthMove,
  toDegraded,
  toLive,
  toStandbyByHandoffs,
  toStandbyBySuccess,
  untriedHours,
} from './health-guards.ts';
import { endOverride } from './health-override.ts';
import { HEALTH_POLICY as policy } from './health-policy.ts';
import {
  changeTo,
  type HealthCause,
  type HealthChange,
  type HealthEntry,
  type HealthRecord,
  entered,
  isOverrideOver,
  timeInWords,
} from './health-record.ts';
import { type HealthSignals, trailingCount, isFailure, hasNoRecentResult, resultsSince } from './health-signals.ts';

/** The next change of a route's health, given the results in its current state; undefined if nothing changes. `jitter` is in [0, 1). */
export function nextHealth(record: HealthRecord, signals: HealthSignals, jitter: number): HealthChange | undefined {
  if (record.manual) return isOverrideOver(record, signals.now) ? endOverride(record, signals.now) : undefined;
  if (record.retryAt !== null) return fromStandby(record, record.retryAt, signals, jitter);
  const standby = toStandbyByHandoffs(record, signals);
  if (standby) return moved(record, standby, signals.now, jitter);
  if (record.state === 'live') {
    const move = toStandbyBySuccess(signals) ?? toDegraded(record, signals);
    return move && moved(record, move, signals.now, jitter);
  }
  const counted = withCounts(record, signals);
  // Estimates include outcomes before `since`, but only outcomes in the degraded state may end that state.
  const canFall = counted.successes + counted.failures >= policy.standbyMinimumOutcomes;
  const move = (canFall ? toStandbyBySuccess(signals) : undefined) ?? toLive(counted, signals);
  if (move) return moved(record, move, signals.now, jitter);
  return counted === record ? undefined : { record: counted, transition: null };
}

/** Counts new outcomes of a degraded route, up to the number that recovery needs. */
function withCounts(record: HealthRecord, { recent }: HealthSignals): HealthRecord {
  if (record.successes + record.failures >= policy.recoveryMinimumOutcomes) return record;
  const fresh = recent.filter(({ at }) => at > record.countedAt);
  const successes = fresh.filter(({ kind }) => kind === 'success').length;
  const failures = fresh.filter(isFailure).length;
  if (successes + failures === 0) return record;
  return {
    ...record,
    successes: record.successes + successes,
    failures: record.failures + failures,
    countedAt: Math.max(...fresh.map(({ at }) => at)),
    version: record.version + 1,
  };
}

function fromStandby(
  record: HealthRecord,
  retryAt: Instant,
  signals: HealthSignals,
  jitter: number,
): HealthChange | undefined {
  const { now } = signals;
  if (now < retryAt) return undefined;
  const results = resultsSince(record, signals);
  const inARow = trailingCount(results, ['success'], ['failure', 'handoff_error']);
  if (inARow >= policy.probeSuccessesInARow) {
    const because = `${inARow} successes in a row in standby`;
    const move: HealthMove = { to: 'degraded', cause: 'probes_succeeded', because, numbers: { successes: inARow } };
    return moved(record, move, now, jitter);
  }
  if (hasNoRecentResult(record, signals)) {
    const because = `no payment was tried for ${untriedHours(signals)} hours, so the route is used again`;
    return moved(record, { to: 'degraded', cause: 'untried', because, numbers: {} }, now, jitter);
  }
  // Failures before the probe was due belong to the known disturbance. The next probe is later than every failure so far, so
  // that no failure counts twice.
  const hasFailedProbe = results.some((result) => isFailure(result) && result.at >= retryAt);
  if (!hasFailedProbe) return undefined;
  const backoffs = record.backoffs + 1;
  const nextTry = retryTime(backoffs, now, jitter);
  const entry = `in standby since ${timeInWords(record.since, now)} for ${STANDBY_CAUSES[record.cause] ?? record.cause}`;
  const words = `standby: the last try failed (${entry}), next try at ${timeInWords(nextTry, now)}`;
  const next = { ...record, words, retryAt: nextTry, backoffs, version: record.version + 1 };
  return { record: next, transition: null };
}

const STANDBY_CAUSES: Partial<Record<HealthCause, string>> = {
  handoff_errors_in_a_row: 'handoff errors in a row',
  handoff_error_share: 'too many handoff errors',
  low_success: 'a low success rate',
};

function moved(record: HealthRecord, move: HealthMove, now: Instant, jitter: number): HealthChange {
  const { to, cause, because, numbers } = move;
  const entry: HealthEntry = { state: to, cause, words: `${to}: ${because}`, backoffs: backoffsAfter(record, to) };
  if (to === 'standby') {
    entry.retryAt = retryTime(record.backoffs, now, jitter);
    entry.words += `, next try at ${timeInWords(entry.retryAt, now)}`;
  }
  return changeTo(entered(record.version + 1, entry, now), record.state, numbers);
}

/** A route that returns to standby before it was live backs off longer each time. */
function backoffsAfter({ state, backoffs }: HealthRecord, to: RouteHealth): number {
  if (to === 'live') return 0;
  return state === 'standby' ? backoffs + 1 : backoffs;
}

function retryTime(backoffs: number, now: Instant, jitter: number): Instant {
  const backoffSeconds = Math.min(policy.backoffSeconds * 2 ** backoffs, policy.backoffMaximumSeconds);
  const spread = 1 + policy.backoffJitterShare * (2 * jitter - 1);
  return now + Math.round(backoffSeconds * spread * 1000);
}
