import { REFUSAL_WEIGHT, type RouteOutcome } from '../../domain/route-outcome.ts';
import { KEY_SCOPES, KEY_SOURCES } from '../../domain/api-key.ts';
import { ENVIRONMENTS } from '../../domain/route.ts';
import { duplicates, invariants, orphans, sqlList, unknownValues } from './invariant.ts';

// `domain/route-outcome.ts`, `routing/health-machine.ts` and `operations/routing/` show why each invariant holds:
// an outcome is committed together with the change of its payment, a health transition together with the new health record,
// and a decision together with the session or payment that uses it.

type Counts = [successes: number, failures: number, neutrals: number];

/** All possible outcomes: stage, result, and the counts that the outcome adds to the evidence about its route. */
const COUNTS: [stage: RouteOutcome['stage'], result: RouteOutcome['result'], ...Counts][] = [
  ['unclear', 'refused', 0, REFUSAL_WEIGHT, 0],
  ['handoff', 'accepted', 0, 0, 0],
  ['handoff', 'refused', 0, REFUSAL_WEIGHT, 0],
  ['handoff', 'refused', 0, 0, 0],
  ['handoff', 'neutral', 0, 0, 0],
  ['result', 'paid', 1, 0, 0],
  ['result', 'failed', 0, 1, 0],
  ['result', 'neutral', 0, 0, 1],
  ['end', 'neutral', 0, 0, 0],
  // A provider report about an uncertain handoff reverses the failure weight that the handoff added.
  ['handoff', 'accepted', 0, -REFUSAL_WEIGHT, 0],
  ['result', 'paid', 1, -REFUSAL_WEIGHT, 0],
  ['result', 'failed', 0, 1 - REFUSAL_WEIGHT, 0],
  ['result', 'neutral', 0, -REFUSAL_WEIGHT, 1],
  // Late money reverses the failure or the neutral result that the payment added when it ended.
  ['late', 'paid', 1, -REFUSAL_WEIGHT, 0],
  ['late', 'paid', 1, -1, 0],
  ['late', 'paid', 1, 0, -1],
  ['late', 'paid', 1, 0, 0],
];

const UNKNOWN = unknownValues({ environment: ENVIRONMENTS, scope: KEY_SCOPES, source: KEY_SOURCES });

