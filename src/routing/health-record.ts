import type { Instant } from '../domain/records.ts';
import type { RouteHealth } from '../domain/route.ts';

/** Cause of a route's state. */
export type HealthCause =
  | 'configured'
  | 'disabled_in_catalogue'
  | 'shift'
  | 'success_drop'
  | 'latency'
  | 'recovered'
  | 'recovered_quietly'
  | 'handoff_errors_in_a_row'
  | 'handoff_error_share'
  | 'low_success'
  | 'probes_succeeded'
  | 'untried'
  | 'override'
  | 'override_ended';

/** A state set by an operator or the catalogue, which takes precedence over the automatic states. */
export interface HealthOverride {
  state: RouteHealth;
  /** Time at which the automatic states apply again; null: the override does not end by itself. */
  until: Instant | null;
  /** Reason that the operator gave. */
  reason: string;
}

/** The health of one route, as it is stored: plain JSON. */
export interface HealthRecord {
  /** State after the last change; `effectiveState` considers overrides that have ended since. */
  state: RouteHealth;
  since: Instant;
  cause: HealthCause;
  /** State and cause in a sentence for a person. */
  words: string;
  /** In automatic standby, the time from which a probe may start; otherwise null. */
  retryAt: Instant | null;
  /** Exponent of the current back-off or, outside standby, of the next one; a live route resets it to 0. */
  backoffs: number;
  /** Lease of the probe in progress, if any: the time at which it expires, and its payment. */
  leaseUntil: Instant | null;
  leasePaymentId: string | null;
  manual: HealthOverride | null;
  /** Outcomes since the route became degraded, up to the number that recovery needs; 0 in other states. */
  successes: number;
  failures: number;
  /** Time of the newest counted result. */
  countedAt: Instant;
  /** Version that guards every write. It grows by one with every change. */
  version: number;
}

/** Change of a route's state, as it is stored and logged. */
export interface HealthTransition {
  from: RouteHealth;
  /** The same as `from` if only the reason or the end of an override changed. */
  to: RouteHealth;
  cause: HealthCause;
  words: string;
  /** Numbers that caused the transition. Shares are 0 to 1; the names of times end with their unit. */
  numbers: Record<string, number>;
}

/** The new record and its transition; the transition is null if only details of the state change. */
export interface HealthChange {
  record: HealthRecord;
  transition: HealthTransition | null;
}

/** Numbers of routes of one kind and environment, without disabled routes. */
export interface HealthPeers {
  routesOfKind: number;
  /** Routes in standby for their success rate. */
  inLowSuccessStandby: number;
  /** Routes that are not in standby. */
  usable: number;
}

/** Details with which a route enters a state; `retryAt` only for automatic standby. */
export type HealthEntry = Pick<HealthRecord, 'state' | 'cause' | 'words'> &
  Partial<Pick<HealthRecord, 'retryAt' | 'backoffs' | 'manual'>>;

/** The record of a route that enters a state; counts of the previous state are dropped. */
export function entered(version: number, entry: HealthEntry, now: Instant): HealthRecord {
  return {
    state: entry.state,
    since: now,
    cause: entry.cause,
    words: entry.words,
    retryAt: entry.retryAt ?? null,
    backoffs: entry.backoffs ?? 0,
    leaseUntil: null,
    leasePaymentId: null,
    manual: entry.manual ?? null,
    successes: 0,
    failures: 0,
    countedAt: now,
    version,
  };
}

/** The change to a new record, from the state before it. */
export function changeTo(record: HealthRecord, from: RouteHealth, numbers: Record<string, number>): HealthChange {
  const { state: to, cause, words } = record;
  return { record, transition: { from, to, cause, words, numbers } };
}

/** The record of a route whose state comes from its catalogue entry; `standby` there disables the route and is not an automatic standby. */
export function configuredHealth(configured: RouteHealth, now: Instant, version = 1): HealthRecord {
  const words = `${configured}: ${configured === 'standby' ? 'disabled' : 'as configured'} in the catalogue`;
  if (configured !== 'standby') return entered(version, { state: configured, cause: 'configured', words }, now);
  const manual: HealthOverride = { state: 'standby', until: null, reason: 'disabled in the catalogue' };
  return entered(version, { state: 'standby', cause: 'disabled_in_catalogue', words, manual }, now);
}

/** The state at the time `now`: the state of the override until it ends, otherwise the automatic state. */
export function effectiveState(record: HealthRecord, now: Instant): RouteHealth {
  return isOverrideOver(record, now) ? stateAfterOverride(record) : record.state;
}

/** True if the operator or the catalogue disabled the route: it is not used even if no other route is left. */
export function isDisabled(record: HealthRecord, now: Instant): boolean {
  return record.manual?.state === 'standby' && !isOverrideOver(record, now);
}

/** True if the end time of the record's override has passed. */
export function isOverrideOver({ manual }: HealthRecord, now: Instant): boolean {
  return manual !== null && manual.until !== null && manual.until <= now;
}

/** The state after an override ends. A route that was in standby has no recent results, so it becomes degraded. */
export function stateAfterOverride({ state }: HealthRecord): RouteHealth {
  return state === 'standby' ? 'degraded' : state;
}

/** Counts the routes of one kind and environment by their records, including the evaluated route. */
export function healthPeers(recordsOfKind: readonly HealthRecord[], now: Instant): HealthPeers {
  const enabled = recordsOfKind.filter((record) => !isDisabled(record, now));
  const inLowSuccess = enabled.filter(({ state, cause }) => state === 'standby' && cause === 'low_success');
  const usable = enabled.filter((record) => effectiveState(record, now) !== 'standby');
  return { routesOfKind: enabled.length, inLowSuccessStandby: inLowSuccess.length, usable: usable.length };
}

/** A time as `12:04:30 UTC`, with its date in front if that differs from the date of `now`. */
export function timeInWords(instant: Instant, now: Instant): string {
  const [text, current] = [new Date(instant).toISOString(), new Date(now).toISOString()];
  const [date, time] = [text.slice(0, 10), `${text.slice(11, 19)} UTC`];
  return current.startsWith(date) ? time : `${date} ${time}`;
}
