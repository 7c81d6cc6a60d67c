import type { StartedOutcomes, Tally } from '../../routing/route-memory.ts';

const SUMS = [
  'successes',
  'failures',
  'neutrals',
  'probeSuccesses',
  'probeFailures',
  'timed',
  'logMs',
  'logMsSquared',
] as const satisfies (keyof Tally)[];

/** The sum of two tallies of the same bucket. */
export function addTallies(a: Tally, b: Tally): Tally {
  const sums = { ...a, contexts: [...a.contexts, ...b.contexts], starts: byHour([...a.starts, ...b.starts]) };
  for (const name of SUMS) sums[name] += b[name];
  return sums;
}

function byHour(starts: readonly StartedOutcomes[]): StartedOutcomes[] {
  const hours = new Map<number, StartedOutcomes>();
  for (const { hour, successes, failures, neutrals } of starts) {
    const sum = hours.get(hour) ?? { hour, successes: 0, failures: 0, neutrals: 0 };
    hours.set(hour, {
      hour,
      successes: sum.successes + successes,
      failures: sum.failures + failures,
      neutrals: sum.neutrals + neutrals,
    });
  }
  return [...hours.values()].toSorted((a, b) => a.hour - b.hour);
}
