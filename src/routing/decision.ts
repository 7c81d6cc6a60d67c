import type { Cents, RatePpm } from '../domain/money.ts';
import type { Instant } from '../domain/records.ts';
import type { Environment, Route, RouteKind } from '../domain/route.ts';
import type { Candidate, Choice } from './choose.ts';
import type { Offset } from './context-offsets.ts';
import type { RuleEffect } from './evaluate-rules.ts';

type RouteParts =
  | 'id'
  | 'kind'
  | 'health'
  | 'buyerFeeRate'
  | 'gatewayFeeRate'
  | 'providerCostRate'
  | 'providerCostFixed'
  | 'etaMinutes';

/** Facts of one route at one time. Rates are parts per million. */
export interface RouteFacts extends Pick<Route, RouteParts> {
  /** Reason why the route is unavailable; null if it is available. */
  off: string | null;
  /** Description of the route's health, for a person. */
  words: string;
  /** True if the route is in standby and its probe is due. */
  probe: boolean;
  /** Estimate of the success rate: `p` is its value, `n` the number of outcomes, `low` and `high` the bounds of the 80 % interval. */
  p: number;
  n: number;
  low: number;
  high: number;
  /** Share of paid payments whose money never arrives or is taken back; absent if no loss is known. */
  lostRate?: RatePpm;
  triedAt: Instant | null;
}

/** All routes of an environment at one time, the basis of any number of decisions. Plain JSON. */
export interface Snapshot {
  id: string;
  at: Instant;
  environment: Environment;
  rulesVersion: number;
  routes: RouteFacts[];
}

/** Input of a decision in addition to the snapshot. Plain JSON without personal data. */
export interface DecisionInput {
  algorithm: string;
  /** `offer`: the quote of a new session. `attempt`: the route of a payment. */
  purpose: 'offer' | 'attempt';
  at: Instant;
  /** Seed of the random draws, the exploration budget (`tokens`) and permission to probe; null for an offer, which has no draws. */
  draw: { seed: string; sessionId: string; attempt: number; tokens: number; mayProbe: boolean } | null;
  /** Payment kind that the buyer chose; null for any. */
  kind: RouteKind | null;
  /** Payment kind that the merchant prefers; null for none. */
  preferredKind: RouteKind | null;
  amount: Cents | null;
  /** Routes that must not be used, with the reason: they do not take the amount, refused the attempt, or cost more than shown. */
  barred: Record<string, string>;
  /** Contexts of the payment in which a route fails more or less often than usual, by the id of the route. */
  offsets: Record<string, Offset[]>;
  /** Routes on which an earlier payment of the session failed. */
  failed: string[];
  effect: RuleEffect;
}

/**
 * `exploit`, `explore`, `floor`: see `Choice`. `probe`: the payment tests a route in standby. `rule`: an ordering rule chose the
 * route. `panic`: no route is usable, so a route in standby or an unavailable one is taken. `none`: no route was chosen.
 */
type DecisionMode = 'exploit' | 'explore' | 'floor' | 'probe' | 'rule' | 'panic' | 'none';

/** Scores and rank of one route in a decision. */
export interface DecidedCandidate {
  route: string;
  score: number;
  cost: number;
  /** Expected value as a fraction of the amount. `index` is the same with a randomly drawn success rate; null without a draw. */
  value: number;
  index: number | null;
  /** 1 is the chosen route; null if the route was excluded. */
  rank: number | null;
  /** Reason of the exclusion. */
  excluded: string | null;
}

/** Result of a decision, as it is stored. */
export interface DecisionOutput {
  mode: DecisionMode;
  chosen: string | null;
  /** The route that would be chosen without exploration. */
  greedy: string | null;
  reason: string;
  candidates: DecidedCandidate[];
  /** Expected value of the chosen route minus that of the next best, as a fraction of the amount; null without a next best. */
  gapTop2: number | null;
  /** Expected value lost by exploration, as a fraction of the amount. */
  exploreLoss: number;
  /** The remaining exploration budget; null for an offer. */
  tokensAfter: number | null;
}

/** A route during a decision. `p` includes the offsets of the payment; `excluded` is the reason of its exclusion, if any. */
export interface DecisionCandidate extends Candidate, RouteFacts {
  excluded: string | null;
}

/** The chosen route, before the output of the decision is composed. */
export interface Verdict {
  mode: DecisionMode;
  chosen: DecisionCandidate | undefined;
  greedy: DecisionCandidate | undefined;
  /** The rule that ordered the routes, if any. */
  rule?: string;
  /** The choice by random draws, if any. */
  choice?: Choice;
}
