/** One payment that has to be routed. */
export interface BenchPayment {
  /** Counts from 0. */
  number: number;
  /** Seconds since the start of the scenario. */
  at: number;
  /** Dollars. */
  amount: number;
}

/** What became of a payment, told when it becomes known and never earlier. */
export interface BenchOutcome {
  arm: number;
  payment: BenchPayment;
  /** Seconds since the start of the scenario: when it became known. */
  at: number;
  /** `buyer_failure` carries a code that names the buyer's or issuer's fault; only attributing contenders may look at it. */
  result: 'paid' | 'route_failure' | 'buyer_failure';
  /** Whether the route refused the payment at the handoff. */
  handoffError: boolean;
}

/** A router under test: sees payments in the order of their time, and outcomes when they become known. */
export interface Contender {
  choose(payment: BenchPayment, excluded?: ReadonlySet<number>): number;
  learn(outcome: BenchOutcome): void;
}

/** What a contender is told about the world that it is put into. */
export interface World {
  arms: number;
  /** Cost of each arm, a fraction of the amount. */
  costs: readonly number[];
  /** Arms from the best success rate to the worst, as they are at the start: what a static priority is built from. */
  priorityAtStart: readonly number[];
  /** For the contender's own random numbers; the world has its own. */
  seed: number;
  /** What a paid payment is worth, a fraction of the amount; Infinity where success alone counts. */
  margin: number;
}

export interface ContenderType {
  /** As in the table. */
  name: string;
  create(world: World): Contender;
}
