/** Tables of routing: outcomes, estimates, health, rules, snapshots and decisions. */
export const routingSchema = `
CREATE TABLE route_outcomes (
  payment_id TEXT NOT NULL REFERENCES payments (id),
  stage TEXT NOT NULL,
  environment TEXT NOT NULL,
  route_id TEXT NOT NULL,
  result TEXT NOT NULL,
  successes BIGINT NOT NULL,
  failures BIGINT NOT NULL,
  neutrals BIGINT NOT NULL,
  probe BIGINT NOT NULL,
  log_ms BIGINT,
  created BIGINT NOT NULL,
  PRIMARY KEY (payment_id, stage)
);
CREATE INDEX route_outcomes_route ON route_outcomes (environment, route_id, created);

CREATE TABLE route_estimates (
  environment TEXT NOT NULL,
  algorithm TEXT NOT NULL,
  folded_until BIGINT NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (environment, algorithm)
);

CREATE TABLE route_health (
  environment TEXT NOT NULL,
  route_id TEXT NOT NULL,
  version BIGINT NOT NULL,
  state TEXT NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (environment, route_id)
);

CREATE TABLE route_transitions (
  id TEXT PRIMARY KEY,
  environment TEXT NOT NULL,
  route_id TEXT NOT NULL,
  version BIGINT NOT NULL,
  from_state TEXT NOT NULL,
  to_state TEXT NOT NULL,
  cause TEXT NOT NULL,
  words TEXT NOT NULL,
  numbers TEXT NOT NULL,
  created BIGINT NOT NULL
);
CREATE INDEX route_transitions_route ON route_transitions (environment, route_id, id);
CREATE INDEX route_transitions_environment ON route_transitions (environment, id);

CREATE TABLE routing_rules (
  version BIGINT PRIMARY KEY,
  source TEXT NOT NULL,
  body TEXT NOT NULL,
  created BIGINT NOT NULL
);

CREATE TABLE routing_snapshots (
  id TEXT PRIMARY KEY,
  environment TEXT NOT NULL,
  body TEXT NOT NULL,
  created BIGINT NOT NULL
);

CREATE TABLE routing_decisions (
  id TEXT PRIMARY KEY,
  snapshot_id TEXT NOT NULL REFERENCES routing_snapshots (id),
  environment TEXT NOT NULL,
  session_id TEXT REFERENCES sessions (id),
  payment_id TEXT,
  body TEXT NOT NULL,
  created BIGINT NOT NULL
);
CREATE INDEX routing_decisions_session ON routing_decisions (session_id, id) WHERE session_id IS NOT NULL;
CREATE INDEX routing_decisions_environment ON routing_decisions (environment, id) WHERE session_id IS NOT NULL;
`;

/** Experiments, of which one per environment can run, and the arms of their sessions. */
export const experimentSchema = `
CREATE TABLE routing_experiments (
  id TEXT PRIMARY KEY,
  environment TEXT NOT NULL,
  name TEXT NOT NULL,
  variant TEXT NOT NULL,
  share BIGINT NOT NULL,
  minimum_sample BIGINT NOT NULL,
  guardrail_points BIGINT NOT NULL,
  status TEXT NOT NULL,
  ended_by TEXT,
  version BIGINT NOT NULL,
  created BIGINT NOT NULL,
  ended_at BIGINT,
  result TEXT NOT NULL
);
CREATE UNIQUE INDEX routing_experiments_running ON routing_experiments (environment) WHERE status = 'running';
CREATE INDEX routing_experiments_environment ON routing_experiments (environment, id);

CREATE TABLE experiment_sessions (
  session_id TEXT PRIMARY KEY REFERENCES sessions (id),
  experiment_id TEXT NOT NULL REFERENCES routing_experiments (id),
  arm TEXT NOT NULL,
  created BIGINT NOT NULL,
  counts_at BIGINT NOT NULL
);
CREATE INDEX experiment_sessions_arm ON experiment_sessions (experiment_id, arm, counts_at);
`;

/**
 * JSON of the contexts of a payment; null if the outcome is no evidence about the route. Declines of the issuer, which were neutral, become
 * failures of the route, also where late money has reversed them.
 */
export const outcomeContexts = `
ALTER TABLE route_outcomes ADD COLUMN contexts TEXT;
UPDATE route_outcomes SET neutrals = 0, failures = -1
  WHERE stage = 'late' AND neutrals = -1 AND payment_id IN (
    SELECT payment_id FROM route_outcomes WHERE stage = 'result' AND failure LIKE 'issuer/%');
UPDATE route_outcomes SET result = 'failed', neutrals = 0, failures = failures + 1
  WHERE stage = 'result' AND result = 'neutral' AND failure LIKE 'issuer/%';
`;
