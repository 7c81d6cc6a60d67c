import type { PaymentContexts } from '../../domain/payment-contexts.ts';
import type { OutcomeResult, RouteOutcome } from '../../domain/route-outcome.ts';
import type { Instant } from '../../domain/records.ts';
import { ENVIRONMENTS, type Environment, type RouteHealth } from '../../domain/route.ts';
import type { ContextOutcomes } from '../../routing/context-offsets.ts';
import { HOUR_SECONDS } from '../../routing/long-term-rate.ts';
import type { Tally } from '../../routing/route-memory.ts';
import { DEFAULT_POLICY } from '../../routing/routing-policy.ts';
import { type Row, type Select, type SelectEach, type SqlValue, filterKeyset } from '../keyset.ts';
import type { Page } from '../list-page.ts';
import { createReader } from '../row-reader.ts';
import {
  type ItemOf,
  defineTable,
  describeTable,
  flag,
  integer,
  json,
  named,
  orNull,
  saveVersions,
  text,
  textOf,
} from '../table-description.ts';
import { statement } from '../write-statement.ts';
import { addTallies } from './tally-sums.ts';

const BUCKET_MS = DEFAULT_POLICY.bucketSeconds * 1000;
const HOUR_MS = HOUR_SECONDS * 1000;
// Logarithms are stored as integer thousandths, because a sum of integers does not depend on the order of addition.
const LOG_SCALE = 1000;

export const OUTCOMES = describeTable<RouteOutcome>('route_outcomes', {
  paymentId: text,
  stage: text,
  environment: text,
  routeId: text,
  result: text,
  successes: integer,
  failures: integer,
  neutrals: integer,
  probe: flag,
  paidAfterMs: {
    type: 'BIGINT',
    column: 'log_ms',
    write: (ms) => (ms === null ? null : Math.round(Math.log(ms) * LOG_SCALE)),
    read: (stored) => (stored === null ? null : Math.exp((stored as number) / LOG_SCALE)),
  },
  created: integer,
  failure: text,
  contexts: {
    type: 'TEXT',
    write: (contexts) => (contexts === null ? null : JSON.stringify(contexts)),
    read: (stored) => (stored === null ? null : (JSON.parse(stored as string) as PaymentContexts)),
  },
});
/** Table of snapshots: the state of all routes on which decisions are based. */
export const SNAPSHOTS = defineTable('routing_snapshots', {
  id: text,
  environment: textOf<Environment>(),
  /** JSON. */
  body: text,
  created: integer,
});
/** Table of decisions, with their inputs except the snapshot. Sessions with the same quote share the decision of the quote. */
export const DECISIONS = defineTable('routing_decisions', {
  id: text,
  snapshotId: text,
  environment: textOf<Environment>(),
  sessionId: orNull(text),
  paymentId: orNull(text),
  /** JSON. */
  body: text,
  created: integer,
});
/** Table of the health of routes; `body` is the whole health record as JSON. */
const HEALTH = defineTable('route_health', {
  environment: textOf<Environment>(),
  routeId: text,
  version: integer,
  state: textOf<RouteHealth>(),
  body: text,
});
/** Table of health transitions: changes of the health of a route. */
const TRANSITIONS = defineTable('route_transitions', {
  id: text,
  environment: textOf<Environment>(),
  routeId: text,
  /** Version of the health after the change. */
  version: integer,
  from: named('from_state', textOf<RouteHealth>()),
  to: named('to_state', textOf<RouteHealth>()),
  cause: text,
  words: text,
  numbers: json<Record<string, number>>(),
  created: integer,
});
/** Table of the saved versions of the routing rules; `body` is the rule set as JSON. */
const RULES = defineTable('routing_rules', {
  version: integer,
  source: textOf<'api' | 'file'>(),
  body: text,
  created: integer,
});
/** Table of the estimates of all routes of an environment, which all instances share. */
const ESTIMATES = defineTable('route_estimates', {
  environment: textOf<Environment>(),
  /** `memoryVersion` of the policy; each version has its own row. */
  algorithm: text,
  foldedUntil: integer,
  /** JSON. */
  body: text,
});

export type RoutingSnapshot = ItemOf<typeof SNAPSHOTS>;
export type RoutingDecision = ItemOf<typeof DECISIONS>;
export type RouteHealthRow = ItemOf<typeof HEALTH>;
export type TransitionRecord = ItemOf<typeof TRANSITIONS>;
export type RulesVersion = ItemOf<typeof RULES>;
export type EstimateRecord = ItemOf<typeof ESTIMATES>;
export type RecentOutcome = ItemOf<typeof RESULTS>;

const insertSnapshot = SNAPSHOTS.insert({ onConflict: 'ON CONFLICT (id) DO NOTHING' });
const insertDecision = DECISIONS.insert({ onConflict: 'ON CONFLICT (id) DO NOTHING' });
const insertEstimates = ESTIMATES.insert({
  onConflict: 'ON CONFLICT (environment, algorithm) DO NOTHING',
  guard: 'overtaken',
});
const UPDATE_ESTIMATES =
  'UPDATE route_estimates SET folded_until = ?3, body = ?4 WHERE environment = ?1 AND algorithm = ?2 AND folded_until = ?5';

