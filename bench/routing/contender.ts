/** A payment to route. */
export interface BenchPayment {
  /** Number of the payment, from 0. */
  number: number;
  /** Seconds since the start of the scenario. */
  at: number;
  /** Amount in dollars. */
  amount: number;
}

/** Outcome of a payment, reported to the contender when it becomes known. */
export interface BenchOutcome {
  arm: number;
  payment: BenchPayment;
  /** Time at which it is known, in seconds since the start of the scenario. */
  at: number;
  /** `buyer_failure` has a code that names a fault of the buyer or issuer; only contenders with attribution may use this. */
  result: 'paid' | 'route_failure' | 'buyer_failure';
  /** True if the route refused the payment at the handoff. */
  handoffError: boolean;
}

/** A router under test. It receives payments in the order of their time, and outcomes when they become known. */
export interface Contender {
  choose(payment: BenchPayment, excluded?: ReadonlySet<number>): number;
  learn(outcome: BenchOutcome): void;
}

/** The information about a world that a contender receives at the start. */
export interface WorldBriefing {
  arms: number;
  /** Cost of each arm, a fraction of the amount. */
  costs: readonly number[];
  /** Arms by their success rate at the start, best first, for a static priority. */
  priorityAtStart: readonly number[];
  /** Seed for the random numbers of the contender; the world uses other seeds. */
  seed: number;
  /** Value of a paid payment, a fraction of the amount; Infinity if success alone counts. */
  margin: number;
}

export interface ContenderType {
  /** Name in the tables. */
  name: string;
  create(world: WorldBriefing): Contender;
}
