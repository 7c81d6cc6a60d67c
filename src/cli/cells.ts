import type { Style } from './command-context.ts';

/** Text of one table cell, with an optional style. The table removes terminal control characters from it. */
export type Cell = string | { text: string; style: Style };

// Text from buyers, providers and merchants can contain terminal control characters or line breaks.
const UNPRINTABLE = /[\p{C}\p{Zl}\p{Zp}]/gu;

/** Untrusted text on one line: terminal control characters and line breaks become spaces. */
export function plain(text: string): string {
  return text.replace(UNPRINTABLE, ' ');
}

/** The health reason without its leading state, which has its own column. */
export function healthCauseOf(words: string): string {
  return words.replace(/^(?:live|degraded|standby): /, '');
}

/** A timestamp of the API without its milliseconds. */
export function secondsOf(time: string): string {
  return time.replace(/\.\d+Z$/, 'Z');
}

/** The fraction as a percentage: `91.2 %`. */
export function percent(fraction: number): string {
  return `${percentWithoutUnit(fraction)} %`;
}

/** The percentage without its unit. */
export function percentWithoutUnit(fraction: number): string {
  return (fraction * 100).toFixed(1);
}

/** A fee or cost rate, `1.45 %`, with the precision that the reasons of decisions use. */
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
