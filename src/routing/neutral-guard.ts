import type { RouteState } from './route-memory.ts';
import type { Policy } from './routing-policy.ts';
import type { RouteMemory } from './pooled-prior.ts';

/** Numbers of neutral outcomes that count as failures of the route, in its fast and its slow memory. */
export interface Suspected {
  fast: number;
  slow: number;
}

/** Outcomes of one or several routes in one memory, and the neutral ones among them. */
interface Counts {
  neutrals: number;
  outcomes: number;
}

/** Neutral outcomes of each route that its adapter may wrongly attribute to buyers. A route without peers has none. */
export function suspectedNeutrals(memories: readonly RouteMemory[], policy: Policy): Suspected[] {
  const fast = suspectedIn(memories, fastCounts, policy);
  const slow = suspectedIn(memories, slowCounts, policy);
  return memories.map((_, i) => ({ fast: fast[i]!, slow: slow[i]! }));
}

function fastCounts(state: RouteState): Counts {
  const usual = state.fastSuccesses + state.fastFailures;
  const outcomes = usual + state.disturbedSuccesses + state.disturbedFailures + state.fastNeutrals;
  return { neutrals: state.fastNeutrals, outcomes };
}

function slowCounts({ slowSuccesses, slowFailures, slowNeutrals }: RouteState): Counts {
  return { neutrals: slowNeutrals, outcomes: slowSuccesses + slowFailures + slowNeutrals };
}

/** Neutral outcomes beyond the usual share of the peers, if a route has far more. Buyers fail about equally often on all routes. */
function suspectedIn(
  memories: readonly RouteMemory[],
  countsOf: (state: RouteState) => Counts,
  { neutralGuard: { ratio, leastOutcomes } }: Policy,
): number[] {
  const groups = new Map<string, Counts>();
  for (const { group, faded } of memories) {
    const [own, others] = [countsOf(faded), groups.get(group) ?? { neutrals: 0, outcomes: 0 }];
    groups.set(group, { neutrals: own.neutrals + others.neutrals, outcomes: own.outcomes + others.outcomes });
  }
  return memories.map(({ group, faded }) => {
    const [own, all] = [countsOf(faded), groups.get(group)!];
    const peers = { neutrals: all.neutrals - own.neutrals, outcomes: all.outcomes - own.outcomes };
    if (Math.min(own.outcomes, peers.outcomes) < leastOutcomes) return 0;
    const usual = own.outcomes * (Math.max(0, peers.neutrals) / peers.outcomes);
    return own.neutrals > ratio * usual ? own.neutrals - usual : 0;
  });
}