const sum = (value: string, name: string) => `CAST(SUM(${value}) AS BIGINT) AS ${name}`;
const ofProbes = (column: string) => `CASE WHEN outcome.probe = 1 THEN ${column} ELSE 0 END`;
const ofOthers = (column: string) => `CASE WHEN outcome.probe = 0 THEN ${column} ELSE 0 END`;

const SELECT_TALLIES = `SELECT outcome.created / ${BUCKET_MS} AS bucket, payment.created / ${HOUR_MS} AS start_hour,
    ${sum(ofOthers('successes'), 'successes')}, ${sum(ofOthers('failures'), 'failures')},
    ${sum(ofOthers('neutrals'), 'neutrals')},
    ${sum(ofProbes('successes'), 'probe_successes')}, ${sum(ofProbes('failures'), 'probe_failures')},
    COUNT(log_ms) AS timed, CAST(COALESCE(SUM(log_ms), 0) AS BIGINT) AS log_ms,
    CAST(COALESCE(SUM(log_ms * log_ms), 0) AS BIGINT) AS log_ms_squared
  FROM route_outcomes AS outcome JOIN payments AS payment ON payment.id = outcome.payment_id
  WHERE outcome.environment = ?1 AND outcome.route_id = ?2 AND outcome.created >= ?3 AND outcome.created < ?4
  GROUP BY outcome.created / ${BUCKET_MS}, payment.created / ${HOUR_MS} ORDER BY 1, 2`;
/** A tally of the payments that started in one hour. */
type HourlyTally = Omit<Tally, 'contexts' | 'starts'> & { startHour: number };
const TALLIES = describeTable<HourlyTally>('route_outcomes', {
  bucket: integer,
  startHour: integer,
  successes: integer,
  failures: integer,
  neutrals: integer,
  probeSuccesses: integer,
  probeFailures: integer,
  timed: integer,
  logMs: scaled(LOG_SCALE),
  logMsSquared: scaled(LOG_SCALE ** 2),
});
const SELECT_CONTEXTS = `SELECT created / ${BUCKET_MS} AS bucket, contexts,
    ${sum('successes', 'successes')}, ${sum('failures', 'failures')}
  FROM route_outcomes
  WHERE environment = ?1 AND route_id = ?2 AND created >= ?3 AND created < ?4 AND contexts IS NOT NULL AND probe = 0
  GROUP BY created / ${BUCKET_MS}, contexts ORDER BY 1, contexts`;
const CONTEXTS = describeTable<ContextOutcomes & { bucket: number }>('route_outcomes', {
  bucket: integer,
  contexts: json<PaymentContexts>(),
  successes: integer,
  failures: integer,
});
const SELECT_RECENT_RESULTS = `SELECT outcome.payment_id, outcome.result, outcome.probe, outcome.created, payment.session_id
  FROM route_outcomes AS outcome JOIN payments AS payment ON payment.id = outcome.payment_id
  WHERE outcome.environment = ?1 AND outcome.route_id = ?2 AND outcome.created >= ?3 AND outcome.stage <> 'end'
  ORDER BY outcome.created DESC, outcome.payment_id DESC, outcome.stage LIMIT ?4`;
/** Columns of an outcome that the health of a route depends on; a `probe` was made while the route was in standby. */
const RESULTS = defineTable('route_outcomes', {
  at: named('created', integer),
  result: textOf<OutcomeResult>(),
  paymentId: text,
  sessionId: text,
  probe: flag,
});
const SELECT_ESTIMATES = 'SELECT * FROM route_estimates WHERE environment = ?1 AND algorithm = ?2';
const SELECT_HEALTH = 'SELECT * FROM route_health ORDER BY environment, route_id';
const SELECT_RULES = 'SELECT * FROM routing_rules WHERE version = ?1';
const SELECT_NEWEST_RULES = 'SELECT * FROM routing_rules ORDER BY version DESC LIMIT 1';
export const SELECT_DECISIONS_OF_SESSION = 'SELECT * FROM routing_decisions WHERE session_id = ?1 ORDER BY id';

const insertOutcome = OUTCOMES.insert();
const insertTransition = TRANSITIONS.insert();
const insertRules = RULES.insert({ onConflict: 'ON CONFLICT (version) DO NOTHING', guard: 'overtaken' });
const saveHealth = saveVersions(HEALTH, {
  key: ['environment', 'routeId'],
  set: ['state', 'body'],
  guard: 'overtaken',
});

