import type { Instant } from '../domain/records.ts';
import type { OutcomeResult } from '../domain/route-outcome.ts';
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
