import { CommandError } from './command-context.ts';

const UNITS: readonly [letter: string, seconds: number, word: string][] = [
  ['d', 86_400, 'd'],
  ['h', 3600, 'h'],
  ['m', 60, 'min'],
  ['s', 1, 's'],
];
// Units in descending order, each at most once: accepts 1h30m, rejects 30m1h and 1h1h.
const DURATION = new RegExp(`^${UNITS.map(([letter]) => `(?:(\\d{1,9})${letter})?`).join('')}$`);

/** Parses `90s`, `15m`, `24h`, `2d` or `1h30m` to whole seconds; returns undefined for any other text. */
export function parseDuration(text: string): number | undefined {
  const match = DURATION.exec(text.trim().toLowerCase());
  if (!match || text.trim() === '') return undefined;
  return UNITS.reduce((sum, [, seconds], index) => sum + Number(match[index + 1] ?? 0) * seconds, 0);
}

/** Like {@link parseDuration}, but throws {@link CommandError} 2 with the accepted formats for other text. */
export function durationOf(text: string, option?: string): number {
  const seconds = parseDuration(text);
  if (seconds !== undefined) return seconds;
  const where = option === undefined ? '' : `${option}: `;
  throw new CommandError(2, `${where}expected a time such as 90s, 24h, 2d or 1h30m, not ${JSON.stringify(text)}`);
}

/** Formats seconds as `1 h 30 min`, `2 d` or `0 s`; negative values become `0 s`. */
export function durationText(seconds: number): string {
  let rest = Math.max(0, Math.round(seconds));
  const parts: string[] = [];
  for (const [, size, word] of UNITS) {
    const count = Math.floor(rest / size);
    if (count > 0) parts.push(`${count} ${word}`);
    rest -= count * size;
  }
  return parts.length === 0 ? '0 s' : parts.join(' ');
}
