import type { RouteOutcome } from '../../domain/outcome.ts';
import type { Instant } from '../../domain/records.ts';
import { ENVIRONMENTS, type Environment } from '../../domain/route.ts';
import type { Tally } from '../../routing/memory.ts';
import { DEFAULT_POLICY } from '../../routing/policy.ts';
import type { KeysetQuery, Row } from '../keyset.ts';
import type {
  EstimateRecord,
  RecentResult,
  RouteHealthRow,
  RoutingDecision,
  RoutingSnapshot,
  RulesVersion,
  TransitionFilter,
  TransitionRecord,
} from '../routing.ts';
import { type Write, insertSql } from '../write.ts';

const BUCKET_MS = DEFAULT_POLICY.bucketSeconds * 1000;
// Logarithms are kept as thousandths: sums of whole numbers are the same in whatever order they are made.
const LOG_SCALE = 1000;

const INSERT_OUTCOME = insertSql('route_outcomes', [
  'payment_id',
  'stage',
  'environment',
  'route_id',
  'result',
  'successes',
  'failures',
  'neutrals',
  'probe',
  'log_ms',
  'created',
]);
const INSERT_SNAPSHOT = insertSql(
  'routing_snapshots',
  ['id', 'environment', 'body', 'created'],
  'ON CONFLICT (id) DO NOTHING',
);
const INSERT_DECISION = insertSql(
  'routing_decisions',
  ['id', 'snapshot_id', 'environment', 'session_id', 'payment_id', 'body', 'created'],
  'ON CONFLICT (id) DO NOTHING',
);
const INSERT_HEALTH = insertSql(
  'route_health',
  ['environment', 'route_id', 'version', 'state', 'body'],
  'ON CONFLICT (environment, route_id) DO NOTHING',
);
const UPDATE_HEALTH = `UPDATE route_health SET version = ?3, state = ?4, body = ?5
  WHERE environment = ?1 AND route_id = ?2 AND version = ?3 - 1`;
const INSERT_TRANSITION = insertSql('route_transitions', [
  'id',
  'environment',
  'route_id',
  'version',
  'from_state',
  'to_state',
  'cause',
  'words',
  'numbers',
  'created',
]);
const INSERT_RULES = insertSql(
  'routing_rules',
  ['version', 'source', 'body', 'created'],
  'ON CONFLICT (version) DO NOTHING',
);
const INSERT_ESTIMATES = insertSql(
  'route_estimates',
  ['environment', 'algorithm', 'folded_until', 'body'],
  'ON CONFLICT (environment, algorithm) DO NOTHING',
);
const UPDATE_ESTIMATES =
  'UPDATE route_estimates SET folded_until = ?3, body = ?4 WHERE environment = ?1 AND algorithm = ?2 AND folded_until = ?5';

const sum = (value: string, name: string) => `CAST(SUM(${value}) AS BIGINT) AS ${name}`;
const ofProbes = (column: string) => `CASE WHEN probe = 1 THEN ${column} ELSE 0 END`;
const ofOthers = (column: string) => `CASE WHEN probe = 0 THEN ${column} ELSE 0 END`;

export const SELECT_TALLIES = `SELECT created / ${BUCKET_MS} AS bucket,
    ${sum(ofOthers('successes'), 'successes')}, ${sum(ofOthers('failures'), 'failures')},
    ${sum(ofOthers('neutrals'), 'neutrals')},
    ${sum(ofProbes('successes'), 'probe_successes')}, ${sum(ofProbes('failures'), 'probe_failures')},
    COUNT(log_ms) AS timed, CAST(COALESCE(SUM(log_ms), 0) AS BIGINT) AS log_ms,
    CAST(COALESCE(SUM(log_ms * log_ms), 0) AS BIGINT) AS log_ms_squared
  FROM route_outcomes WHERE environment = ?1 AND route_id = ?2 AND created >= ?3 AND created < ?4
  GROUP BY created / ${BUCKET_MS} ORDER BY 1`;
export const SELECT_RECENT_RESULTS = `SELECT outcome.payment_id, outcome.result, outcome.probe, outcome.created, payment.session_id
  FROM route_outcomes AS outcome JOIN payments AS payment ON payment.id = outcome.payment_id
  WHERE outcome.environment = ?1 AND outcome.route_id = ?2 AND outcome.created >= ?3
  ORDER BY outcome.created DESC, outcome.payment_id DESC, outcome.stage LIMIT ?4`;
export const SELECT_ESTIMATES = 'SELECT * FROM route_estimates WHERE environment = ?1 AND algorithm = ?2';
export const SELECT_HEALTH = 'SELECT * FROM route_health ORDER BY environment, route_id';
export const SELECT_RULES = 'SELECT * FROM routing_rules WHERE version = ?1';
export const SELECT_NEWEST_RULES = 'SELECT * FROM routing_rules ORDER BY version DESC LIMIT 1';
export const SELECT_SNAPSHOT = 'SELECT * FROM routing_snapshots WHERE id = ?1';
export const SELECT_DECISION = 'SELECT * FROM routing_decisions WHERE id = ?1';
export const SELECT_DECISIONS_OF_SESSION = 'SELECT * FROM routing_decisions WHERE session_id = ?1 ORDER BY id';

