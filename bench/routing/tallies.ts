import type { Tally } from '../../src/routing/route-memory.ts';

/** A tally of payments that started in one hour. */
export function tallyOf(bucket: number, startHour: number, counts: Partial<Tally>): Tally {
  const sums = {
    successes: 0,
    failures: 0,
    neutrals: 0,
    probeSuccesses: 0,
    probeFailures: 0,
    timed: 0,
    logMs: 0,
    logMsSquared: 0,
    contexts: [],
    ...counts,
  };
  const { successes, failures, neutrals } = sums;
  return { ...sums, bucket, starts: [{ hour: startHour, successes, failures, neutrals }] };
}
