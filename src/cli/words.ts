// What others wrote may hold what a terminal obeys, or a line of its own.
const UNPRINTABLE = /[\p{C}\p{Zl}\p{Zp}]/gu;

/** A text of others on one line, without what a terminal would take as an order. */
export function plain(text: string): string {
  return text.replace(UNPRINTABLE, ' ');
}

/** What stands behind the state: that has a column of its own. */
export function causeOf(words: string): string {
  return words.replace(/^(?:live|degraded|standby): /, '');
}

/** A timestamp of the API without its milliseconds. */
export function secondsOf(time: string): string {
  return time.replace(/\.\d+Z$/, 'Z');
}

/** `91.2 %`. */
export function percent(fraction: number): string {
  return `${hundredths(fraction)} %`;
}

/** The same without its unit. */
export function hundredths(fraction: number): string {
  return (fraction * 100).toFixed(1);
}

/** A fee or cost, `1.45 %`: as exact as the reasons name it. */
export function rate(fraction: number): string {
  return `${Math.round(fraction * 10_000) / 100} %`;
}
