/**
 * Tables and columns for real providers: an inbox for signals and hints, reversals, and the progress and cost of payments. A
 * row of the inbox with an `object_id` is a hint.
 */
export const realProvidersSchema = `
CREATE TABLE provider_inbox (
  provider TEXT NOT NULL,
  environment TEXT NOT NULL,
  event_id TEXT NOT NULL,
  conflict TEXT NOT NULL,
  about TEXT NOT NULL,
  object_id TEXT,
  session_id TEXT,
  payment_id TEXT,
  refund_id TEXT,
  status TEXT,
  amount BIGINT,
  currency TEXT,
  signal TEXT,
  outcome TEXT NOT NULL,
  flagged BIGINT NOT NULL,
  body TEXT NOT NULL,
  received BIGINT NOT NULL,
  state TEXT NOT NULL DEFAULT 'done',
  attempts BIGINT NOT NULL DEFAULT 0,
  due_at BIGINT,
  PRIMARY KEY (provider, environment, event_id, conflict)
);
INSERT INTO provider_inbox (provider, environment, event_id, conflict, about, session_id, payment_id, refund_id, status,
    amount, currency, outcome, flagged, body, received)
  SELECT provider, environment, event_id, conflict,
    CASE WHEN refund_id IS NOT NULL THEN 'refund' WHEN status = 'settled' THEN 'settlement' ELSE 'payment' END,
    session_id, payment_id, refund_id, status, amount, currency, outcome, flagged, body, received
  FROM provider_messages;
DROP TABLE provider_messages;
CREATE INDEX provider_inbox_session ON provider_inbox (session_id) WHERE session_id IS NOT NULL;
CREATE INDEX provider_inbox_due ON provider_inbox (due_at) WHERE state = 'pending';
CREATE INDEX provider_inbox_object ON provider_inbox (object_id, provider, environment) WHERE state = 'pending';
CREATE VIEW provider_messages AS SELECT * FROM provider_inbox WHERE object_id IS NULL;

CREATE TABLE reversals (
  id TEXT PRIMARY KEY,
  payment_id TEXT NOT NULL REFERENCES payments (id),
  session_id TEXT NOT NULL,
  environment TEXT NOT NULL,
  reference TEXT NOT NULL,
  status TEXT NOT NULL,
  revision BIGINT NOT NULL,
  taken BIGINT NOT NULL,
  fee BIGINT NOT NULL,
  reason TEXT,
  created BIGINT NOT NULL,
  updated BIGINT NOT NULL
);
CREATE UNIQUE INDEX reversals_reference ON reversals (payment_id, reference);

ALTER TABLE payments ADD COLUMN actual_cost BIGINT;
ALTER TABLE payments ADD COLUMN cost_refundable BIGINT NOT NULL DEFAULT 1;
ALTER TABLE payments ADD COLUMN charge_reference TEXT;
ALTER TABLE payments ADD COLUMN reversed BIGINT NOT NULL DEFAULT 0;
ALTER TABLE payments ADD COLUMN decline TEXT NOT NULL DEFAULT 'null';
ALTER TABLE payments ADD COLUMN expected_by BIGINT;
CREATE INDEX payments_charge_reference ON payments (charge_reference) WHERE charge_reference IS NOT NULL;

ALTER TABLE refunds ADD COLUMN provider_reference TEXT;
CREATE UNIQUE INDEX refunds_reference ON refunds (payment_id, provider_reference) WHERE provider_reference IS NOT NULL;
`;

/** Whether the provider has deducted a refund from the balance. So far, only refunds that succeeded were booked as deducted. */
export const refundDeductionSchema = `
ALTER TABLE refunds ADD COLUMN deducted BIGINT NOT NULL DEFAULT 0;
UPDATE refunds SET deducted = 1
  WHERE EXISTS (SELECT 1 FROM ledger_entries WHERE posting_id = refunds.id || ':refund_paid');
`;

/** Facts that outlive the process. `provider`: an instance with its account; `notified_at`: time of its first verified callback. */
export const providerStatesSchema = `
CREATE TABLE provider_states (
  provider TEXT PRIMARY KEY,
  notified_at BIGINT NOT NULL
);
`;
