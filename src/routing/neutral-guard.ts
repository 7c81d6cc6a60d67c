import type { RouteState } from './route-memory.ts';
import type { Policy } from './routing-policy.ts';
import type { RouteMemory } from './pooled-prior.ts';

/** Numbers of neutral outcomes that count as failures of the route, in its fast and its slow memory. */
export interface Suspected {
  fast: number;
  slow: number;
}

/** Outcomes of one or several routes, and the neutral ones among them. */
interface Counts {
  neutrals: number;
  outcomes: number;
}

/** Neutral outcomes of each route that its adapter may wrongly attribute to buyers. A route without peers has none. */
export function suspectedNeutrals(memories: readonly RouteMemory[], policy: Policy): Suspected[] {
  const groups = groupCountsOf(memories);
  return memories.map(({ group, faded }) => {
    const own = countsOf(faded);
    const all = groups.get(group)!;
    return { fast: suspectedOf(own.fast, all.fast, policy), slow: suspectedOf(own.slow, all.slow, policy) };
  });
}

function countsOf(state: RouteState): { fast: Counts; slow: Counts } {
  const { fastNeutrals, slowNeutrals } = state;
  const fastOutcomes =
    state.fastSuccesses + state.fastFailures + state.disturbedSuccesses + state.disturbedFailures + fastNeutrals;
  const slowOutcomes = state.slowSuccesses + state.slowFailures + slowNeutrals;
  return {
    fast: { neutrals: fastNeutrals, outcomes: fastOutcomes },
    slow: { neutrals: slowNeutrals, outcomes: slowOutcomes },
  };
}

function groupCountsOf(memories: readonly RouteMemory[]): Map<string, { fast: Counts; slow: Counts }> {
  const groups = new Map<string, { fast: Counts; slow: Counts }>();
  for (const { group, faded } of memories) {
    const { fast, slow } = countsOf(faded);
    const others = groups.get(group);
    const sums = others && { fast: together(fast, others.fast), slow: together(slow, others.slow) };
    groups.set(group, sums ?? { fast, slow });
  }
  return groups;
}

function together(a: Counts, b: Counts): Counts {
  return { neutrals: a.neutrals + b.neutrals, outcomes: a.outcomes + b.outcomes };
}

/** Neutral outcomes beyond the usual share of the peers, if a route has far more. Buyers fail about equally often on all routes. */
function suspectedOf(own: Counts, group: Counts, { neutralGuard: { ratio, leastOutcomes } }: Policy): number {
  const peers = { neutrals: group.neutrals - own.neutrals, outcomes: group.outcomes - own.outcomes };
  if (Math.min(own.outcomes, peers.outcomes) < leastOutcomes) return 0;
  const usual = own.outcomes * (Math.max(0, peers.neutrals) / peers.outcomes);
  return own.neutrals > ratio * usual ? own.neutrals - usual : 0;
}
