import { type RouteSummary, renderRoute } from '../../contract/route-contract.ts';
import type { NewId } from '../../domain/id.ts';
import type { Instant } from '../../domain/records.ts';
import { type Environment, ROUTE_KINDS, type Route, type RouteHealth, type RouteKind } from '../../domain/route.ts';
import { publishedScoreOf } from '../../routing/choose.ts';
import type { DecisionOutput, RouteFacts, Snapshot } from '../../routing/decision.ts';
import { type RouteEstimate, estimateRoutes } from '../../routing/estimate.ts';
import type { CompiledRules } from '../../routing/evaluate-rules.ts';
import { canProbe } from '../../routing/health-probe.ts';
import { type HealthRecord, effectiveState, isDisabled } from '../../routing/health-record.ts';
import { costOf, valueOf } from '../../routing/objective.ts';
import type { RouteMoney } from '../../routing/route-money.ts';
import { DEFAULT_POLICY } from '../../routing/routing-policy.ts';
import type { RoutingDecision } from '../../store/tables/routing-tables.ts';
import { type Estimates, priorsOf } from './read-estimates.ts';

const PPM = 1_000_000;
// Longest use of one snapshot. If the database has lost the snapshot, for example in a failover to a standby server, a new one is
// written after this time.
const MAX_SNAPSHOT_AGE_MS = 60_000;

/** Current state of a route. */
export interface RouteView {
  route: Route;
  health: HealthRecord;
  facts: RouteFacts;
  summary: RouteSummary;
  money: RouteMoney;
  /** Usual median of the time to paid; null if it is unknown. */
  medianSeconds: number | null;
}

/** Snapshot of an environment's routes, the base of the next decisions. */
export interface RoutingView {
  snapshot: Snapshot;
  rules: CompiledRules;
  /** Routes by id. */
  routes: ReadonlyMap<string, RouteView>;
  /** The kinds, ordered by the configured values of their best routes, so that outcomes do not change the order. */
  kinds: readonly RouteKind[];
  /** Routes, the best one first, without regard to a preferred kind. */
  ranked: readonly RouteView[];
  /** Failures of the routes by context. */
  ratios: Estimates['ratios'];
  /** Cached quotes of this view, by the rest of their input. */
  quotes: Map<string, Quote>;
  /** True once the snapshot is stored. */
  isRecorded: boolean;
  /** True once a payment of this process has claimed a probe; the next refresh shows whether the claim was committed. */
  isProbed: boolean;
}

/** The best route for a request on a view, without exploration; shared by equal requests. */
export interface Quote {
  view: RoutingView;
  route: RouteView | undefined;
  output: DecisionOutput;
  decision: RoutingDecision;
  /** True once the decision is stored. */
  isRecorded: boolean;
}

export interface ViewSource {
  environment: Environment;
  at: Instant;
  routes: readonly Route[];
  /** Reason why the provider of a route cannot be used; null if it can be used. */
  providerReason(route: Route): string | null;
  healthOf(route: Route): HealthRecord;
  estimates: Estimates;
  moneyOf(route: Route): RouteMoney;
  rules: { compiled: CompiledRules; version: number };
  newId: NewId;
  /** The previous view, which is returned if nothing has changed. */
  before: RoutingView | undefined;
}

/** Builds the view of an environment. Returns the previous view if nothing has changed and its snapshot is recent. */
export function buildView(source: ViewSource): RoutingView {
  const { environment, at, routes, estimates, rules, before } = source;
  const found = estimateRoutes(estimates.states, priorsOf(routes), at, DEFAULT_POLICY);
  const known = routes.map((route) => knownRoute(source, route, found.get(route.id)!));
  const facts = known.map((one) => one.facts);
  const isYoung = before !== undefined && at - before.snapshot.at < MAX_SNAPSHOT_AGE_MS;
  if (
    isYoung &&
    before.rules === rules.compiled &&
    before.ratios === estimates.ratios &&
    known.every((one) => isSameRecord(one, before.routes.get(one.route.id))) &&
    JSON.stringify(before.snapshot.routes) === JSON.stringify(facts)
  ) {
    return before;
  }
  const snapshot = { id: source.newId('snp'), at, environment, rulesVersion: rules.version, routes: facts };
  return {
    snapshot,
    rules: rules.compiled,
    routes: new Map(known.map((one) => [one.route.id, one])),
    kinds: kindsOf(known),
    ranked: known.toSorted(
      (a, b) =>
        rankOf(a.summary.health) - rankOf(b.summary.health) ||
        b.summary.score - a.summary.score ||
        (a.route.id < b.route.id ? -1 : 1),
    ),
    ratios: estimates.ratios,
    quotes: new Map(),
    isRecorded: false,
    isProbed: false,
  };
}

function kindsOf(known: readonly RouteView[]): RouteKind[] {
  const { objective } = DEFAULT_POLICY;
  const configured = ({ route }: RouteView) =>
    valueOf(route.successRate / PPM, costOf(route, objective.weights), route.etaMinutes, objective);
  const available = known.filter(({ facts }) => facts.off === null);
  const byKind = Map.groupBy(available, ({ route }) => route.kind);
  const best = (kind: RouteKind) => Math.max(...byKind.get(kind)!.map(configured));
  return ROUTE_KINDS.filter((kind) => byKind.has(kind)).toSorted((a, b) => best(b) - best(a));
}

/** Routes in standby come last, whatever their score. Degraded routes need no rank of their own, because their score is lower already. */
function rankOf(health: RouteHealth): number {
  return health === 'standby' ? 1 : 0;
}

function knownRoute(source: ViewSource, route: Route, found: RouteEstimate): RouteView {
  const { at } = source;
  const health = source.healthOf(route);
  const off = offWords(source, route, health);
  const money = source.moneyOf(route);
  const facts: RouteFacts = {
    id: route.id,
    kind: route.kind,
    health: off === null ? effectiveState(health, at) : 'standby',
    off,
    words: health.words,
    probe: off === null && canProbe(health, at),
    p: found.p,
    n: found.n,
    low: found.low,
    high: found.high,
    buyerFeeRate: route.buyerFeeRate,
    gatewayFeeRate: route.gatewayFeeRate,
    providerCostRate: money.providerCostRate,
    ...(route.providerCostFixed !== undefined && { providerCostFixed: route.providerCostFixed }),
    ...(money.lostRate > 0 && { lostRate: money.lostRate }),
    etaMinutes: route.etaMinutes,
    triedAt: found.lastOutcomeAt,
  };
  const { weights } = DEFAULT_POLICY.objective;
  const candidate = { ...facts, eligible: true, failed: false, cost: costOf(facts, weights) };
  const summary = renderRoute({ ...route, health: facts.health }, publishedScoreOf(candidate, DEFAULT_POLICY));
  return { route, health, facts, summary, money, medianSeconds: found.latency.medianSeconds };
}

function offWords({ at, providerReason }: ViewSource, route: Route, health: HealthRecord): string | null {
  if (isDisabled(health, at)) {
    return health.cause === 'disabled_in_catalogue'
      ? 'disabled in the catalogue'
      : `disabled by the operator: ${health.manual!.reason}`;
  }
  return providerReason(route);
}

function isSameRecord({ route, health }: RouteView, before: RouteView | undefined): boolean {
  return before?.route === route && before.health.version === health.version;
}