export function insertOutcome(outcome: RouteOutcome): Write {
  const { paidAfterMs } = outcome;
  return {
    sql: INSERT_OUTCOME,
    params: [
      outcome.paymentId,
      outcome.stage,
      outcome.environment,
      outcome.routeId,
      outcome.result,
      outcome.successes,
      outcome.failures,
      outcome.neutrals,
      outcome.probe ? 1 : 0,
      paidAfterMs === null ? null : Math.round(Math.log(paidAfterMs) * LOG_SCALE),
      outcome.created,
    ],
  };
}

export function insertSnapshot({ id, environment, body, created }: RoutingSnapshot): Write {
  return { sql: INSERT_SNAPSHOT, params: [id, environment, body, created], locks: `0 ${id}` };
}

export function insertDecision(decision: RoutingDecision): Write {
  const { id, snapshotId, environment, sessionId, paymentId, body, created } = decision;
  const params = [id, snapshotId, environment, sessionId, paymentId, body, created];
  // An offer may come along with many sessions at once.
  return { sql: INSERT_DECISION, params, ...(sessionId === null && { locks: `1 ${id}` }) };
}

/** The first version is 1. */
export function saveHealth({ environment, routeId, version, state, body }: RouteHealthRow): Write {
  const sql = version === 1 ? INSERT_HEALTH : UPDATE_HEALTH;
  return { sql, params: [environment, routeId, version, state, body], guard: 'overtaken' };
}

export function insertTransition(transition: TransitionRecord): Write {
  const { id, environment, routeId, version, from, to, cause, words, numbers, created } = transition;
  return {
    sql: INSERT_TRANSITION,
    params: [id, environment, routeId, version, from, to, cause, words, JSON.stringify(numbers), created],
  };
}

export function insertRules({ version, source, body, created }: RulesVersion): Write {
  return { sql: INSERT_RULES, params: [version, source, body, created], guard: 'overtaken' };
}

export function foldEstimates(estimates: EstimateRecord, from: Instant | null): Write {
  const { environment, algorithm, foldedUntil, body } = estimates;
  const params = [environment, algorithm, foldedUntil, body];
  if (from === null) return { sql: INSERT_ESTIMATES, params, guard: 'overtaken' };
  return { sql: UPDATE_ESTIMATES, params: [...params, from], guard: 'overtaken' };
}

export function tallyFromRow(row: Row): Tally {
  return {
    bucket: row['bucket'] as number,
    successes: row['successes'] as number,
    failures: row['failures'] as number,
    neutrals: row['neutrals'] as number,
    probeSuccesses: row['probe_successes'] as number,
    probeFailures: row['probe_failures'] as number,
    timed: row['timed'] as number,
    logMs: (row['log_ms'] as number) / LOG_SCALE,
    logMsSquared: (row['log_ms_squared'] as number) / LOG_SCALE ** 2,
  };
}

export function resultFromRow(row: Row): RecentResult {
  return {
    at: row['created'] as number,
    result: row['result'] as RecentResult['result'],
    paymentId: row['payment_id'] as string,
    sessionId: row['session_id'] as string,
    probe: row['probe'] === 1,
  };
}

export function estimatesFromRow(row: Row): EstimateRecord {
  return {
    environment: row['environment'] as Environment,
    algorithm: row['algorithm'] as string,
    foldedUntil: row['folded_until'] as number,
    body: row['body'] as string,
  };
}

export function healthFromRow(row: Row): RouteHealthRow {
  return {
    environment: row['environment'] as Environment,
    routeId: row['route_id'] as string,
    version: row['version'] as number,
    state: row['state'] as RouteHealthRow['state'],
    body: row['body'] as string,
  };
}

export function transitionFromRow(row: Row): TransitionRecord {
  return {
    id: row['id'] as string,
    environment: row['environment'] as Environment,
    routeId: row['route_id'] as string,
    version: row['version'] as number,
    from: row['from_state'] as TransitionRecord['from'],
    to: row['to_state'] as TransitionRecord['to'],
    cause: row['cause'] as string,
    words: row['words'] as string,
    numbers: JSON.parse(row['numbers'] as string) as Record<string, number>,
    created: row['created'] as number,
  };
}

export function rulesFromRow(row: Row): RulesVersion {
  return {
    version: row['version'] as number,
    source: row['source'] as RulesVersion['source'],
    body: row['body'] as string,
    created: row['created'] as number,
  };
}

export function snapshotFromRow(row: Row): RoutingSnapshot {
  return {
    id: row['id'] as string,
    environment: row['environment'] as Environment,
    body: row['body'] as string,
    created: row['created'] as number,
  };
}

export function decisionFromRow(row: Row): RoutingDecision {
  return {
    id: row['id'] as string,
    snapshotId: row['snapshot_id'] as string,
    environment: row['environment'] as Environment,
    sessionId: row['session_id'] as string | null,
    paymentId: row['payment_id'] as string | null,
    body: row['body'] as string,
    created: row['created'] as number,
  };
}

export function transitionKeyset({ environment, routeId }: TransitionFilter): KeysetQuery {
  const equals = { ...(environment && { environment }), ...(routeId !== undefined && { route_id: routeId }) };
  const isOpen = environment === undefined && routeId !== undefined;
  return { table: 'route_transitions', equals, oneOf: isOpen ? { environment: ENVIRONMENTS } : {} };
}

/** Offers are left out: the index holds those of sessions only. */
export function decisionKeyset(environment: Environment): KeysetQuery {
  return { table: 'routing_decisions', equals: { environment }, oneOf: {}, notNull: 'session_id' };
}
