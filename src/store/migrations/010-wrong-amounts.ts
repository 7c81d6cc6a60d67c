import type { Step } from './migration.ts';

const paymentSql = (what: string) =>
  `(SELECT ${what} FROM payments AS payment WHERE payment.id = discrepancies.payment_id)`;
const ACCOUNTED = paymentSql(`payment.returned + payment.owed + CASE WHEN payment.status = 'paid'
    THEN payment.amount + payment.buyer_fee - payment.shortfall ELSE 0 END`);
const TOOK = paymentSql('payment.amount + payment.buyer_fee - discrepancies.expected + discrepancies.received');
const WHETHER_PAID = paymentSql("payment.status = 'paid'");
/**
 * A wrong amount of which nothing is booked or being refunded. `paid_in_full` is included, because the right amount also
 * closed records of larger amounts.
 */
const undecided = (record: string) => `(${record}.kind = 'amount_mismatch' AND ${record}.payment_id IS NOT NULL
    AND ${record}.refund_id IS NULL AND ${record}.received > 0 AND ${record}.subject <> ${record}.id
    AND (${record}.status = 'open' OR ${record}.resolution = 'paid_in_full'))`;
/** Reported amounts are cumulative: the largest report includes the others. */
const HAS_LARGER_REPORT = `EXISTS (SELECT 1 FROM discrepancies AS larger
    WHERE larger.payment_id = discrepancies.payment_id AND ${undecided('larger')}
      AND (larger.received > discrepancies.received
        OR (larger.received = discrepancies.received AND larger.id < discrepancies.id)))`;

/**
 * Payments store the wrong amounts that were refunded and those whose refund failed. Each payment keeps one open record with
 * the excess. Reports beyond every record of the same money become records to be closed by hand.
 */
export const wrongAmounts: Step = {
  name: 'wrong amounts',
  sql: `
ALTER TABLE payments ADD COLUMN returned BIGINT NOT NULL DEFAULT 0;
ALTER TABLE payments ADD COLUMN owed BIGINT NOT NULL DEFAULT 0;
UPDATE payments SET returned = (SELECT SUM(refund.amount) FROM refunds AS refund
    WHERE refund.payment_id = payments.id AND refund.reason = 'mismatch' AND refund.status <> 'failed')
  WHERE id IN (SELECT payment_id FROM refunds WHERE reason = 'mismatch' AND status <> 'failed');
UPDATE payments SET owed = (SELECT SUM(refund.amount) FROM discrepancies AS record
    JOIN refunds AS refund ON refund.id = record.refund_id
    WHERE record.payment_id = payments.id AND record.kind = 'amount_mismatch' AND record.status = 'open'
      AND refund.status = 'failed')
  WHERE id IN (SELECT record.payment_id FROM discrepancies AS record JOIN refunds AS refund ON refund.id = record.refund_id
    WHERE record.kind = 'amount_mismatch' AND record.status = 'open' AND refund.status = 'failed');

UPDATE discrepancies SET event_id = COALESCE((SELECT MIN(message.event_id) FROM provider_messages AS message
    WHERE message.session_id = discrepancies.session_id AND message.provider = discrepancies.provider
      AND message.flagged = 1 AND message.status = 'paid' AND message.amount = discrepancies.received
      AND COALESCE(message.payment_id, message.event_id) = discrepancies.subject), event_id)
  WHERE kind = 'amount_mismatch';
INSERT INTO discrepancies
  SELECT 'dis_' || SUBSTR(session.id, 5, 30) || (200000 + ROW_NUMBER() OVER (ORDER BY message.received, message.event_id)),
    session.environment, message.outcome, 'open', 1, session.id, session.customer_id, NULL,
    COALESCE(message.payment_id || '/', '') || message.event_id, message.provider, message.event_id, session.amount, message.amount,
    NULL, 0, NULL, NULL, NULL, message.received, NULL
  FROM provider_messages AS message
  JOIN sessions AS session ON session.id = message.session_id
  WHERE message.flagged = 1 AND message.status = 'paid' AND NOT EXISTS (
    SELECT 1 FROM discrepancies AS known WHERE known.session_id = message.session_id
      AND (known.kind = message.outcome OR (known.kind = 'currency_mismatch' AND message.outcome = 'amount_mismatch'))
      AND (message.payment_id IS NULL OR known.subject = message.payment_id OR known.payment_id = message.payment_id)
      AND known.received >= message.amount)
  ON CONFLICT (session_id, kind, subject) DO NOTHING;
UPDATE discrepancies SET subject = subject || '/' || currency
  WHERE kind IN ('currency_mismatch', 'environment_mismatch') AND currency <> 'USD';
UPDATE discrepancies SET subject = payment_id || '/nothing'
  WHERE kind = 'amount_mismatch' AND received <= 0 AND subject = payment_id;

UPDATE discrepancies SET version = version + 1, subject = id, status = 'resolved',
    resolution = CASE WHEN ${WHETHER_PAID} THEN 'paid_in_full' ELSE 'accepted' END,
    resolved_at = COALESCE(resolved_at, created)
  WHERE ${undecided('discrepancies')} AND (${TOOK} <= ${ACCOUNTED} OR ${HAS_LARGER_REPORT});
UPDATE discrepancies SET version = version + 1, status = 'open', resolution = NULL, resolved_at = NULL, expected = 0,
    received = ${TOOK} - ${ACCOUNTED}, subject = payment_id || '/' || ${ACCOUNTED}
  WHERE ${undecided('discrepancies')} AND ${ACCOUNTED} > 0;
UPDATE discrepancies SET subject = payment_id WHERE ${undecided('discrepancies')} AND ${ACCOUNTED} = 0;
`,
};
