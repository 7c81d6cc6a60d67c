import type { Step } from './migration.ts';

/**
 * Creates discrepancies from older flagged messages and surplus payments. Their ids derive from the payment or the
 * session, so that they sort by time. Refunded surplus money is resolved, and so is a wrong amount if its payment was
 * paid later.
 */
export const discrepancies: Step = {
  name: 'discrepancies',
  sql: `
ALTER TABLE payments ADD COLUMN shortfall BIGINT NOT NULL DEFAULT 0;

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

INSERT INTO discrepancies
  SELECT 'dis_' || SUBSTR(payment.id, 5), payment.environment, 'surplus',
    CASE WHEN payment.refunded = payment.amount + payment.buyer_fee THEN 'resolved' ELSE 'open' END, 1,
    payment.session_id, payment.customer_id, payment.id, payment.id, NULL, NULL,
    0, payment.amount, 'USD', CASE WHEN payment.refund_pending > 0 THEN 1 ELSE 0 END,
    (SELECT MAX(refund.id) FROM refunds AS refund WHERE refund.payment_id = payment.id),
    CASE WHEN payment.refunded = payment.amount + payment.buyer_fee THEN 'refunded' ELSE NULL END,
    NULL, payment.created,
    CASE WHEN payment.refunded = payment.amount + payment.buyer_fee THEN payment.created ELSE NULL END
  FROM payments AS payment WHERE payment.surplus = 1;
INSERT INTO discrepancies
  SELECT 'dis_' || SUBSTR(session.id, 5, 30) || (100000 + ROW_NUMBER() OVER (ORDER BY message.received, message.event_id)),
    session.environment,
    CASE WHEN message.outcome = 'amount_mismatch' AND message.amount = session.amount THEN 'currency_mismatch' ELSE message.outcome END,
    CASE WHEN payment.status = 'paid' AND message.outcome = 'amount_mismatch' AND message.amount <> session.amount
      THEN 'resolved' ELSE 'open' END, 1, session.id, session.customer_id, payment.id, COALESCE(message.payment_id, message.event_id),
    message.provider, message.event_id, session.amount, message.amount,
    CASE WHEN message.outcome = 'amount_mismatch' AND message.amount = session.amount THEN NULL ELSE 'USD' END,
    0, NULL, CASE WHEN payment.status = 'paid' AND message.outcome = 'amount_mismatch' AND message.amount <> session.amount
      THEN 'paid_in_full' ELSE NULL END,
    NULL, message.received, CASE WHEN payment.status = 'paid' AND message.outcome = 'amount_mismatch'
      AND message.amount <> session.amount THEN message.received ELSE NULL END
  FROM provider_messages AS message
  JOIN sessions AS session ON session.id = message.session_id
  LEFT JOIN payments AS payment ON payment.id = message.payment_id AND payment.session_id = session.id
  WHERE message.flagged = 1 AND message.status = 'paid'
  ON CONFLICT (session_id, kind, subject) DO NOTHING;
`,
};
