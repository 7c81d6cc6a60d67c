import type { BenchOutcome, BenchPayment, Contender, ContenderType, WorldBriefing } from '../contender.ts';
import { type BenchWorld, HANDOFF_SECONDS, POTENTIAL_RESULT } from './environment.ts';
import { feedbackQueue } from './feedback.ts';
import { streamSeed } from './random.ts';

/** A router under test with its name. `create` also receives the true rates, which only an oracle uses. */
export interface BenchRouter {
  name: string;
  create(world: WorldBriefing, truth: BenchWorld): Contender;
}

export interface SimulationOptions {
  /** Value of a paid payment, as a fraction of the amount; if undefined, only success counts. */
  margin?: number;
  /** True if a payment gets a second attempt on another route after a refused handoff. */
  failover?: boolean;
  /** Called for the first choice of every payment. */
  onChoice?: (payment: number, arm: number) => void;
}

/** The results of one contender in one world. */
export interface SimulationResult {
  /** Share of payments paid, by the first or second attempt. */
  successRate: number;
  /** Mean difference between the success probability of the best arm and of the arm chosen first, from `measuredFrom` of the scenario on. */
  regret: number;
  /** Mean cost of the routes of paid payments, a fraction of the amount. */
  cost: number;
  /** Mean of success times (margin - cost), a fraction of the amount; NaN without a margin. */
  value: number;
  /** Processing time of contender and simulator per payment, in seconds. */
  secondsPerPayment: number;
}

const RESULTS: Record<number, BenchOutcome['result']> = {
  [POTENTIAL_RESULT.paid]: 'paid',
  [POTENTIAL_RESULT.unsettled]: 'paid',
  [POTENTIAL_RESULT.issuerDecline]: 'issuer_decline',
  [POTENTIAL_RESULT.buyerFailure]: 'buyer_failure',
  [POTENTIAL_RESULT.routeFailure]: 'route_failure',
  [POTENTIAL_RESULT.handoffError]: 'route_failure',
};

/** The information that a contender receives before the first payment. */
function worldOf(environment: BenchWorld, margin = Infinity): WorldBriefing {
  const { arms, costs, probability, seed } = environment;
  const order = Array.from({ length: arms }, (_, arm) => arm);
  return {
    arms,
    costs,
    margin,
    seed: streamSeed(seed, 'contender'),
    priorityAtStart: order.toSorted((one, other) => probability[other]! - probability[one]!),
  };
}

/** Runs a contender in a world. The contender receives each outcome when it becomes known, before the next payment. */
export function simulate(
  environment: BenchWorld,
  entry: BenchRouter | ContenderType,
  options: SimulationOptions = {},
): SimulationResult {
  const { arms, requests, costs, delaySeconds, payments, potential, probability, scenario } = environment;
  const { paidOutAfterSeconds, measuredFrom = 0 } = scenario;
  const contender = entry.create(worldOf(environment, options.margin), environment);
  const pending = feedbackQueue<() => void>();
  let paid = 0;
  let measured = 0;
  let costOfPaid = 0;
  let regret = 0;

  const attempt = (payment: BenchPayment, arm: number): void => {
    const index = payment.number * arms + arm;
    const kind = potential[index];
    if (kind === undefined || !(arm >= 0 && arm < arms)) throw new Error(`${entry.name} chose arm ${arm}`);
    const knownAt = payment.at + delaySeconds[index]!;
    const handoffError = kind === POTENTIAL_RESULT.handoffError;
    if (contender.learnHandoff && !handoffError) {
      const at = Math.min(payment.at + HANDOFF_SECONDS, knownAt);
      pending.add(at, () => contender.learnHandoff!({ arm, payment, at }));
    }
    pending.add(knownAt, () => report({ arm, payment, at: knownAt, result: RESULTS[kind]!, handoffError }));
    if (kind !== POTENTIAL_RESULT.paid) return;
    if (paidOutAfterSeconds !== undefined) {
      pending.add(knownAt + paidOutAfterSeconds, () => contender.learnPayout?.(arm, payment));
    }
    paid += 1;
    costOfPaid += costs[arm]!;
  };
  const report = (outcome: BenchOutcome): void => {
    contender.learn(outcome);
    const { payment } = outcome;
    const isFirst = payment.at === requests[payment.number]!.at;
    if (!outcome.handoffError || !options.failover || !isFirst) return;
    const again = { ...payment, at: outcome.at };
    attempt(again, contender.choose(again, new Set([outcome.arm])));
  };
  const reportUntil = (now: number): void => {
    while (pending.nextAt() <= now) pending.take()();
  };

  const startedMs = performance.now();
  for (const payment of requests) {
    const { number } = payment;
    reportUntil(payment.at);
    const arm = contender.choose(payment);
    attempt(payment, arm);
    options.onChoice?.(number, arm);
    if (payment.at < measuredFrom) continue;
    measured += 1;
    regret += bestProbability(environment, number) - probability[number * arms + arm]!;
  }
  // Payments refused in the last half second still get their second attempt.
  reportUntil(Number.MAX_VALUE);
  return {
    successRate: paid / payments,
    regret: regret / measured,
    cost: costOfPaid / paid,
    value: options.margin === undefined ? Number.NaN : (paid * options.margin - costOfPaid) / payments,
    secondsPerPayment: (performance.now() - startedMs) / 1000 / payments,
  };
}

function bestProbability({ arms, probability }: BenchWorld, payment: number): number {
  let best = 0;
  for (let index = payment * arms; index < (payment + 1) * arms; index += 1) best = Math.max(best, probability[index]!);
  return best;
}
