const TABLES = ['sales_quarter_hours', 'sales_days'].map(
  (table) => `CREATE TABLE ${table} (
  environment TEXT NOT NULL, time BIGINT NOT NULL, route TEXT NOT NULL, kind TEXT NOT NULL,
  count BIGINT NOT NULL, amount BIGINT NOT NULL, buyer_fee BIGINT NOT NULL, gateway_fee BIGINT NOT NULL, cost BIGINT NOT NULL,
  PRIMARY KEY (environment, time, route, kind)
);`,
);

/**
 * Sums of sales, and the facts that they count: the time at which a session expired, and the failure `<source>/<code>` of a payment
 * in its outcome, where it stays if the money arrives later. Old rows get what is known; docs/decisions/sums.md names the limits.
 */
export const salesSchema = `${TABLES.join('\n')}
CREATE TABLE sales_cursors (name TEXT PRIMARY KEY, until BIGINT NOT NULL, detail TEXT NOT NULL);

ALTER TABLE sessions ADD COLUMN expired_at BIGINT;
UPDATE sessions SET expired_at = expires_at WHERE status = 'expired';
CREATE INDEX sessions_expired ON sessions (expired_at) WHERE expired_at IS NOT NULL;

ALTER TABLE route_outcomes ADD COLUMN failure TEXT;
UPDATE route_outcomes SET failure = COALESCE((SELECT failure_source || '/' || failure_code FROM payments
    WHERE id = payment_id), 'unknown/unknown')
  WHERE stage IN ('handoff', 'result') AND result IN ('refused', 'failed', 'neutral');
`;

/**
 * Late money subtracts the failure that it reverses from the sums. The migration stores this failure in the outcome of the late money,
 * and subtracts it from the periods that are already counted. A worker builds the days again.
 */
export const lateFailures = `
UPDATE route_outcomes SET failure = (SELECT failed.failure FROM route_outcomes AS failed
    WHERE failed.payment_id = route_outcomes.payment_id AND failed.failure IS NOT NULL)
  WHERE stage = 'late';
INSERT INTO sales_quarter_hours (environment, time, route, kind, count, amount, buyer_fee, gateway_fee, cost)
  SELECT outcome.environment, outcome.created - outcome.created % 900000 AS quarter, outcome.route_id,
    'failed/' || outcome.failure AS kind, -COUNT(*), -SUM(payment.amount), 0, 0, 0
  FROM route_outcomes AS outcome JOIN payments AS payment ON payment.id = outcome.payment_id
  WHERE outcome.stage = 'late' AND outcome.failure IS NOT NULL
    AND outcome.created < (SELECT until FROM sales_cursors WHERE name = 'quarter_hours')
  GROUP BY outcome.environment, quarter, outcome.route_id, kind
  ON CONFLICT (environment, time, route, kind) DO UPDATE
    SET count = sales_quarter_hours.count + excluded.count, amount = sales_quarter_hours.amount + excluded.amount;
DELETE FROM sales_days;
DELETE FROM sales_cursors WHERE name = 'days';
`;

/**
 * The sums count accepted wrong amounts and reversals. The migration adds earlier ones to the periods that are already counted. A worker
 * builds the days again.
 */
export const bookedCorrections = `
INSERT INTO sales_quarter_hours (environment, time, route, kind, count, amount, buyer_fee, gateway_fee, cost)
  SELECT entry.environment, entry.created - entry.created % 900000 AS quarter, payment.route_id,
    CASE entry.kind WHEN 'reversal' THEN 'reversed' ELSE 'paid' END AS sold,
    0, SUM(CASE entry.kind WHEN 'reversal' THEN entry.amount ELSE -entry.amount END), 0, 0, 0
  FROM ledger_entries AS entry JOIN sales_payments AS payment ON payment.id = entry.payment_id
  WHERE (entry.account = 'merchant_payable' AND entry.kind = 'adjustment' AND payment.surplus = 0
      OR entry.account IN ('merchant_payable', 'buyer_refunds_payable') AND entry.kind = 'reversal')
    AND entry.created < (SELECT until FROM sales_cursors WHERE name = 'quarter_hours')
  GROUP BY entry.environment, quarter, payment.route_id, sold
  ON CONFLICT (environment, time, route, kind) DO UPDATE SET amount = sales_quarter_hours.amount + excluded.amount;
DELETE FROM sales_days;
DELETE FROM sales_cursors WHERE name = 'days';
`;

/** Payments with the id of their route, which is part of a JSON column. */
export const salesViews = {
  sqlite: `CREATE VIEW sales_payments AS SELECT payments.*, json_extract(route, '$.id') AS route_id FROM payments;`,
  postgres: `CREATE VIEW sales_payments AS SELECT payments.*, (route::json ->> 'id') COLLATE "C" AS route_id FROM payments;`,
};