/** Invariants of routing, the test clock and API keys. */
export const ROUTING_INVARIANTS = invariants({
  // Outcomes of payments.
  failure_source: {
    says: 'A payment has a failure source if and only if it failed: route or gateway for a refused handoff, buyer for an abandoned payment.',
    sql: `SELECT id FROM payments
      WHERE (status = 'failed') <> (failure_source IS NOT NULL)
        OR (failure_code = 'handoff_refused' AND failure_source NOT IN ('route', 'gateway'))
        OR (failure_code <> 'handoff_refused' AND failure_source = 'gateway')
        OR (failure_code IN ('abandoned', 'superseded') AND failure_source <> 'buyer')`,
  },
  outcome_payment: {
    says: 'A route outcome has a payment with the same environment and route, and is a probe if and only if the payment is one.',
    // The route of a payment is JSON that begins with its id.
    sql: orphans('route_outcomes', 'payment_id', 'payments', ['environment', 'probe'], {
      id: 'payment_id',
      or: `SUBSTR(parent.route, 1, LENGTH(child.route_id) + 8) <> '{"id":"' || child.route_id || '"'`,
    }),
  },
  outcome_counts: {
    says: 'A route outcome has the counts of its stage and result; only a paid result has a duration, which is required if the payment has a handoff outcome.',
    sql: `SELECT DISTINCT payment_id AS id FROM route_outcomes
      WHERE stage || ' ' || result || ' ' || successes || ' ' || failures || ' ' || neutrals NOT IN (${sqlList(
        COUNTS.map((words) => words.join(' ')),
      )})
        OR (log_ms IS NOT NULL AND NOT (stage = 'result' AND result = 'paid')) OR log_ms < 0
        OR (log_ms IS NULL AND stage = 'result' AND result = 'paid'
          AND payment_id IN (SELECT payment_id FROM route_outcomes WHERE stage IN ('unclear', 'handoff')))`,
  },
  outcome_sum: {
    says: 'The route outcomes of a payment add up to its final result; those of a pending payment add up to 0, or to the weight of its uncertain handoff.',
    sql: `SELECT payment.id AS id FROM payments AS payment
      LEFT JOIN (
        SELECT payment_id, SUM(successes) AS successes, SUM(failures) AS failures, SUM(neutrals) AS neutrals
        FROM route_outcomes GROUP BY payment_id) AS counted ON counted.payment_id = payment.id
      WHERE COALESCE(counted.successes, 0) <> CASE WHEN payment.status = 'paid' THEN 1 ELSE 0 END
        OR COALESCE(counted.failures, 0) <> CASE
          WHEN payment.status = 'paid' OR payment.failure_source = 'gateway' THEN 0
          WHEN payment.handoff_unclear = 1 OR payment.failure_code = 'handoff_refused' THEN ${REFUSAL_WEIGHT}
          WHEN payment.failure_source IN ('route', 'issuer') THEN 1
          ELSE 0 END
        OR COALESCE(counted.neutrals, 0) <> CASE
          WHEN payment.failure_source = 'buyer' AND payment.handoff_unclear = 0 THEN 1 ELSE 0 END`,
  },
  handoff_outcome: {
    says: "A payment with the provider's payment id has a handoff outcome, unless it is paid; a payment without it has no accepted handoff.",
    // If money arrives before the answer to the handoff, the answer adds no outcome.
    sql: `SELECT payment.id AS id FROM payments AS payment
      LEFT JOIN route_outcomes AS outcome ON outcome.payment_id = payment.id AND outcome.stage = 'handoff'
      WHERE (payment.provider_reference IS NULL AND outcome.result = 'accepted')
        OR (payment.provider_reference IS NOT NULL AND payment.status <> 'paid' AND outcome.payment_id IS NULL)`,
  },
  // Health of routes and its history. The history is sorted by version, because instances with different clocks create the ids.
  health_record: {
    says: 'The health record of a route is complete, and its state and version equal the columns beside it.',
    sql: `SELECT route_id AS id FROM route_health
      WHERE version < 1 OR SUBSTR(body, 1, LENGTH(state) + 11) <> '{"state":"' || state || '"'
        OR body NOT LIKE '%,"version":' || version || '}'`,
  },
  transition_chain: {
    says: 'A health transition starts in the state in which the previous one ended, with a higher version.',
    // When an override to standby expires, the route becomes degraded without a transition.
    sql: `SELECT id FROM (
        SELECT id, version, from_state, LAG(version) OVER history AS version_before,
          LAG(to_state) OVER history AS state_before, LAG(cause) OVER history AS cause_before
        FROM route_transitions WINDOW history AS (PARTITION BY environment, route_id ORDER BY version, id)) AS chain
      WHERE version < 2 OR version = version_before
        OR (from_state <> state_before
          AND NOT (cause_before = 'override' AND state_before = 'standby' AND from_state = 'degraded'))`,
  },
  newest_transition: {
    says: 'A route has the state of its newest health transition.',
    sql: `SELECT newest.id AS id FROM (
        SELECT id, environment, route_id, version, to_state,
          ROW_NUMBER() OVER (PARTITION BY environment, route_id ORDER BY version DESC, id DESC) AS age
        FROM route_transitions) AS newest
      LEFT JOIN route_health AS health
        ON health.environment = newest.environment AND health.route_id = newest.route_id
      WHERE newest.age = 1
        AND (health.route_id IS NULL OR health.state <> newest.to_state OR health.version < newest.version)`,
  },
  // Decisions and their snapshots.
  rules_versions: {
    says: 'The versions of the routing rules are 1, 2, 3 and so on, without a gap.',
    sql: `SELECT CAST(rules.version AS TEXT) AS id FROM routing_rules AS rules
      LEFT JOIN routing_rules AS earlier ON earlier.version = rules.version - 1
      WHERE rules.version < 1 OR (rules.version > 1 AND earlier.version IS NULL)`,
  },
  snapshot_rules: {
    says: 'A snapshot names an existing version of the rules, or 0 if no rules exist.',
    sql: `SELECT snapshot.id AS id FROM routing_snapshots AS snapshot
      LEFT JOIN routing_rules AS rules ON snapshot.body LIKE '{"rulesVersion":' || rules.version || ',%'
      WHERE rules.version IS NULL AND snapshot.body NOT LIKE '{"rulesVersion":0,%'`,
  },
  decision_snapshot: {
    says: 'A decision has a snapshot with the same environment.',
    sql: orphans('routing_decisions', 'snapshot_id', 'routing_snapshots', ['environment']),
  },
  decision_payment: {
    says: 'A decision names a payment and its session in the same environment, or no payment and no session.',
    sql: `SELECT decision.id AS id FROM routing_decisions AS decision
      LEFT JOIN payments AS payment ON payment.id = decision.payment_id
      WHERE (decision.session_id IS NULL) <> (decision.payment_id IS NULL)
        OR (decision.payment_id IS NOT NULL AND (payment.id IS NULL OR payment.session_id <> decision.session_id
          OR payment.environment <> decision.environment))`,
  },
  one_decision_per_payment: {
    says: 'A payment has at most one decision.',
    sql: duplicates('routing_decisions', 'payment_id', { where: 'payment_id IS NOT NULL' }),
  },
  chosen_route: {
    says: 'A payment uses the route that its decision chose.',
    // Searches the body as text, because the JSON functions of the databases differ.
    sql: `SELECT DISTINCT decision.id AS id FROM routing_decisions AS decision
      JOIN route_outcomes AS outcome ON outcome.payment_id = decision.payment_id
      WHERE REPLACE(decision.body, '"chosen":"' || outcome.route_id || '","greedy":', '') = decision.body`,
  },
  session_decision: {
    says: "The decision that chose a session's quote exists, has the same environment, and names no payment.",
    sql: `SELECT session.id AS id FROM sessions AS session
      LEFT JOIN routing_decisions AS decision ON decision.id = session.decision_id
      WHERE session.decision_id IS NOT NULL
        AND (decision.id IS NULL OR decision.environment <> session.environment OR decision.session_id IS NOT NULL)`,
  },
  // Experiments.
  experiment_end: {
    says: 'An experiment has an end, a cause of the end and a stored result if and only if it has ended.',
    sql: `SELECT id FROM routing_experiments WHERE (status = 'ended') <> (ended_at IS NOT NULL)
      OR (status = 'ended') <> (ended_by IS NOT NULL) OR (status = 'ended') <> (result <> 'null')`,
  },
  experiment_session: {
    says: 'A session in an experiment has the environment of the experiment, and a payment.',
    sql: `SELECT assigned.session_id AS id FROM experiment_sessions AS assigned
      LEFT JOIN routing_experiments AS experiment ON experiment.id = assigned.experiment_id
      WHERE NOT EXISTS (SELECT 1 FROM payments
        WHERE session_id = assigned.session_id AND environment = experiment.environment)`,
  },
  // Invariants of the test clock.
  test_clock: {
    says: 'At most one test clock exists; its time is between the real time and its target, and before the target only during an advance.',
    sql: `SELECT CAST(id AS TEXT) AS id FROM test_clock
      WHERE id <> 1 OR version < 1 OR offset_ms < 0 OR offset_ms > goal_ms OR (target IS NULL AND offset_ms < goal_ms)`,
  },
  test_clock_sandbox: {
    says: 'A database with a test clock has no production session.',
    sql: `SELECT session.id AS id FROM sessions AS session JOIN test_clock AS clock ON clock.goal_ms > 0
      WHERE session.environment = 'production'`,
  },
  // API keys, and the spend limits of agents.
  api_key_values: {
    says: 'An API key has an id with its prefix, and a known environment, scope and source.',
    sql: `SELECT id FROM api_keys WHERE SUBSTR(id, 1, 4) <> 'key_' OR ${UNKNOWN}`,
  },
  api_key_hash: {
    says: 'An API key has a unique hash and its last four characters for display.',
    sql: `SELECT id FROM api_keys WHERE LENGTH(key_hash) <> 64 OR LENGTH(last4) <> 4
      OR key_hash IN (SELECT key_hash FROM api_keys GROUP BY key_hash HAVING COUNT(*) > 1)`,
  },
  api_key_limits: {
    says: 'An API key has a positive spend limit if and only if its scope is agent.',
    sql: `SELECT id FROM api_keys
      WHERE (scope = 'agent') <> (spend_per_checkout IS NOT NULL OR spend_per_day IS NOT NULL)
        OR spend_per_checkout <= 0 OR spend_per_day <= 0`,
  },
  api_key_spend: {
    says: 'Only API keys with the scope agent spend, and at most their limit per day.',
    sql: `SELECT spend.key_id || ' ' || spend.day AS id FROM api_key_spend AS spend
      LEFT JOIN api_keys AS api_key ON api_key.id = spend.key_id
      WHERE api_key.id IS NULL OR api_key.scope <> 'agent' OR spend.amount <= 0 OR spend.amount > api_key.spend_per_day`,
  },
});
