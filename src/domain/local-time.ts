import type { Instant } from './records.ts';

const TWO = '2-digit';
const SHAPE = { year: 'numeric', month: TWO, day: TWO, hour: TWO, minute: TWO, second: TWO } as const;
const formats = new Map<string, Intl.DateTimeFormat>();

/** A time in a zone as ISO 8601 with its offset: `2026-03-01T13:00:00+01:00`. */
export function localTime(at: Instant, timeZone: string): string {
  const format =
    formats.get(timeZone) ?? new Intl.DateTimeFormat('sv-SE', { ...SHAPE, timeZone, timeZoneName: 'longOffset' });
  formats.set(timeZone, format);
  return format.format(at).replace('\u2212', '-').replace(' GMT', '').replace(' ', 'T');
}

/** Start of a local day, such as `2026-03-01`. */
export function startOfLocalDay(date: string, timeZone: string): Instant {
  const midnight = (offsetAt: Instant) => Date.parse(`${date}T00:00:00${localTime(offsetAt, timeZone).slice(19)}`);
  // The offset at midnight UTC can differ from the offset at the local midnight.
  return midnight(midnight(Date.parse(`${date}T00:00:00Z`)));
}
