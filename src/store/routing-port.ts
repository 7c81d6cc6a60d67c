import type { Instant } from '../domain/records.ts';
import type { OutcomeResult, RouteOutcome } from '../domain/route-outcome.ts';
import type { Tally } from '../routing/route-memory.ts';
import type { PageResult, Page } from './list-page.ts';
import type { Environment, RouteHealth } from '../domain/route.ts';

/** One result of a route. */
export interface RecentResult {
  at: Instant;
  result: OutcomeResult;
  paymentId: string;
  sessionId: string;
  /** The attempt was made while the route was in standby. */
  probe: boolean;
}

/** Estimates of an environment's routes at a time, shared by all instances. */
export interface EstimateRecord {
  environment: Environment;
  /** Algorithm of the estimates: each has its own. */
  algorithm: string;
  foldedUntil: Instant;
  /** JSON. */
  body: string;
}

/** Stored health of a route; `body` is the whole health record as JSON. */
export interface RouteHealthRow {
  environment: Environment;
  routeId: string;
  version: number;
  state: RouteHealth;
  body: string;
}

/** A past change of a route's health. */
export interface TransitionRecord {
  id: string;
  environment: Environment;
  routeId: string;
  /** Version of the health after the change. */
  version: number;
  from: RouteHealth;
  to: RouteHealth;
  cause: string;
  words: string;
  numbers: Record<string, number>;
  created: Instant;
}

interface TransitionFilter {
  environment?: Environment;
  routeId?: string;
}

/** One saved state of the routing rules; `body` is the rule set as JSON. */
export interface RulesVersion {
  version: number;
  source: 'api' | 'file';
  body: string;
  created: Instant;
}

/** Facts about the routes that decisions are based on. */
export interface RoutingSnapshot {
  id: string;
  environment: Environment;
  /** JSON. */
  body: string;
  created: Instant;
}

/** A decision with its inputs but for the snapshot; an offer is shared by its sessions. */
export interface RoutingDecision {
  id: string;
  snapshotId: string;
  environment: Environment;
  sessionId: string | null;
  paymentId: string | null;
  /** JSON. */
  body: string;
  created: Instant;
}

/** Changes of estimates, health, rules and decisions. */
export type RoutingChange =
  | { type: 'outcome_recorded'; outcome: RouteOutcome }
  /** Written once; recording the same one again changes nothing. */
  | { type: 'snapshot_recorded'; snapshot: RoutingSnapshot }
  | { type: 'decision_recorded'; decision: RoutingDecision }
  /** Guarded by the version before. */
  | { type: 'route_health_changed'; health: RouteHealthRow }
  | { type: 'transition_recorded'; transition: TransitionRecord }
  /** Guarded by being the version after the newest. */
  | { type: 'rules_saved'; rules: RulesVersion }
  /** Guarded by the end `from` of the previous fold; null for the first. */
  | { type: 'estimates_folded'; estimates: EstimateRecord; from: Instant | null };

export interface RoutingReads {
  /** Sums of the outcomes of each of these routes from then until then, by bucket, oldest first. */
  outcomeTallies(
    environment: Environment,
    routeIds: readonly string[],
    from: Instant,
    until: Instant,
  ): Promise<Tally[][]>;
  /** The newest results of each of these routes since then, `limit` at most, newest first. */
  recentResults(
    environment: Environment,
    routes: readonly { id: string; since: Instant }[],
    limit: number,
  ): Promise<RecentResult[][]>;
  routeEstimates(environment: Environment, algorithm: string): Promise<EstimateRecord | undefined>;
  routeHealth(): Promise<RouteHealthRow[]>;
  listTransitions(filter: TransitionFilter, page: Page): Promise<PageResult<TransitionRecord>>;
  /** The newest rules, or those of one version. */
  routingRules(version?: number): Promise<RulesVersion | undefined>;
  routingSnapshot(id: string): Promise<RoutingSnapshot | undefined>;
  routingDecision(id: string): Promise<RoutingDecision | undefined>;
  /** Decisions of the attempts, oldest first; the session names its offer. */
  routingDecisionsOfSession(sessionId: string): Promise<RoutingDecision[]>;
  /** Decisions of the attempts of an environment. */
  listRoutingDecisions(environment: Environment, page: Page): Promise<PageResult<RoutingDecision>>;
}
