import { type PaymentContexts, bandOf } from '../../src/domain/payment-contexts.ts';
import { type Candidate, choose } from '../../src/routing/choose.ts';
import { type ContextRatios, contextRatios, offsetsOf, withOffsets } from '../../src/routing/context-offsets.ts';
import { drawsOf } from '../../src/routing/draw.ts';
import { estimateRoutes, fold, type RouteEstimate, type RoutePrior } from '../../src/routing/estimate.ts';
import { addTallies, bucketOf, emptyTally, type States, type Tally } from '../../src/routing/route-memory.ts';
import { DEFAULT_POLICY, type Policy } from '../../src/routing/routing-policy.ts';
import type { BenchOutcome, BenchPayment, Contender, ContenderType, WorldBriefing } from './contender.ts';

export interface TillwayOptions {
  /** Maximum age in seconds of the estimates used for a choice; with 0, each choice computes new estimates. */
  viewSeconds?: number;
  policy?: Policy;
}

const HANDOFF_ERROR_WEIGHT = 2;
// The service folds contexts after 20 seconds; see `read-estimates.ts`.
const BUCKETS_BETWEEN_RATIOS = 3;
const CONFIGURED_SUCCESS_RATE = 0.85;
const LIVE = { health: 'live', failed: false, etaMinutes: 0 } as const;

/**
 * The router of `src/routing`, without rules and health. It sums outcomes in time buckets and estimates the routes from these sums.
 * Failures caused by buyers do not change an estimate.
 */
export function tillwayRouter(options: TillwayOptions = {}): ContenderType {
  return { name: 'tillway', create: (world) => contender(world, options) };
}

function contender(world: WorldBriefing, { viewSeconds = 0, policy }: TillwayOptions): Contender {
  const ownPolicy = forMargin(policy ?? DEFAULT_POLICY, world.margin);
  const routes = Array.from({ length: world.arms }, (_, arm) => `rt_${arm}`);
  const priors = routes.map((id): RoutePrior => ({ id, successRate: CONFIGURED_SUCCESS_RATE, group: 'card' }));
  const costs = world.costs.map((cost) => (world.margin === Infinity ? 0 : cost));
  let states: States = new Map();
  let open = new Map<string, Tally>();
  let openBucket = 0;
  let estimates: Map<string, RouteEstimate> | undefined;
  let estimatedAt = -Infinity;
  let ratios: ReadonlyMap<string, ContextRatios> = new Map();
  let ratiosAt = -Infinity;
  let tokens = ownPolicy.exploration.budgetCap;

  const moveTo = (bucket: number): void => {
    if (bucket === openBucket) return;
    if (open.size > 0) states = fold(states, open, openBucket, priors, ownPolicy);
    open = new Map();
    openBucket = bucket;
  };

  const view = (at: number): Map<string, RouteEstimate> => {
    const bucket = bucketOf(at * 1000, ownPolicy);
    const isOld = at - estimatedAt >= viewSeconds || bucket !== openBucket;
    if (estimates && !isOld) return estimates;
    moveTo(bucket);
    const current = open.size > 0 ? fold(states, open, openBucket, priors, ownPolicy) : states;
    estimatedAt = at;
    if (bucket >= ratiosAt + BUCKETS_BETWEEN_RATIOS) {
      ratiosAt = bucket;
      ratios = contextRatios(new Map([...states].map(([id, { contexts }]) => [id, contexts])), ownPolicy);
    }
    return (estimates = estimateRoutes(current, priors, at * 1000, ownPolicy));
  };

  return {
    choose(payment: BenchPayment, excluded?: ReadonlySet<number>): number {
      const known = view(payment.at);
      const contexts = contextsOf(payment);
      const candidates = routes.map((id, arm): Candidate => {
        const { p: mean, n, lastOutcomeAt } = known.get(id)!;
        const p = withOffsets(mean, offsetsOf(ratios.get(id), contexts));
        return { ...LIVE, id, eligible: !excluded?.has(arm), p, n, cost: costs[arm]!, triedAt: lastOutcomeAt };
      });
      const choice = choose(candidates, {
        policy: ownPolicy,
        draws: drawsOf(`bench-${world.seed}`, `chk_${payment.number}`, excluded ? excluded.size + 1 : 1),
        amount: Math.round(payment.amount * 100),
        explore: true,
        tokens,
      });
      if (!choice) throw new Error('every arm is excluded');
      tokens = choice.tokensAfter;
      return routes.indexOf(choice.chosen);
    },
    learn(outcome: BenchOutcome): void {
      const bucket = bucketOf(outcome.at * 1000, ownPolicy);
      moveTo(bucket);
      const id = routes[outcome.arm]!;
      open.set(id, addTallies(open.get(id) ?? emptyTally(bucket), tallyOf(outcome, bucket)));
    },
  };
}

/** The policy with the margin of a world. If only success counts, the margin is 1, and the contender sets all costs to 0. */
function forMargin(policy: Policy, margin: number): Policy {
  return { ...policy, objective: { ...policy.objective, margin: margin === Infinity ? 1 : margin } };
}

function tallyOf({ result, handoffError, at, payment }: BenchOutcome, bucket: number): Tally {
  const none = emptyTally(bucket);
  if (result === 'buyer_failure') return { ...none, neutrals: 1 };
  const isPaid = result === 'paid';
  const failures = handoffError ? HANDOFF_ERROR_WEIGHT : 1;
  const counts = { successes: isPaid ? 1 : 0, failures: isPaid ? 0 : failures };
  const contexts = [{ contexts: contextsOf(payment), ...counts }];
  if (!isPaid) return { ...none, ...counts, contexts };
  const logMs = Math.log(Math.max(1, (at - payment.at) * 1000));
  return { ...none, ...counts, contexts, timed: 1, logMs, logMsSquared: logMs * logMs };
}

function contextsOf({ amount, at, contexts }: BenchPayment): PaymentContexts {
  return { amount: bandOf(amount), hour: String(Math.floor(at / 3600) % 24), ...contexts };
}
