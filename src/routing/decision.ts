import type { Cents } from '../domain/money.ts';
import type { Instant } from '../domain/records.ts';
import type { Environment, Route, RouteKind } from '../domain/route.ts';
import type { Candidate, Standing } from './choose.ts';
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
  /** Description of its health. */
  words: string;
  /** True if the route is in standby and its probe is due. */
  probe: boolean;
  p: number;
  n: number;
  low: number;
  high: number;
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
  /** Seed of the draws and the exploration budget; null for an offer, which has no draws. */
  draw: { seed: string; sessionId: string; attempt: number; tokens: number; mayProbe: boolean } | null;
  /** The buyer's choice. */
  kind: RouteKind | null;
  /** The merchant's preference. */
  preferredKind: RouteKind | null;
  amount: Cents | null;
  /** Routes that must not be used, with the reason: they do not take the amount, refused the attempt, or cost more than shown. */
  barred: Record<string, string>;
  effect: RuleEffect;
}

type DecisionMode = 'exploit' | 'explore' | 'floor' | 'probe' | 'rule' | 'panic' | 'none';

/** Result of one route. */
export interface DecidedCandidate {
  route: string;
  score: number;
  cost: number;
  /** Expected value, and the value with the drawn success rate (null without a draw), as fractions of the amount. */
  value: number;
  index: number | null;
  /** 1 is the chosen route; null if the route was excluded. */
  rank: number | null;
  /** Reason of the exclusion. */
  excluded: string | null;
}

export interface DecisionOutput {
  mode: DecisionMode;
  chosen: string | null;
  /** The choice without exploration. */
  greedy: string | null;
  reason: string;
  candidates: DecidedCandidate[];
  /** Lead of the first over the second in expected value, as a fraction of the amount; null without a second. */
  gapTop2: number | null;
  /** Loss of expected value by exploring, as a fraction of the amount. */
  exploreLoss: number;
  /** The remaining exploration budget; null for an offer. */
  tokensAfter: number | null;
}

export interface DecisionCandidate extends Candidate {
  facts: RouteFacts;
  excluded: string | null;
}

export interface Verdict {
  mode: DecisionMode;
  chosen: DecisionCandidate | undefined;
  greedy: DecisionCandidate | undefined;
  /** The rule that ordered the routes, if any. */
  rule: string | null;
  loss: number;
  tokensAfter: number | null;
  standings: readonly Standing[];
}