/** Changes of estimates, health, rules and decisions. */
export const routingWrites = {
  outcome_recorded: ({ outcome }: { outcome: RouteOutcome }) => insertOutcome(outcome),
  /** Inserts a snapshot; recording the same snapshot again changes nothing. */
  snapshot_recorded: ({ snapshot }: { snapshot: RoutingSnapshot }) => ({
    ...insertSnapshot(snapshot),
    locks: `0 ${snapshot.id}`,
  }),
  // Ignores a decision that is already stored, because the change sets of many sessions can contain the decision of one quote.
  decision_recorded: ({ decision }: { decision: RoutingDecision }) => ({
    ...insertDecision(decision),
    locks: decision.sessionId === null ? `1 ${decision.id}` : undefined,
  }),
  /** Guard: the stored version is the previous one. */
  route_health_changed: ({ health }: { health: RouteHealthRow }) => saveHealth(health),
  transition_recorded: ({ transition }: { transition: TransitionRecord }) => insertTransition(transition),
  /** Guard: the version is new. */
  rules_saved: ({ rules }: { rules: RulesVersion }) => insertRules(rules),
  /** Saves the estimates after new outcomes were added. Guard: the stored estimates end at `from`; null for the first save. */
  estimates_folded: ({ estimates, from }: { estimates: EstimateRecord; from: Instant | null }) =>
    from === null
      ? insertEstimates(estimates)
      : statement(UPDATE_ESTIMATES, [...ESTIMATES.values(estimates), from], 'overtaken'),
};

export function createRoutingReads(select: Select, selectEach: SelectEach) {
  const { one, find, all, list } = createReader(select);
  async function each<Item>(fromRow: (row: Row) => Item, sql: string, paramsOfEach: SqlValue[][]) {
    const found = await selectEach(paramsOfEach.map((params) => ({ sql, params })));
    return found.map((rows) => rows.map(fromRow));
  }
  return {
    /** Sums of the outcomes of each route between `from` and `until`, one per time bucket, oldest first. */
    async outcomeTallies(environment: Environment, routeIds: readonly string[], from: Instant, until: Instant) {
      const params = routeIds.map((id) => [environment, id, from, until]);
      return (await each(TALLIES.fromRow, SELECT_TALLIES, params)).map(byBucket);
    },
    /** Successes and failures of each route between `from` and `until`, by time bucket and contexts, oldest first. */
    outcomeContexts(environment: Environment, routeIds: readonly string[], from: Instant, until: Instant) {
      const params = routeIds.map((id) => [environment, id, from, until]);
      return each(CONTEXTS.fromRow, SELECT_CONTEXTS, params);
    },
    /** At most `limit` outcomes of each route since its `since`, newest first. */
    recentResults(environment: Environment, routes: readonly { id: string; since: Instant }[], limit: number) {
      const params = routes.map(({ id, since }) => [environment, id, since, limit]);
      return each(RESULTS.fromRow, SELECT_RECENT_RESULTS, params);
    },
    routeEstimates: (environment: Environment, algorithm: string) =>
      one(ESTIMATES.fromRow, SELECT_ESTIMATES, environment, algorithm),
    routeHealth: () => all(HEALTH.fromRow, SELECT_HEALTH),
    listTransitions({ environment, routeId: route_id }: TransitionFilter, page: Page) {
      const keyset = filterKeyset('route_transitions', { environment, route_id }, { environment: ENVIRONMENTS });
      return list(keyset, page, TRANSITIONS.fromRow);
    },
    /** The newest rules, or the rules of one version. */
    routingRules: (version?: number) =>
      version === undefined ? one(RULES.fromRow, SELECT_NEWEST_RULES) : one(RULES.fromRow, SELECT_RULES, version),
    routingSnapshot: (id: string) => find(SNAPSHOTS, id),
    routingDecision: (id: string) => find(DECISIONS, id),
    /** Decisions of a session's attempts, oldest first, without the decision of its quote. */
    routingDecisionsOfSession: (sessionId: string) => all(DECISIONS.fromRow, SELECT_DECISIONS_OF_SESSION, sessionId),
    /** Decisions of the attempts in an environment, newest first, without the decisions of quotes. */
    listRoutingDecisions(environment: Environment, page: Page) {
      const keyset = { table: 'routing_decisions', equals: { environment }, oneOf: {}, notNull: 'session_id' };
      return list(keyset, page, DECISIONS.fromRow);
    },
  };
}

/** One tally for each bucket, without contexts, in the order of the buckets. */
function byBucket(hourly: readonly HourlyTally[]): Tally[] {
  const tallies = new Map<number, Tally>();
  for (const { startHour: hour, ...sums } of hourly) {
    const { bucket, successes, failures, neutrals } = sums;
    const tally = { ...sums, contexts: [], starts: [{ hour, successes, failures, neutrals }] };
    const before = tallies.get(bucket);
    tallies.set(bucket, before ? addTallies(before, tally) : tally);
  }
  return [...tallies.values()];
}

interface TransitionFilter {
  environment?: Environment;
  routeId?: string;
}

function scaled(scale: number) {
  return {
    type: 'BIGINT' as const,
    write: (value: number) => value * scale,
    read: (stored: SqlValue) => (stored as number) / scale,
  };
}
