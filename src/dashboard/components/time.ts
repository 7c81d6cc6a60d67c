import type { Instant } from '../../domain/records.ts';
import { type Html, html } from '../../html/html.ts';

const formats = new Map<string, Intl.DateTimeFormat>();

/** An instant in the reporting zone with the name of the zone; the title has UTC. */
export function zonedTime(instant: Instant, zone: string): Html {
  const utc = new Date(instant).toISOString();
  return html`<time datetime="${utc}" title="${utc.replace('T', ' ').replace(/\.\d+Z/, ' UTC')}"
    >${formatOf(zone).format(instant)}</time
  >`;
}

function formatOf(zone: string): Intl.DateTimeFormat {
  let format = formats.get(zone);
  if (!format) {
    format = new Intl.DateTimeFormat('en-GB', {
      timeZone: zone,
      day: 'numeric',
      month: 'short',
      year: 'numeric',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
      timeZoneName: 'short',
    });
    formats.set(zone, format);
  }
  return format;
}
