/**
 * Money is integer cents, time integer milliseconds; ids sort by creation, except those of events. Indexes end with `id`,
 * so that every list is an index range.
 */
export const initial = `
CREATE TABLE customers (
  id TEXT PRIMARY KEY,
  environment TEXT NOT NULL,
  email TEXT NOT NULL,
  email_key TEXT NOT NULL,
  status TEXT NOT NULL,
  created BIGINT NOT NULL
);
CREATE UNIQUE INDEX customers_email ON customers (environment, email_key);
CREATE INDEX customers_status ON customers (environment, status, id);

CREATE TABLE sessions (
  id TEXT PRIMARY KEY,
  environment TEXT NOT NULL,
  status TEXT NOT NULL,
  version BIGINT NOT NULL,
  product TEXT NOT NULL,
  amount BIGINT NOT NULL,
  customer_id TEXT NOT NULL REFERENCES customers (id),
  customer_email TEXT NOT NULL,
  preferred_route TEXT,
  redirect_url TEXT,
  metadata TEXT NOT NULL,
  client_reference_id TEXT,
  idempotency_key TEXT,
  request_hash TEXT,
  offer TEXT NOT NULL,
  decision_id TEXT,
  attempts BIGINT NOT NULL,
  announced BIGINT NOT NULL,
  created BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  retry_until BIGINT,
  wake_at BIGINT
);
CREATE UNIQUE INDEX sessions_idempotency ON sessions (environment, idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX sessions_status ON sessions (environment, status, id);
CREATE INDEX sessions_customer ON sessions (customer_id, status, id);
CREATE INDEX sessions_reference ON sessions (client_reference_id, environment, status, id) WHERE client_reference_id IS NOT NULL;
CREATE INDEX sessions_reference_customer ON sessions (client_reference_id, customer_id, status, id) WHERE client_reference_id IS NOT NULL;
CREATE INDEX sessions_wake ON sessions (wake_at) WHERE wake_at IS NOT NULL;

CREATE TABLE payments (
  id TEXT PRIMARY KEY,
  session_id TEXT NOT NULL REFERENCES sessions (id),
  invoice_id TEXT NOT NULL,
  customer_id TEXT NOT NULL,
  environment TEXT NOT NULL,
  amount BIGINT NOT NULL,
  status TEXT NOT NULL,
  ledger_status TEXT NOT NULL,
  route TEXT NOT NULL,
  buyer_fee BIGINT NOT NULL,
  gateway_fee BIGINT NOT NULL,
  provider_cost BIGINT NOT NULL,
  provider_reference TEXT,
  provider_url TEXT,
  handoff_unclear BIGINT NOT NULL,
  surplus BIGINT NOT NULL,
  failure_code TEXT,
  failure_source TEXT,
  probe BIGINT NOT NULL,
  tx_hash TEXT,
  metadata TEXT NOT NULL,
  created BIGINT NOT NULL,
  timeout_at BIGINT NOT NULL,
  inquire_at BIGINT,
  inquiries BIGINT NOT NULL
);
CREATE UNIQUE INDEX payments_one_pending ON payments (session_id) WHERE status = 'pending';
CREATE UNIQUE INDEX payments_one_paid ON payments (session_id) WHERE status = 'paid' AND surplus = 0;
CREATE INDEX payments_session ON payments (session_id, id);
CREATE UNIQUE INDEX payments_invoice ON payments (invoice_id);
CREATE INDEX payments_status ON payments (environment, status, id);
CREATE INDEX payments_customer ON payments (customer_id, status, id);

CREATE TABLE invoices (
  id TEXT PRIMARY KEY,
  payment_id TEXT NOT NULL REFERENCES payments (id),
  session_id TEXT NOT NULL,
  customer_id TEXT NOT NULL,
  environment TEXT NOT NULL,
  amount BIGINT NOT NULL,
  status TEXT NOT NULL,
  metadata TEXT NOT NULL,
  created BIGINT NOT NULL
);
CREATE UNIQUE INDEX invoices_one_paid ON invoices (session_id) WHERE status = 'paid';
CREATE UNIQUE INDEX invoices_payment ON invoices (payment_id);
CREATE INDEX invoices_session ON invoices (session_id, id);
CREATE INDEX invoices_status ON invoices (environment, status, id);
CREATE INDEX invoices_customer ON invoices (customer_id, status, id);

CREATE TABLE ledger_entries (
  payment_id TEXT NOT NULL REFERENCES payments (id),
  kind TEXT NOT NULL,
  line BIGINT NOT NULL,
  environment TEXT NOT NULL,
  account TEXT NOT NULL,
  amount BIGINT NOT NULL,
  created BIGINT NOT NULL,
  PRIMARY KEY (payment_id, kind, line)
);

CREATE TABLE events (
  id TEXT PRIMARY KEY,
  session_id TEXT NOT NULL REFERENCES sessions (id),
  environment TEXT NOT NULL,
  sequence BIGINT NOT NULL,
  type TEXT NOT NULL,
  body TEXT NOT NULL,
  created BIGINT NOT NULL
);
CREATE INDEX events_session ON events (session_id, sequence);
CREATE INDEX events_type ON events (environment, type, created, sequence, id);

CREATE TABLE webhook_endpoints (
  id TEXT PRIMARY KEY,
  environment TEXT NOT NULL,
  url TEXT NOT NULL,
  status TEXT NOT NULL,
  created BIGINT NOT NULL
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
  created BIGINT NOT NULL
);
CREATE INDEX deliveries_due ON deliveries (endpoint_id, due_at, id) WHERE status = 'pending';
CREATE UNIQUE INDEX deliveries_session ON deliveries (session_id, endpoint_id, sequence);
CREATE INDEX deliveries_status ON deliveries (environment, status, id);

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

CREATE TABLE provider_messages (
  provider TEXT NOT NULL,
  event_id TEXT NOT NULL,
  session_id TEXT NOT NULL,
  payment_id TEXT,
  status TEXT NOT NULL,
  amount BIGINT NOT NULL,
  outcome TEXT NOT NULL,
  flagged BIGINT NOT NULL,
  body TEXT NOT NULL,
  received BIGINT NOT NULL,
  PRIMARY KEY (provider, event_id)
);
CREATE INDEX provider_messages_session ON provider_messages (session_id);

CREATE TABLE provider_tasks (
  payment_id TEXT NOT NULL REFERENCES payments (id),
  kind TEXT NOT NULL,
  session_id TEXT NOT NULL,
  status TEXT NOT NULL,
  attempts BIGINT NOT NULL,
  due_at BIGINT NOT NULL,
  created BIGINT NOT NULL,
  PRIMARY KEY (payment_id, kind)
);
CREATE INDEX provider_tasks_due ON provider_tasks (due_at) WHERE status = 'pending';

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

CREATE TABLE simulated_payments (
  reference TEXT PRIMARY KEY,
  payment_id TEXT NOT NULL,
  session_id TEXT NOT NULL,
  kind TEXT NOT NULL,
  merchant TEXT NOT NULL,
  product TEXT NOT NULL,
  amount BIGINT NOT NULL,
  total BIGINT NOT NULL,
  return_url TEXT NOT NULL,
  status TEXT NOT NULL,
  reason TEXT,
  tx_hash TEXT NOT NULL,
  created BIGINT NOT NULL
);
CREATE UNIQUE INDEX simulated_payments_payment ON simulated_payments (payment_id);
CREATE INDEX simulated_payments_session ON simulated_payments (session_id, created);

CREATE TABLE simulated_callbacks (
  id TEXT PRIMARY KEY,
  reference TEXT NOT NULL,
  body TEXT NOT NULL,
  status TEXT NOT NULL,
  attempts BIGINT NOT NULL,
  due_at BIGINT NOT NULL
);
CREATE INDEX simulated_callbacks_due ON simulated_callbacks (due_at) WHERE status = 'pending';

CREATE TABLE test_clock (
  id BIGINT PRIMARY KEY,
  version BIGINT NOT NULL,
  offset_ms BIGINT NOT NULL,
  goal_ms BIGINT NOT NULL,
  target BIGINT,
  holder TEXT,
  held_until BIGINT NOT NULL
);
`;
