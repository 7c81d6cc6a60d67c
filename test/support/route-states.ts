import { tallyOf } from '../../bench/routing/tallies.ts';
import { fold } from '../../src/routing/estimate.ts';
import type { RoutePrior } from '../../src/routing/pooled-prior.ts';
import type { States, Tally } from '../../src/routing/route-memory.ts';
import { DEFAULT_POLICY } from '../../src/routing/routing-policy.ts';

export const BUCKET_MS = DEFAULT_POLICY.bucketSeconds * 1000;
/** In buckets. */
export const HOUR = 3600 / DEFAULT_POLICY.bucketSeconds;
export const THREE = priorsOf({ rt_a: 0.85, rt_b: 0.85, rt_c: 0.85 });

/** A number of buckets, each with the same outcomes by route. */
export type Period = [buckets: number, outcomes: Record<string, Partial<Tally>>];

export function priorsOf(rates: Record<string, number>, group = 'card'): RoutePrior[] {
  return Object.entries(rates).map(([id, successRate]) => ({ id, successRate, group }));
}

/** The same numbers in (0, 1) each time (the generator of Lehmer). */
export function pseudoRandom(): () => number {
  let state = 1;
  return () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
}

/** A tally of payments that started in the hour of their outcome. */
export function tallyAt(bucket: number, part: Partial<Tally> = {}): Tally {
  return tallyOf(bucket, Math.floor(bucket / HOUR), part);
}

/** States after consecutive periods, the first of which begins at bucket `from`. */
export function statesAfter(periods: Period[], priors = THREE, states: States = new Map(), from = 0): States {
  let result = states;
  let bucket = from;
  for (const [buckets, outcomes] of periods) {
    for (const end = bucket + buckets; bucket < end; bucket += 1) {
      const tallies = Object.entries(outcomes).map(([id, part]) => [id, tallyAt(bucket, part)] as const);
      result = fold(result, new Map(tallies), bucket, priors, DEFAULT_POLICY);
    }
  }
  return result;
}
