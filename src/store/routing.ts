import type { Instant } from '../domain/records.ts';
import type { OutcomeResult } from '../domain/outcome.ts';
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
