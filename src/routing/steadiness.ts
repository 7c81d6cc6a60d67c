import type { Policy } from './routing-policy.ts';

/** The outcomes of one bucket as evidence about the steadiness of their route. */
interface Evidence {
  /** Logarithm of how much more probable they are at the slow estimate than at the fast one. */
  forSlow: number;
  /** Outcomes in the fast memory. A fast estimate from few outcomes says little about changes. */
  fastOutcomes: number;
  /** True if failures were reversed. That can look like a change, so it never lowers the steadiness. */
  isReversal: boolean;
}

/** The steadiness of a route after a bucket of outcomes. */
export function steadinessAfter(
  before: number,
  { forSlow, fastOutcomes, isReversal }: Evidence,
  { estimate: { fastPriorWeight, steadiness } }: Policy,
): number {
  const weight = fastOutcomes / (fastOutcomes + fastPriorWeight.least);
  const after = before + weight * (isReversal ? Math.max(0, forSlow) : forSlow);
  return Math.min(steadiness.most, Math.max(-steadiness.most, after));
}

/** Prior weight of the slow estimates in the fast ones. Steady routes do not outweigh a restless one, however many they are. */
export function slowWeightOf(
  ofRoutes: readonly number[],
  { estimate: { fastPriorWeight, steadiness } }: Policy,
): number {
  let [steady, restless] = [0, 0];
  for (const each of ofRoutes) {
    if (each > 0) steady += each;
    else restless -= each;
  }
  const surplus = Math.min(steadiness.most, steady) - restless - steadiness.above;
  const share = Math.max(0, surplus) / (steadiness.most - steadiness.above);
  return fastPriorWeight.least + share * (fastPriorWeight.most - fastPriorWeight.least);
}
