import type { RouteHealth } from './types-agent.ts';
import type { PageParams } from './types-requests.ts';
import type { Objective, RuleSet } from './types-rules.ts';
import type { Environment, Metadata, RouteKind, Timestamp } from './types.ts';

/** A route as one decision saw it. */
export interface RoutingCandidate {
  /** The id of the route. */
  route: string;
  kind: RouteKind;
  /** Its health then; `standby` where it could not be used at all. */
  health: RouteHealth;
  /** 0 to 100, higher is better: expected value as published, without any draw. */
  score: number;
  /** Share of attempts expected to succeed. A fraction: 0.93 is 93 %. */
  expectedSuccess: number;
  /** `expectedSuccess` lies above this fraction and below `high` in four cases out of five. */
  low: number;
  high: number;
  /** How many outcomes that rests on: older ones weigh less, and what was configured counts too. */
  outcomes: number;
  /** What it costs by the objective, as a fraction of the amount. */
  cost: number;
  /** How long a payment takes, in minutes. */
  etaMinutes: number;
  /** Expected value, as a fraction of the amount. */
  value: number;
  /** The same with the draw in it: what was compared. null where nothing was drawn. */
  index: number | null;
  /** 1 is the chosen one; null where it was excluded. */
  rank: number | null;
  /** Why it could not be chosen, in words; null where it could. */
  excluded: string | null;
}

/** What a decision is made of, real or supposed. */
export interface RoutingVerdict {
  environment: Environment;
  /** `offer`: what the session was quoted at its creation. `attempt`: where its buyer was sent. */
  purpose: 'offer' | 'attempt';
  /** Which version of the algorithm decided. */
  algorithm: string;
  /** The version of the routing rules; 0 for none. */
  rulesVersion: number;
  /**
   * `exploit`: the best known. `explore`: another, to learn. `floor`: the one tried least recently. `probe`: one in
   * standby, to see whether it is back. `rule`: first by a rule. `panic`: nothing but standby was left. `none`: no route.
   */
  mode: 'exploit' | 'explore' | 'floor' | 'probe' | 'rule' | 'panic' | 'none';
  /** The id of the route; null for none. */
  chosen: string | null;
  /** What would have been chosen without exploring; null for none. */
  greedy: string | null;
  /** Why, in one sentence. */
  reason: string;
  /** The kind that the buyer chose, or null. */
  kind: RouteKind | null;
  /** The kind that the merchant prefers, or null. */
  preferredKind: RouteKind | null;
  /** Every route of the environment. */
  candidates: RoutingCandidate[];
  /** The rules that applied, first to last, and what each did. */
  rules: { id: string; effect: string }[];
  /** How far the first is ahead of the second in value, as a fraction; null without a second. */
  gapTop2: number | null;
  /** What exploring gave up in expected value, as a fraction of the amount. */
  exploreLoss: number;
}

/** One decision with everything that it was made of. */
export interface RoutingDecision extends RoutingVerdict {
  /** Starts with `dec_`. */
  id: string;
  object: 'routing_decision';
  /** The attempt, `pay_...`; null for an offer. */
  paymentId: string | null;
  created: Timestamp;
  /** What was known of the routes; the same for decisions that knew the same. */
  snapshot: string;
  /** When that was read. */
  snapshotAt: Timestamp;
  /** What the draws follow from; null where nothing was drawn. */
  seed: string | null;
  /** Exploration budget before it, as a fraction of one ticket; null where none was asked for. */
  tokensBefore: number | null;
  /** The same after it. */
  tokensAfter: number | null;
}

export interface RoutingDecisions {
  object: 'routing_decisions';
  sessionId: string;
  /** The offer first, then each attempt and failover, oldest first. */
  decisions: RoutingDecision[];
}

export interface RoutingReplay {
  object: 'routing_replay';
  sessionId: string;
  /** Whether every decision, made again, gave the same bytes. */
  identical: boolean;
  decisions: {
    /** Starts with `dec_`. */
    id: string;
    identical: boolean;
    /** What was chosen. */
    chosen: string | null;
    /** What is chosen when it is made again. */
    again: string | null;
    /** Why it cannot be the same, where that is known; else null. */
    note: string | null;
  }[];
}

/** A checkout to suppose. */
export interface DryRunParams {
  /** Default `Dry run`. */
  product?: string | undefined;
  /** US dollars, not cents: more than 0, at most 10000, at most two decimals. */
  amount: number;
  /** Default `buyer@example.com`. */
  customer?: string | undefined;
  preferredRoute?: RouteKind | undefined;
  metadata?: Metadata | undefined;
  /** 3 to 120 characters. */
  clientReferenceId?: string | undefined;
  /** Default `sandbox`. */
  environment?: Environment | undefined;
  /** Suppose that the buyer chose this way to pay; without it, what is offered. */
  kind?: RouteKind | undefined;
  /** Suppose these rules instead of the saved ones: a `RuleSet`. What is wrong with it is told, not refused by types. */
  rules?: unknown;
}

