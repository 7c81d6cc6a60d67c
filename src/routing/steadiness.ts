import type { RouteMemory } from './pooled-prior.ts';
import type { RouteState, Tally } from './route-memory.ts';
import type { Policy } from './routing-policy.ts';

/**
 * The steadiness of a route after outcomes. `evidence` is their log-likelihood ratio at the slow and at the fast estimate. A fast estimate
 * from few outcomes says little about changes. Reversed failures can look like a change, so they never lower the steadiness.
 */
export function steadinessAfter(
  { steadiness, fastSuccesses, fastFailures }: RouteState,
  { failures }: Tally,
  evidence: number,
  { estimate }: Policy,
): number {
  const outcomes = fastSuccesses + fastFailures;
  const weight = outcomes / (outcomes + estimate.fastPriorWeight.least);
  const after = steadiness + weight * (failures < 0 ? Math.max(0, evidence) : evidence);
  return Math.min(estimate.steadiness.most, Math.max(-estimate.steadiness.most, after));
}

/** Prior weight of the slow estimates in the fast ones. Steady routes do not outweigh a restless one, however many they are. */
export function slowWeightOf(
  memories: readonly RouteMemory[],
  { estimate: { fastPriorWeight, steadiness } }: Policy,
): number {
  let [steady, restless] = [0, 0];
  for (const { faded } of memories) {
    if (faded.steadiness > 0) steady += faded.steadiness;
    else restless -= faded.steadiness;
  }
  const surplus = Math.min(steadiness.most, steady) - restless - steadiness.above;
  const share = Math.max(0, surplus) / (steadiness.most - steadiness.above);
  return fastPriorWeight.least + share * (fastPriorWeight.most - fastPriorWeight.least);
}
