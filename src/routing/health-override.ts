import type { Instant } from '../domain/records.ts';
import type { RouteHealth } from '../domain/route.ts';
import {
  type HealthChange,
  type HealthOverride,
  type HealthRecord,
  changeTo,
  configuredHealth,
  effectiveState,
  entered,
  stateAfterOverride,
  timeInWords,
} from './health-record.ts';

/** Sets an operator's override, or ends it with null. Undefined if there is none to end, or if the catalogue disables the route. */
export function setOverride(record: HealthRecord, manual: HealthOverride | null, now: Instant) {
  if (record.cause === 'disabled_in_catalogue') return undefined;
  if (manual === null) return record.manual === null ? undefined : endOverride(record, now);
  const { state, until, reason } = manual;
  const end = until === null ? '' : `, until ${timeInWords(until, now)}`;
  const words = `${state}: set by the operator (${reason})${end}`;
  const next = entered(record.version + 1, { state, cause: 'override', words, manual }, now);
  return changeTo(next, record.state, until === null ? {} : { untilMs: until });
}

/** Ends an override; the automatic states apply again. */
export function endOverride(record: HealthRecord, now: Instant): HealthChange {
  const state = stateAfterOverride(record);
  const words = `${state}: the operator's override (${record.state}) has ended`;
  const next = entered(record.version + 1, { state, cause: 'override_ended', words }, now);
  return changeTo(next, record.state, {});
}

/** Applies the catalogue: `standby` disables a route, and any other state enables a disabled route. Otherwise nothing changes (undefined). */
export function reconfigureHealth(record: HealthRecord, configured: RouteHealth, now: Instant) {
  const isDisabledThere = record.cause === 'disabled_in_catalogue';
  if (isDisabledThere === (configured === 'standby')) return undefined;
  return changeTo(configuredHealth(configured, now, record.version + 1), effectiveState(record, now), {});
}
