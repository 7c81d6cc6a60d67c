import type { Instant } from '../domain/records.ts';

/** `12:04:30 UTC`, with the date before it unless that is the date of `now`. */
export function timeInWords(instant: Instant, now: Instant): string {
  const [date, time] = dateAndTime(instant);
  return date === dateAndTime(now)[0] ? `${time} UTC` : `${date} ${time} UTC`;
}

/** A share of 0 to 1 as `91.2 %`. */
export function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}

function dateAndTime(instant: Instant): [date: string, time: string] {
  const iso = new Date(instant).toISOString();
  return [iso.slice(0, 10), iso.slice(11, 19)];
}
