import type * as TemporalPackage from 'temporal-polyfill';
import type { Instant } from './records.ts';

// Node 24 has no Temporal. The package is loaded only there.
const { Temporal } = (
  'Temporal' in globalThis ? globalThis : await import('temporal-polyfill')
) as typeof TemporalPackage;

const dayOf = (at: Instant, zone: string) =>
  Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(zone).startOfDay();

/** Start of the local day of a time. */
export const startOfDay = (at: Instant, zone: string): Instant => dayOf(at, zone).epochMilliseconds;

/** Start of the local day after the day of a time. Most days have 24 hours, but a day has 23 or 25 when the clocks change. */
export const nextDay = (at: Instant, zone: string): Instant =>
  dayOf(at, zone).add({ days: 1 }).startOfDay().epochMilliseconds;
