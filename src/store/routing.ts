import type { Instant } from '../domain/records.ts';
import type { OutcomeResult, RouteOutcome } from '../domain/outcome.ts';
import type { Tally } from '../routing/memory.ts';
import type { Listed, Page } from './page.ts';
import type { Environment, RouteHealth } from '../domain/route.ts';

/** One thing that a route has shown. */
export interface RecentResult {
  at: Instant;
  result: OutcomeResult;
  paymentId: string;
  sessionId: string;
  /** The attempt was made while the route was in standby. */
  probe: boolean;
}

/** What was known of an environment's routes at a time, from which everybody counts on. */
export interface EstimateRecord {
  environment: Environment;
  /** By which they were computed: others have their own. */
  algorithm: string;
  foldedUntil: Instant;
  /** JSON. */
  body: string;
}

/** The health of a route as it is stored; `body` is the whole record of the machine, as JSON. */
export interface RouteHealthRow {
  environment: Environment;
  routeId: string;
  version: number;
  state: RouteHealth;
  body: string;
}

/** A change of a route's health that was. */
export interface TransitionRecord {
  id: string;
  environment: Environment;
  routeId: string;
  /** That of the health after it. */
  version: number;
  from: RouteHealth;
  to: RouteHealth;
  cause: string;
  words: string;
  numbers: Record<string, number>;
  created: Instant;
}

export interface TransitionFilter {
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

/** What was known of the routes when decisions were made on it. */
export interface RoutingSnapshot {
  id: string;
  environment: Environment;
  /** JSON. */
  body: string;
  created: Instant;
}

/** A decision with everything that it was made of but the snapshot; an offer is shared by the sessions that got it. */
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
  /** Written once; whoever needs it afterwards may bring it along again. */
  | { type: 'snapshot_recorded'; snapshot: RoutingSnapshot }
  | { type: 'decision_recorded'; decision: RoutingDecision }
  /** Guarded by the version before. */
  | { type: 'route_health_changed'; health: RouteHealthRow }
  | { type: 'transition_recorded'; transition: TransitionRecord }
  /** Guarded by being the version after the newest. */
  | { type: 'rules_saved'; rules: RulesVersion }
  /** Guarded by the time `from` up to which they were folded; null where they never were. */
  | { type: 'estimates_folded'; estimates: EstimateRecord; from: Instant | null };

export interface RoutingReads {
  /** What the outcomes of each of these routes add up to from then until then, bucket by bucket, oldest first. */
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
  listTransitions(filter: TransitionFilter, page: Page): Promise<Listed<TransitionRecord>>;
  /** The newest rules, or those of one version. */
  routingRules(version?: number): Promise<RulesVersion | undefined>;
  routingSnapshot(id: string): Promise<RoutingSnapshot | undefined>;
  routingDecision(id: string): Promise<RoutingDecision | undefined>;
  /** Those of the attempts, oldest first; what was offered stands in the session. */
  routingDecisionsOfSession(sessionId: string): Promise<RoutingDecision[]>;
  /** Those of the attempts of an environment. */
  listRoutingDecisions(environment: Environment, page: Page): Promise<Listed<RoutingDecision>>;
}
