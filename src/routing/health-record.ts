import type { Instant } from '../domain/records.ts';
import type { RouteHealth } from '../domain/route.ts';

/** Why a route is in the state that it is in. */
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

/** What an operator, or the catalogue, decided over the automatic states. */
export interface HealthOverride {
  state: RouteHealth;
  /** When the automatic states take over again; null for not by itself. */
  until: Instant | null;
  /** The operator's words. */
  reason: string;
}

/** The health of one route, as it is stored: plain JSON. */
export interface HealthRecord {
  /** As of the last change; `effectiveState` also knows of an override that has ended since. */
  state: RouteHealth;
  since: Instant;
  cause: HealthCause;
  /** State and cause in a sentence for a person. */
  words: string;
  /** In automatic standby: when a probe may start. Otherwise null. */
  retryAt: Instant | null;
  /** Exponent of the present back-off or, out of standby, of the next one; 0 again once the route is live. */
  backoffs: number;
  /** The probe that is under way, if any, and when it counts as lost. */
  leaseUntil: Instant | null;
  leasePaymentId: string | null;
  manual: HealthOverride | null;
  /** Outcomes since the route became degraded, counted until they are enough to recover on; 0 in other states. */
  successes: number;
  failures: number;
  /** Results up to this time have been counted. */
  countedAt: Instant;
  /** Grows by one with every change: the guard of every write. */
  version: number;
}

export interface HealthTransition {
  from: RouteHealth;
  /** The same as `from` where an override only changed its reason or its end. */
  to: RouteHealth;
  cause: HealthCause;
  words: string;
  /** What the decision was made on; shares are 0 to 1, times are in the unit that ends their name. */
  numbers: Record<string, number>;
}

/** A record as it shall be, and what to tell of it: null where the state stays and only its details change. */
export interface HealthChange {
  record: HealthRecord;
  transition: HealthTransition | null;
}

/** The routes of one kind and environment, without those that are disabled. */
export interface HealthPeers {
  routesOfKind: number;
  /** Those in standby through their success rate. */
  inAutomaticStandby: number;
  /** Those in no standby of any cause. */
  usable: number;
}

/** What a state begins with. */
export interface HealthEntry {
  state: RouteHealth;
  cause: HealthCause;
  words: string;
  /** Only for automatic standby. */
  retryAt?: Instant;
  backoffs?: number;
  manual?: HealthOverride;
}

/** A record that enters a state: nothing of the state before it counts on. */
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

/** Where a route begins. `standby` in the catalogue is no automatic standby: it means that the route is not to be used. */
export function initialHealth(configured: RouteHealth, now: Instant): HealthRecord {
  return configuredHealth(1, configured, now);
}

/** The record under `version` of a route of which nothing is known but its catalogue entry. */
export function configuredHealth(version: number, configured: RouteHealth, now: Instant): HealthRecord {
  const words = `${configured}: ${configured === 'standby' ? 'disabled' : 'as configured'} in the catalogue`;
  if (configured !== 'standby') return entered(version, { state: configured, cause: 'configured', words }, now);
  const manual: HealthOverride = { state: 'standby', until: null, reason: 'disabled in the catalogue' };
  return entered(version, { state: 'standby', cause: 'disabled_in_catalogue', words, manual }, now);
}

/** The state that holds now: the operator's while it lasts, else the automatic one. */
export function effectiveState(record: HealthRecord, now: Instant): RouteHealth {
  return isOverrideOver(record, now) ? stateAfterOverride(record) : record.state;
}

/** Whether the operator or the catalogue took the route out of use: it is not to be used even where nothing else is left. */
export function isDisabled(record: HealthRecord, now: Instant): boolean {
  return record.manual?.state === 'standby' && !isOverrideOver(record, now);
}

export function isOverrideOver({ manual }: HealthRecord, now: Instant): boolean {
  return manual !== null && manual.until !== null && manual.until <= now;
}

/** A route that was kept from payments has proved nothing: it comes back as degraded. */
export function stateAfterOverride({ state }: HealthRecord): RouteHealth {
  return state === 'standby' ? 'degraded' : state;
}

/** Counts the records of one kind and environment, the one that is to be judged among them. */
export function healthPeers(recordsOfKind: readonly HealthRecord[], now: Instant): HealthPeers {
  const enabled = recordsOfKind.filter((record) => !isDisabled(record, now));
  const throughSuccess = enabled.filter(({ state, cause }) => state === 'standby' && cause === 'low_success');
  const usable = enabled.filter((record) => effectiveState(record, now) !== 'standby');
  return { routesOfKind: enabled.length, inAutomaticStandby: throughSuccess.length, usable: usable.length };
}
