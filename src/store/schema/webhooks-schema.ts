const paymentSession = (storage: string) => `
ALTER TABLE events ADD COLUMN payment_session_id TEXT
  GENERATED ALWAYS AS (CASE WHEN type <> 'route.health_changed' THEN session_id END) ${storage} REFERENCES sessions (id);
`;

/** An event can be about a route. Only the session of an event about a payment is a foreign key. */
export const eventSources = {
  sqlite: `
DROP INDEX events_session;
ALTER TABLE events RENAME COLUMN session_id TO linked_session_id;
ALTER TABLE events ADD COLUMN session_id TEXT NOT NULL DEFAULT '';
UPDATE events SET session_id = linked_session_id;
ALTER TABLE events DROP COLUMN linked_session_id;
CREATE INDEX events_session ON events (session_id, sequence);
${paymentSession('VIRTUAL')}`,
  postgres: `ALTER TABLE events DROP CONSTRAINT events_session_id_fkey;${paymentSession('STORED')}`,
};

/**
 * Tables of events, endpoints and deliveries. An event gets its feed position in a later transaction. If two indexes are equally
 * good, SQLite uses the older index, so the indexes with the answer class are created before the indexes without it.
 */
export const webhooksSchema = `
CREATE TABLE events (
  id TEXT PRIMARY KEY,
  session_id TEXT NOT NULL REFERENCES sessions (id),
  environment TEXT NOT NULL,
  sequence BIGINT NOT NULL,
  type TEXT NOT NULL,
  body TEXT NOT NULL,
  created BIGINT NOT NULL,
  feed_position BIGINT,
  request_id TEXT,
  trace_parent TEXT
);
CREATE INDEX events_session ON events (session_id, sequence);
CREATE INDEX events_type ON events (environment, type, created, sequence, id);
CREATE INDEX events_unplaced ON events (created, sequence, id) WHERE feed_position IS NULL;
CREATE UNIQUE INDEX events_position ON events (feed_position) WHERE feed_position IS NOT NULL;
CREATE INDEX events_feed ON events (environment, type, feed_position) WHERE feed_position IS NOT NULL;

CREATE TABLE webhook_endpoints (
  id TEXT PRIMARY KEY,
  environment TEXT NOT NULL,
  url TEXT NOT NULL,
  status TEXT NOT NULL,
  created BIGINT NOT NULL,
  source TEXT NOT NULL DEFAULT 'configuration',
  events TEXT NOT NULL DEFAULT 'payment.provider_pending,payment.paid,payment.failed',
  description TEXT NOT NULL DEFAULT '',
  disabled_reason TEXT,
  disabled_at BIGINT,
  failing_since BIGINT,
  last_success_at BIGINT,
  version BIGINT NOT NULL DEFAULT 1,
  slot BIGINT
);
CREATE INDEX webhook_endpoints_status ON webhook_endpoints (status, id);
CREATE UNIQUE INDEX webhook_endpoints_slot ON webhook_endpoints (environment, slot) WHERE slot IS NOT NULL;

CREATE TABLE webhook_secrets (
  endpoint_id TEXT NOT NULL REFERENCES webhook_endpoints (id),
  number BIGINT NOT NULL,
  environment TEXT NOT NULL,
  sealed TEXT NOT NULL,
  created BIGINT NOT NULL,
  expires_at BIGINT,
  PRIMARY KEY (endpoint_id, number)
);

CREATE TABLE deliveries (
  id TEXT PRIMARY KEY,
  event_id TEXT NOT NULL REFERENCES events (id),
  endpoint_id TEXT NOT NULL REFERENCES webhook_endpoints (id),
  session_id TEXT NOT NULL,
  environment TEXT NOT NULL,
  type TEXT NOT NULL,
  sequence BIGINT NOT NULL,
  status TEXT NOT NULL,
  attempts BIGINT NOT NULL,
  schedule_start BIGINT NOT NULL,
  due_at BIGINT NOT NULL,
  created BIGINT NOT NULL,
  last_started BIGINT,
  last_duration_ms BIGINT,
  last_status_code BIGINT,
  last_failure TEXT,
  answer_class TEXT,
  recover_at BIGINT
);
CREATE UNIQUE INDEX deliveries_session ON deliveries (session_id, endpoint_id, sequence);
CREATE INDEX deliveries_due ON deliveries (endpoint_id, due_at, id) WHERE status = 'pending' AND recover_at IS NULL;
CREATE INDEX deliveries_recovery ON deliveries (endpoint_id, recover_at, sequence, event_id) WHERE recover_at IS NOT NULL;
CREATE INDEX deliveries_answer ON deliveries (environment, answer_class, type, status, id) WHERE answer_class IS NOT NULL;
CREATE INDEX deliveries_endpoint_answer ON deliveries (endpoint_id, answer_class, type, status, id) WHERE answer_class IS NOT NULL;
CREATE INDEX deliveries_type ON deliveries (environment, type, status, id);
CREATE INDEX deliveries_endpoint ON deliveries (endpoint_id, type, status, id);

CREATE TABLE delivery_attempts (
  delivery_id TEXT NOT NULL REFERENCES deliveries (id),
  number BIGINT NOT NULL,
  started BIGINT NOT NULL,
  duration_ms BIGINT NOT NULL,
  status_code BIGINT,
  failure TEXT,
  response_body TEXT NOT NULL,
  PRIMARY KEY (delivery_id, number)
);

CREATE TABLE recoveries (
  id TEXT PRIMARY KEY,
  endpoint_id TEXT NOT NULL REFERENCES webhook_endpoints (id),
  environment TEXT NOT NULL,
  version BIGINT NOT NULL,
  status TEXT NOT NULL,
  from_time BIGINT NOT NULL,
  until_time BIGINT NOT NULL,
  everything BIGINT NOT NULL,
  read_created BIGINT NOT NULL,
  read_sequence BIGINT NOT NULL,
  read_id TEXT NOT NULL,
  queued BIGINT NOT NULL,
  pending BIGINT NOT NULL,
  delivered BIGINT NOT NULL,
  created BIGINT NOT NULL,
  updated BIGINT NOT NULL
);
CREATE INDEX recoveries_running ON recoveries (updated, id) WHERE status = 'running';

CREATE TABLE feed_lock (
  id BIGINT PRIMARY KEY,
  rounds BIGINT NOT NULL
);
INSERT INTO feed_lock (id, rounds) VALUES (1, 0);
`;
