/** Tables of customers, sessions, payments and invoices. Indexes end with `id`, so that a page of a list is one range of an index. */
export const checkoutSchema = `
CREATE TABLE customers (
  id TEXT PRIMARY KEY,
  environment TEXT NOT NULL,
  email TEXT NOT NULL,
  email_key TEXT NOT NULL,
  status TEXT NOT NULL,
  created BIGINT NOT NULL,
  status_reason TEXT
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
  inquiries BIGINT NOT NULL,
  refunded BIGINT NOT NULL DEFAULT 0,
  refund_pending BIGINT NOT NULL DEFAULT 0,
  refund_gateway BIGINT NOT NULL DEFAULT 0,
  refund_cost BIGINT NOT NULL DEFAULT 0,
  kept BIGINT NOT NULL DEFAULT 0,
  settled BIGINT NOT NULL DEFAULT 0,
  shortfall BIGINT NOT NULL DEFAULT 0,
  returned BIGINT NOT NULL DEFAULT 0,
  owed BIGINT NOT NULL DEFAULT 0,
  failure_reason TEXT
);
CREATE UNIQUE INDEX payments_one_pending ON payments (session_id) WHERE status = 'pending';
CREATE UNIQUE INDEX payments_one_paid ON payments (session_id) WHERE status = 'paid' AND surplus = 0;
CREATE INDEX payments_session ON payments (session_id, id);
CREATE UNIQUE INDEX payments_invoice ON payments (invoice_id);
CREATE INDEX payments_status ON payments (environment, status, id);
CREATE INDEX payments_customer ON payments (customer_id, status, id);
CREATE INDEX payments_provider_reference ON payments (provider_reference) WHERE provider_reference IS NOT NULL;

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

CREATE TABLE refunds (
  id TEXT PRIMARY KEY,
  payment_id TEXT NOT NULL REFERENCES payments (id),
  session_id TEXT NOT NULL,
  environment TEXT NOT NULL,
  amount BIGINT NOT NULL,
  merchant_share BIGINT NOT NULL,
  gateway_share BIGINT NOT NULL,
  cost_share BIGINT NOT NULL,
  reason TEXT,
  status TEXT NOT NULL,
  failure_reason TEXT,
  idempotency_key TEXT,
  request_hash TEXT,
  attempts BIGINT NOT NULL,
  due_at BIGINT,
  created BIGINT NOT NULL,
  updated BIGINT NOT NULL,
  unknown_since BIGINT
);
CREATE UNIQUE INDEX refunds_idempotency ON refunds (environment, idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX refunds_payment ON refunds (payment_id, status, id);
CREATE INDEX refunds_session ON refunds (session_id, status, id);
CREATE INDEX refunds_status ON refunds (environment, status, id);
CREATE INDEX refunds_due ON refunds (due_at) WHERE due_at IS NOT NULL;

CREATE TABLE discrepancies (
  id TEXT PRIMARY KEY,
  environment TEXT NOT NULL,
  kind TEXT NOT NULL,
  status TEXT NOT NULL,
  version BIGINT NOT NULL,
  session_id TEXT NOT NULL REFERENCES sessions (id),
  customer_id TEXT NOT NULL,
  payment_id TEXT REFERENCES payments (id),
  subject TEXT NOT NULL,
  provider TEXT,
  event_id TEXT,
  expected BIGINT NOT NULL,
  received BIGINT NOT NULL,
  currency TEXT,
  refunding BIGINT NOT NULL,
  refund_id TEXT,
  resolution TEXT,
  note TEXT,
  created BIGINT NOT NULL,
  resolved_at BIGINT
);
CREATE UNIQUE INDEX discrepancies_subject ON discrepancies (session_id, kind, subject);
CREATE INDEX discrepancies_payment ON discrepancies (payment_id, kind) WHERE payment_id IS NOT NULL;
CREATE INDEX discrepancies_list ON discrepancies (environment, kind, status, id);
`;

/** Payments that wait for their payout, which are few beside the settled ones. */
export const unsettledIndex = `
CREATE INDEX payments_unsettled ON payments (environment, id) WHERE status = 'paid' AND ledger_status = 'pending';
`;

/** JSON of the card of the buyer, as the provider reported it. */
export const cardColumn = `
ALTER TABLE payments ADD COLUMN card TEXT NOT NULL DEFAULT 'null';
`;
