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

/** Start of a local day, such as `2026-03-01`, or of the day `later` days after it; undefined if `day` is no day. */
export function startOfLocalDay(day: string, zone: string, later = 0): Instant | undefined {
  if (!/^\d{4}-\d\d-\d\d$/.test(day) || Number.isNaN(Date.parse(day))) return undefined;
  const [year = 0, month = 0, dayOfMonth = 0] = day.split('-').map(Number);
  const date = Temporal.PlainDate.from({ year, month, day: dayOfMonth });
  // Both `Date.parse` and Temporal accept 2026-02-30, and take another day for it.
  if (date.toString() !== day) return undefined;
  return date.add({ days: later }).toZonedDateTime(zone).epochMilliseconds;
}

/** A time in a zone as ISO 8601 with its offset: `2026-03-01T13:00:00+01:00`. */
export const localTime = (at: Instant, zone: string): string =>
  Temporal.Instant.fromEpochMilliseconds(at).toString({ timeZone: zone, smallestUnit: 'second' });
