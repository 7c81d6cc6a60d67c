import type { Style } from './command-context.ts';

/** A text in a table, with an optional style. The table removes characters that control a terminal. */
export type Cell = string | { text: string; style: Style };

// Texts that other parties wrote can contain characters that control a terminal, or line ends.
const UNPRINTABLE = /[\p{C}\p{Zl}\p{Zp}]/gu;

/** A text of another party on one line, without characters that control a terminal. */
export function plain(text: string): string {
  return text.replace(UNPRINTABLE, ' ');
}

/** The reason without the leading health state, which has its own column. */
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

/** The percentage without its unit. */
export function hundredths(fraction: number): string {
  return (fraction * 100).toFixed(1);
}

/** A fee or cost, `1.45 %`: as exact as in the reasons of decisions. */
export function rate(fraction: number): string {
  return `${Math.round(fraction * 10_000) / 100} %`;
}

/** `49.90 USD`: amounts of the API are US dollars. */
export function dollars(amount: number): string {
  return `${amount.toFixed(2)} USD`;
}

const STATUS_STYLES: Record<string, Style> = {
  paid: 'green',
  settled: 'green',
  succeeded: 'green',
  delivered: 'green',
  live: 'green',
  active: 'green',
  pending: 'yellow',
  routed: 'cyan',
  open: 'cyan',
  degraded: 'yellow',
  failed: 'red',
  dead: 'red',
  blocked: 'red',
  standby: 'red',
  refunded: 'red',
  expired: 'dim',
  void: 'dim',
};

/** A status in its colour; an unknown status has none. */
export function statusCell(status: string): Cell {
  const style = Object.hasOwn(STATUS_STYLES, status) ? STATUS_STYLES[status] : undefined;
  return style === undefined ? status : { text: status, style };
}
