import type { Cents } from '../domain/money.ts';
import type { Instant } from '../domain/records.ts';
import type { Environment, RouteHealth, RouteKind } from '../domain/route.ts';
import type { Candidate, Standing } from './choose.ts';
import type { RuleEffect } from './evaluate-rules.ts';

/** What is known of one route at one moment. Rates are parts per million. */
export interface RouteFacts {
  id: string;
  kind: RouteKind;
  health: RouteHealth;
  /** Why nothing may be sent over it at all, in words; null where something may. */
  off: string | null;
  /** Its health, in words. */
  words: string;
  /** In standby, and due to be tried again with one payment. */
  probe: boolean;
  p: number;
  n: number;
  low: number;
  high: number;
  buyerFeeRate: number;
  gatewayFeeRate: number;
  providerCostRate: number;
  etaMinutes: number;
  triedAt: Instant | null;
}

/** All routes of an environment at one moment: what any number of decisions are made on. Plain JSON. */
export interface Snapshot {
  id: string;
  at: Instant;
  environment: Environment;
  rulesVersion: number;
  routes: RouteFacts[];
}

/** What a decision is made of besides the snapshot. Plain JSON, and nothing in it names a person. */
export interface DecisionInput {
  algorithm: string;
  /** `offer` is what a session is quoted when it is created; `attempt` is where its buyer is sent. */
  purpose: 'offer' | 'attempt';
  at: Instant;
  /** What the draws follow from, and the budget there is for exploring; nothing is drawn for an offer. */
  draw: { seed: string; sessionId: string; attempt: number; tokens: number; mayProbe: boolean } | null;
  /** The kind that the buyer has chosen. */
  kind: RouteKind | null;
  /** The kind that the merchant prefers. */
  preferredKind: RouteKind | null;
  amount: Cents | null;
  /** Routes that this attempt may not take, and why in words: refused already, or dearer than the buyer was shown. */
  barred: Record<string, string>;
  effect: RuleEffect;
}

export type DecisionMode = 'exploit' | 'explore' | 'floor' | 'probe' | 'rule' | 'panic' | 'none';

/** How one route fared. */
export interface DecidedCandidate {
  route: string;
  score: number;
  cost: number;
  /** Expected value, and that with the draw in it, as fractions of the amount; null where nothing was drawn. */
  value: number;
  index: number | null;
  /** 1 is the one that was chosen; null where it was excluded. */
  rank: number | null;
  /** Why it could not be chosen, in words. */
  excluded: string | null;
}

export interface DecisionOutput {
  mode: DecisionMode;
  chosen: string | null;
  /** What would have been chosen without exploration. */
  greedy: string | null;
  reason: string;
  candidates: DecidedCandidate[];
  /** How far the first is ahead of the second in expected value, as a fraction of the amount; null without a second. */
  gapTop2: number | null;
  /** What exploration gives up in expected value, as a fraction of the amount. */
  exploreLoss: number;
  /** The exploration budget that is left; null where none was asked for. */
  tokensAfter: number | null;
}

/** One route while it is decided about. */
export interface Contestant extends Candidate {
  /** What the decision knows of it. */
  facts: RouteFacts;
  excluded: string | null;
}

export interface Verdict {
  mode: DecisionMode;
  chosen: Contestant | undefined;
  greedy: Contestant | undefined;
  /** The rule that ordered the routes, where one did. */
  rule: string | null;
  loss: number;
  tokensAfter: number | null;
  standings: readonly Standing[];
}
