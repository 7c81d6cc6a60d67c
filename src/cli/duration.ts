import { CommandError } from './command-context.ts';

const UNITS: readonly [letter: string, seconds: number, word: string][] = [
  ['d', 86_400, 'd'],
  ['h', 3600, 'h'],
  ['m', 60, 'min'],
  ['s', 1, 's'],
];
// The largest unit first, each once: 1h30m, and neither 30m1h nor 1h1h.
const DURATION = new RegExp(`^${UNITS.map(([letter]) => `(?:(\\d{1,9})${letter})?`).join('')}$`);

/** Whole seconds of `90s`, `15m`, `24h`, `2d` or `1h30m`; undefined for any other text, also an empty one. */
export function parseDuration(text: string): number | undefined {
  const match = DURATION.exec(text.trim().toLowerCase());
  if (!match || text.trim() === '') return undefined;
  return UNITS.reduce((sum, [, seconds], index) => sum + Number(match[index + 1] ?? 0) * seconds, 0);
}

/** {@link parseDuration} for typed input. Throws {@link CommandError} 2 with the accepted format. */
export function durationOf(text: string, option?: string): number {
  const seconds = parseDuration(text);
  if (seconds !== undefined) return seconds;
  const where = option === undefined ? '' : `${option}: `;
  throw new CommandError(2, `${where}a time is written 90s, 15m, 24h, 2d or 1h30m, not ${JSON.stringify(text)}`);
}

/** `1 h 30 min`, `2 d`, `0 s`: never negative. */
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
