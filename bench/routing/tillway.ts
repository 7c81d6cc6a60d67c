import { type Candidate, choose } from '../../src/routing/choose.ts';
import { offsetsOf, withOffsets } from '../../src/routing/context-offsets.ts';
import { drawsOf } from '../../src/routing/draw.ts';
import { estimateRoutes } from '../../src/routing/estimate.ts';
import type { RoutePrior } from '../../src/routing/pooled-prior.ts';
import { DEFAULT_POLICY, type Policy } from '../../src/routing/routing-policy.ts';
import type { BenchOutcome, BenchPayment, Contender, ContenderType, WorldBriefing } from './contender.ts';
import { contextsOf, outcomeMemory } from './outcome-memory.ts';
import { payoutMemory } from './payout-memory.ts';

export interface TillwayOptions {
  policy?: Policy;
}

const CONFIGURED_SUCCESS_RATE = 0.85;
const LIVE = { health: 'live', failed: false, etaMinutes: 0 } as const;

/**
 * The router of `src/routing`, without rules and health. It sums outcomes in time buckets and estimates the routes from these sums.
 * Failures caused by buyers do not change an estimate.
 */
export function tillwayRouter(options: TillwayOptions = {}): ContenderType {
  return { name: 'tillway', create: (world) => contender(world, options) };
}

function contender(world: WorldBriefing, { policy = DEFAULT_POLICY }: TillwayOptions): Contender {
  const ownPolicy = forMargin(policy, world.margin);
  const routes = Array.from({ length: world.arms }, (_, arm) => `rt_${arm}`);
  const priors = routes.map((id): RoutePrior => ({ id, successRate: CONFIGURED_SUCCESS_RATE, group: 'card' }));
  const costs = world.costs.map((cost) => (world.margin === Infinity ? 0 : cost));
  const memory = outcomeMemory(priors, ownPolicy);
  const payouts = routes.map(() => payoutMemory(ownPolicy));
  let tokens = ownPolicy.exploration.budgetCap;

  return {
    choose(payment: BenchPayment, excluded?: ReadonlySet<number>): number {
      const { states, ratios } = memory.at(payment.at);
      const known = estimateRoutes(states, priors, payment.at * 1000, ownPolicy);
      const contexts = contextsOf(payment);
      const candidates = routes.map((id, arm): Candidate => {
        const { p: mean, n, lastOutcomeAt } = known.get(id)!;
        const p = withOffsets(mean, offsetsOf(ratios.get(id), contexts));
        const cost = costs[arm]! + payouts[arm]!.at(payment.at).lostRate / 1_000_000;
        return { ...LIVE, id, eligible: !excluded?.has(arm), p, n, cost, triedAt: lastOutcomeAt };
      });
      const choice = choose(candidates, {
        policy: ownPolicy,
        draws: drawsOf(`bench-${world.seed}`, `chk_${payment.number}`, excluded ? excluded.size + 1 : 1),
        amount: Math.round(payment.amount * 100),
        explore: true,
        now: payment.at * 1000,
        tokens,
      });
      if (!choice) throw new Error('every arm is excluded');
      tokens = choice.tokensAfter;
      return routes.indexOf(choice.chosen);
    },
    learn(outcome: BenchOutcome): void {
      memory.add(routes[outcome.arm]!, outcome, false);
      if (outcome.result === 'paid') payouts[outcome.arm]!.addPaid(outcome.payment);
    },
    learnPayout: (arm, payment) => payouts[arm]!.addPayout(payment),
  };
}

/** The policy with the margin of a world. If only success counts, the margin is 1, and the contender sets all costs to 0. */
function forMargin(policy: Policy, margin: number): Policy {
  return { ...policy, objective: { ...policy.objective, margin: margin === Infinity ? 1 : margin } };
}