export interface RoutingDryRun extends RoutingVerdict {
  object: 'routing_dry_run';
  /** The code of the rule that refuses the checkout; null where none does. */
  rejected: string | null;
  /** Likely mistakes in the rules of the request; empty without rules. */
  warnings: RuleWarning[];
}

/** A valid rule that is likely a mistake. */
export interface RuleWarning {
  /** Dotted path of the rule or its part: `rules.2.then.smart`. */
  path: string;
  /** `rejects_all`, `no_route_left`, `dead_rule` or `dead_ordering`; warnings about saved rules can also have error codes. */
  code: string;
  message: string;
}

/** Past payments to route again. */
export interface BacktestParams {
  /** Default `sandbox`. */
  environment?: Environment | undefined;
  /** The rule set to try; without it, the saved one. */
  rules?: unknown;
  /** What a paid payment is worth where no rule says so, as a fraction of its amount: more than 0, at most 1. */
  margin?: number | undefined;
  /** Whose cost counts where no rule says so. */
  objective?: Objective | undefined;
  /** How many decisions, the newest first: 1 to 1000. Default 200. */
  limit?: number | undefined;
}

/** Expected success and cost of a set of decisions: means, as fractions. */
export interface BacktestTotals {
  expectedSuccess: number;
  cost: number;
}

export interface RoutingBacktest {
  object: 'routing_backtest';
  environment: Environment;
  /** How many were made again. */
  decisions: number;
  /** How many of them fell differently. */
  different: number;
  was: BacktestTotals;
  wouldBe: BacktestTotals;
  /** The first 100 that differ, newest first. */
  changes: {
    sessionId: string;
    paymentId: string;
    created: Timestamp;
    was: string | null;
    wouldBe: string | null;
    /** Why, in one sentence. */
    reason: string;
  }[];
}

/** The rules of an operator, with their version. */
export interface RoutingRules {
  object: 'routing_rules';
  /** Grows with every change; 0 where no rules were ever saved. */
  version: number;
  /** Where they came from. Rules of a `file` cannot be saved by the API. */
  source: 'none' | 'api' | 'file';
  ruleSet: RuleSet;
  /** What is allowed and probably not meant. */
  warnings: RuleWarning[];
  /** When this version was saved; null for none. */
  created: Timestamp | null;
}

/** A route as the router knows it. */
export interface RoutingRoute {
  id: string;
  object: 'routing_route';
  environment: Environment;
  kind: RouteKind;
  /** Its health now. */
  health: RouteHealth;
  /** Its health in words, with the cause. */
  words: string;
  /** Since when. */
  since: Timestamp;
  /** In standby: when it may be tried again; else null. */
  retryAt: Timestamp | null;
  /** What the operator decided over it, until when (null: until it is set to automatic); null for nothing. */
  override: { health: RouteHealth; until: Timestamp | null; reason: string } | null;
  /** 0 to 100, higher is better. */
  score: number;
  /** Share of attempts expected to succeed. A fraction: 0.93 is 93 %. */
  expectedSuccess: number;
  /** `expectedSuccess` lies above this fraction and below `high` in four cases out of five. */
  low: number;
  high: number;
  /** How many outcomes that rests on: older ones weigh less, and what was configured counts too. */
  outcomes: number;
  /** The buyer's fee. A fraction: 0.029 is 2.9 %. */
  buyerFeeRate: number;
  /** The gateway's fee. A fraction: 0.029 is 2.9 %. */
  gatewayFeeRate: number;
  /** What the provider charges. A fraction: 0.029 is 2.9 %. */
  providerCostRate: number;
  /** About when an attempt over it last ended; null for never. */
  lastOutcomeAt: Timestamp | null;
}

/** What an operator sets over the health of a route. */
export interface HealthOverrideParams {
  /** `standby` takes the route out of use; `automatic` gives it back to the health machine. */
  health: RouteHealth | 'automatic';
  /** When it ends by itself: ISO 8601 with an offset or Z, in the future. Left out: not by itself. */
  until?: Timestamp | undefined;
  /** Why, for those who read it later: 1 to 200 characters. */
  reason?: string | undefined;
}

/** A change of the health of a route. */
export interface RoutingTransition {
  /** Starts with `rtr_`. */
  id: string;
  object: 'routing_transition';
  routeId: string;
  environment: Environment;
  from: RouteHealth;
  to: RouteHealth;
  /** Why, for programs. */
  cause: string;
  /** The same for people. */
  words: string;
  /** What it was decided on; shares are fractions. */
  numbers: Record<string, number>;
  created: Timestamp;
}

export interface TransitionListParams extends PageParams {
  /** Only changes of this route. */
  routeId?: string | undefined;
  /** Left out: both. */
  environment?: Environment | undefined;
}

export interface RoutingRouteListParams {
  /** Left out: both. */
  environment?: Environment | undefined;
}
