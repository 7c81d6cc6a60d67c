import type { Step } from './migration.ts';

// Tasks that returned surplus money become refunds. The id of a refund derives from its payment, as in the ledger entries.
// Charges of the simulator that were captured a dollar short keep that amount.
export const refunds: Step = {
  name: 'refunds',
  sql: `
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
  updated BIGINT NOT NULL
);
CREATE UNIQUE INDEX refunds_idempotency ON refunds (environment, idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX refunds_payment ON refunds (payment_id, status, id);
CREATE INDEX refunds_session ON refunds (session_id, status, id);
CREATE INDEX refunds_status ON refunds (environment, status, id);
CREATE INDEX refunds_due ON refunds (due_at) WHERE due_at IS NOT NULL;

CREATE TABLE refund_messages (
  provider TEXT NOT NULL,
  event_id TEXT NOT NULL,
  refund_id TEXT NOT NULL,
  status TEXT NOT NULL,
  amount BIGINT NOT NULL,
  outcome TEXT NOT NULL,
  flagged BIGINT NOT NULL,
  body TEXT NOT NULL,
  received BIGINT NOT NULL,
  PRIMARY KEY (provider, event_id)
);
CREATE INDEX refund_messages_refund ON refund_messages (refund_id);

ALTER TABLE payments ADD COLUMN refunded BIGINT NOT NULL DEFAULT 0;
ALTER TABLE payments ADD COLUMN refund_pending BIGINT NOT NULL DEFAULT 0;
ALTER TABLE payments ADD COLUMN refund_gateway BIGINT NOT NULL DEFAULT 0;
ALTER TABLE payments ADD COLUMN refund_cost BIGINT NOT NULL DEFAULT 0;
ALTER TABLE payments ADD COLUMN kept BIGINT NOT NULL DEFAULT 0;
ALTER TABLE payments ADD COLUMN settled BIGINT NOT NULL DEFAULT 0;
UPDATE payments SET settled = 1 WHERE id IN (SELECT payment_id FROM settlements);

INSERT INTO refunds (id, payment_id, session_id, environment, amount, merchant_share, gateway_share, cost_share,
    reason, status,
    attempts, due_at, created, updated)
  SELECT 'ref_' || SUBSTR(payment.id, 5), payment.id, payment.session_id, payment.environment,
    payment.amount + payment.buyer_fee, 0, 0, payment.provider_cost, 'surplus',
    CASE WHEN payment.ledger_status = 'refunded' THEN 'succeeded' ELSE 'pending' END,
    task.attempts, CASE WHEN payment.ledger_status = 'refunded' THEN NULL ELSE task.due_at END,
    task.created, task.created
  FROM payments AS payment
  JOIN provider_tasks AS task ON task.payment_id = payment.id AND task.kind = 'refund'
  WHERE payment.surplus = 1;
UPDATE payments SET refund_cost = provider_cost,
    refunded = CASE WHEN ledger_status = 'refunded' THEN amount + buyer_fee ELSE 0 END,
    refund_pending = CASE WHEN ledger_status = 'refunded' THEN 0 ELSE amount + buyer_fee END
  WHERE surplus = 1;
DELETE FROM provider_tasks WHERE kind = 'refund';

CREATE TABLE simulated_refunds (
  id TEXT PRIMARY KEY,
  reference TEXT NOT NULL,
  amount BIGINT NOT NULL,
  status TEXT NOT NULL,
  reason TEXT,
  created BIGINT NOT NULL
);
CREATE INDEX simulated_refunds_reference ON simulated_refunds (reference);
ALTER TABLE simulated_payments ADD COLUMN captured BIGINT NOT NULL DEFAULT 0;
ALTER TABLE simulated_payments ADD COLUMN refunded BIGINT NOT NULL DEFAULT 0;
UPDATE simulated_payments SET captured = total WHERE status IN ('paid', 'refunded');
UPDATE simulated_payments SET refunded = total WHERE status = 'refunded';
UPDATE simulated_payments SET captured = total - 100 WHERE status = 'pending' AND total > 100 AND EXISTS (
  SELECT 1 FROM provider_messages AS message
  WHERE message.session_id = simulated_payments.session_id AND message.payment_id = simulated_payments.payment_id
    AND message.status = 'paid' AND message.amount = simulated_payments.amount - 100);
`,
};
