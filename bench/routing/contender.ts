/** A payment for which a contender chooses a route. The benchmark calls a route an arm and numbers the arms from 0. */
export interface BenchPayment {
  /** Number of the payment, from 0. */
  number: number;
  /** Seconds since the start of the scenario. */
  at: number;
  /** Amount in dollars. */
  amount: number;
  /** Other properties that are known before the choice, by name. */
  contexts: Readonly<Record<string, string>>;
}

/** Outcome of a payment attempt, which the contender receives when the outcome becomes known. */
export interface BenchOutcome {
  arm: number;
  payment: BenchPayment;
  /** Time at which the outcome is known, in seconds since the start of the scenario. */
  at: number;
  /** `buyer_failure`: a failure whose code blames the buyer; only contenders with attribution treat it specially. */
  result: 'paid' | 'route_failure' | 'issuer_decline' | 'buyer_failure';
  /** True if the route refused the payment at the handoff. */
  handoffError: boolean;
}

/** A payment that a route accepted at the handoff; its outcome is not yet known. */
export type BenchHandoff = Pick<BenchOutcome, 'arm' | 'payment' | 'at'>;

/** A router under test. It receives payments in the order of their time, and outcomes when they become known. */
export interface Contender {
  /** Returns the number of the chosen arm, which must not be in `excluded`. */
  choose(payment: BenchPayment, excluded?: ReadonlySet<number>): number;
  learn(outcome: BenchOutcome): void;
  /** Receives accepted handoffs. Only a contender with a health state machine uses them. */
  learnHandoff?(handoff: BenchHandoff): void;
  /** Receives the news that a paid payment has been paid out. A payment whose money never arrives has no news. */
  learnPayout?(arm: number, payment: BenchPayment): void;
}

/** The information about a world that a contender receives at the start. */
export interface WorldBriefing {
  /** Number of routes. */
  arms: number;
  /** Cost of each arm, a fraction of the amount. */
  costs: readonly number[];
  /** Arms sorted by their success rate at the start, best first; used by the static priority. */
  priorityAtStart: readonly number[];
  /** Seed for the random numbers of the contender; the world uses other seeds. */
  seed: number;
  /** Value of a paid payment, a fraction of the amount; Infinity if only success counts. */
  margin: number;
}

/** A routing algorithm, which creates one contender for each world. */
export interface ContenderType {
  /** Name in the tables. */
  name: string;
  create(world: WorldBriefing): Contender;
}
