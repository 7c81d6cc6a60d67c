/** A payment to route. */
export interface BenchPayment {
  /** Counts from 0. */
  number: number;
  /** Seconds since the start of the scenario. */
  at: number;
  /** Dollars. */
  amount: number;
}

/** Outcome of a payment, reported when it is known and never earlier. */
export interface BenchOutcome {
  arm: number;
  payment: BenchPayment;
  /** Time at which it is known, in seconds since the start of the scenario. */
  at: number;
  /** `buyer_failure` carries a code that names the buyer's or issuer's fault; only attributing contenders may look at it. */
  result: 'paid' | 'route_failure' | 'buyer_failure';
  /** True if the route refused the payment at the handoff. */
  handoffError: boolean;
}

/** A router under test: sees payments in the order of their time, and outcomes when they become known. */
export interface Contender {
  choose(payment: BenchPayment, excluded?: ReadonlySet<number>): number;
  learn(outcome: BenchOutcome): void;
}

/** A contender's knowledge of its world. */
export interface World {
  arms: number;
  /** Cost of each arm, a fraction of the amount. */
  costs: readonly number[];
  /** Arms by their success rate at the start, best first, for a static priority. */
  priorityAtStart: readonly number[];
  /** For the contender's own random numbers; the world has its own. */
  seed: number;
  /** Value of a paid payment, a fraction of the amount; Infinity if success alone counts. */
  margin: number;
}

export interface ContenderType {
  /** Name in the tables. */
  name: string;
  create(world: World): Contender;
}
