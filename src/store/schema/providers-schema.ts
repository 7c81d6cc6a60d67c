/** Tables of provider messages and tasks. `conflict` is the session of a message that reuses an event id, otherwise empty. */
export const providersSchema = `
CREATE TABLE provider_messages (
  provider TEXT NOT NULL,
  environment TEXT NOT NULL,
  event_id TEXT NOT NULL,
  conflict TEXT NOT NULL,
  session_id TEXT NOT NULL,
  payment_id TEXT,
  refund_id TEXT,
  status TEXT NOT NULL,
  amount BIGINT NOT NULL,
  currency TEXT,
  outcome TEXT NOT NULL,
  flagged BIGINT NOT NULL,
  body TEXT NOT NULL,
  received BIGINT NOT NULL,
  PRIMARY KEY (provider, environment, event_id, conflict)
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
  created BIGINT NOT NULL,
  captured BIGINT NOT NULL DEFAULT 0,
  refunded BIGINT NOT NULL DEFAULT 0
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

CREATE TABLE simulated_refunds (
  id TEXT PRIMARY KEY,
  reference TEXT NOT NULL,
  amount BIGINT NOT NULL,
  status TEXT NOT NULL,
  reason TEXT,
  created BIGINT NOT NULL
);
CREATE INDEX simulated_refunds_reference ON simulated_refunds (reference);
`;
