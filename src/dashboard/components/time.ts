import type { Instant } from '../../domain/records.ts';
import { type Html, html } from '../../html/html.ts';

const DAY = { day: 'numeric', month: 'short' } as const;
const MINUTE = { hour: '2-digit', minute: '2-digit' } as const;
const SHAPES = {
  instant: { ...DAY, ...MINUTE, year: 'numeric', second: '2-digit', timeZoneName: 'short' },
  day: { ...DAY, year: 'numeric' },
  week: { ...DAY, year: 'numeric' },
  hour: { ...DAY, ...MINUTE },
  shortDay: DAY,
  shortHour: MINUTE,
} as const satisfies Record<string, Intl.DateTimeFormatOptions>;

const formats = new Map<string, Intl.DateTimeFormat>();
/** Texts by shape, zone and instant. Pages that keep themselves current show the same times again. */
const texts = new Map<string, string>();
const MOST_TEXTS = 5000;

/** An instant in the reporting zone with the name of the zone; the title has UTC. */
export function zonedTime(instant: Instant, zone: string): Html {
  const utc = new Date(instant).toISOString();
  return html`<time datetime="${utc}" title="${utc.slice(0, 10)} ${utc.slice(11, 19)} UTC"
    >${timeText(instant, zone, 'instant')}</time
  >`;
}

/** A time in the reporting zone: a day "3 Mar 2026", an hour "3 Mar, 14:00", and for axes "3 Mar" or "14:00". */
export function timeText(instant: Instant, zone: string, shape: keyof typeof SHAPES): string {
  const key = `${shape} ${zone}`;
  const format = formats.get(key) ?? new Intl.DateTimeFormat('en-GB', { ...SHAPES[shape], timeZone: zone });
  formats.set(key, format);
  const text = texts.get(`${key} ${instant}`) ?? format.format(instant);
  if (texts.size > MOST_TEXTS) texts.clear();
  texts.set(`${key} ${instant}`, text);
  return text;
}
