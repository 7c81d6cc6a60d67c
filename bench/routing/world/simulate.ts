import type { BenchOutcome, BenchPayment, Contender, ContenderType, World } from '../contender.ts';
import { type Environment, POTENTIAL } from './environment.ts';
import { feedbackQueue } from './feedback.ts';
import { streamSeed } from './random.ts';

/** A contender, or an oracle, which knows the true rates. */
export interface Entry {
  name: string;
  create(world: World, truth: Environment): Contender;
}

export interface RunOptions {
  /** Value of a paid payment, a fraction of the amount; without it, success alone counts. */
  margin?: number;
  /** True if a payment that is refused at the handoff gets a second attempt on another route. */
  failover?: boolean;
  /** Called for every first choice. */
  onChoice?: (payment: number, arm: number) => void;
}

/** The figures of one contender in one world. */
export interface RunResult {
  /** Share of payments paid, by any attempt. */
  successRate: number;
  /** Mean of the best arm's probability less that of the arm chosen first. */
  regret: number;
  /** Mean cost of the routes of paid payments, a fraction of the amount. */
  cost: number;
  /** Mean of success times (margin - cost), a fraction of the amount; NaN without a margin. */
  value: number;
  /** Seconds of processor and simulator for each payment. */
  secondsPerPayment: number;
}

const RESULTS: Record<number, BenchOutcome['result']> = {
  [POTENTIAL.paid]: 'paid',
  [POTENTIAL.buyerFailure]: 'buyer_failure',
  [POTENTIAL.routeFailure]: 'route_failure',
  [POTENTIAL.handoffError]: 'route_failure',
};

/** Knowledge of a contender before the first payment. */
function worldOf(environment: Environment, margin = Infinity): World {
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

/** Runs a contender in a world. It gets each outcome when it is known, before the next payment and never earlier. */
export function simulate(environment: Environment, entry: Entry | ContenderType, options: RunOptions = {}): RunResult {
  const { arms, at, amounts, costs, delaySeconds, payments, potential, probability } = environment;
  const contender = entry.create(worldOf(environment, options.margin), environment);
  const underWay = feedbackQueue<BenchOutcome>();
  let paid = 0;
  let costOfPaid = 0;
  let regret = 0;

  const attempt = (payment: BenchPayment, arm: number): void => {
    const index = payment.number * arms + arm;
    const kind = potential[index];
    if (kind === undefined || !(arm >= 0 && arm < arms)) throw new Error(`${entry.name} chose arm ${arm}`);
    const knownAt = payment.at + delaySeconds[index]!;
    const handoffError = kind === POTENTIAL.handoffError;
    underWay.add(knownAt, { arm, payment, at: knownAt, result: RESULTS[kind]!, handoffError });
    if (kind !== POTENTIAL.paid) return;
    paid += 1;
    costOfPaid += costs[arm]!;
  };
  const tellUntil = (now: number): void => {
    while (underWay.nextAt() <= now) {
      const outcome = underWay.take();
      contender.learn(outcome);
      const { payment } = outcome;
      const isFirst = payment.at === at[payment.number];
      if (!outcome.handoffError || !options.failover || !isFirst) continue;
      const again = { ...payment, at: outcome.at };
      attempt(again, contender.choose(again, new Set([outcome.arm])));
    }
  };

  const startedMs = performance.now();
  for (let number = 0; number < payments; number += 1) {
    const payment = { number, at: at[number]!, amount: amounts[number]! };
    tellUntil(payment.at);
    const arm = contender.choose(payment);
    attempt(payment, arm);
    options.onChoice?.(number, arm);
    regret += bestProbability(environment, number) - probability[number * arms + arm]!;
  }
  // Refusals of the last half second still have their second attempt.
  tellUntil(Number.MAX_VALUE);
  return {
    successRate: paid / payments,
    regret: regret / payments,
    cost: costOfPaid / paid,
    value: options.margin === undefined ? Number.NaN : (paid * options.margin - costOfPaid) / payments,
    secondsPerPayment: (performance.now() - startedMs) / 1000 / payments,
  };
}

function bestProbability({ arms, probability }: Environment, payment: number): number {
  let best = 0;
  for (let index = payment * arms; index < (payment + 1) * arms; index += 1) best = Math.max(best, probability[index]!);
  return best;
}
