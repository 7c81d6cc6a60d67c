import type { Step } from './migration.ts';

/** The payment id in the message of a record, as the provider wrote it. */
const named = (record: string) => `(SELECT message.payment_id FROM provider_messages AS message
    WHERE message.provider = ${record}.provider AND message.event_id = ${record}.event_id)`;
const NAMED = named('discrepancies');
/** The beginning of the subject of money that cannot be booked. */
const STEM = `COALESCE(${NAMED}, discrepancies.event_id)`;
const ENCODED_STEM = `REPLACE(REPLACE(${STEM}, '%', '%25'), '/', '%2F')`;
const ENCODED = `${ENCODED_STEM} || SUBSTR(discrepancies.subject, LENGTH(${STEM}) + 1)`;
/** Reported amounts are cumulative: the largest report includes the others. */
const LARGER = `FROM discrepancies AS larger
    WHERE larger.session_id = discrepancies.session_id AND larger.kind = discrepancies.kind
      AND larger.currency = discrepancies.currency AND ${named('larger')} = ${NAMED}
      AND (larger.received > discrepancies.received
        OR (larger.received = discrepancies.received AND larger.id < discrepancies.id))`;

/**
 * An unknown payment is unknown whatever its amount, so a resolution covers all its reports. The same money keeps one open
 * record: a record that reports no more than another is closed and names the largest. Records of erased buyers get no note.
 */
export const unknownPayments: Step = {
  name: 'unknown payments',
  sql: `
UPDATE discrepancies SET subject = ${ENCODED}
  WHERE ${STEM} <> ${ENCODED_STEM} AND SUBSTR(discrepancies.subject || '/', 1, LENGTH(${STEM}) + 1) = ${STEM} || '/'
    AND NOT EXISTS (SELECT 1 FROM discrepancies AS other WHERE other.session_id = discrepancies.session_id
      AND other.kind = discrepancies.kind AND other.subject = ${ENCODED});

UPDATE discrepancies SET kind = 'unknown_payment', version = version + 1, subject = CASE WHEN EXISTS (
      SELECT 1 FROM discrepancies AS other WHERE other.session_id = discrepancies.session_id
        AND other.kind = 'unknown_payment' AND other.subject = discrepancies.subject)
    THEN discrepancies.subject || '/' || discrepancies.id ELSE discrepancies.subject END
  WHERE kind = 'amount_mismatch' AND payment_id IS NULL AND COALESCE(currency, 'USD') = 'USD' AND ${NAMED} IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM payments AS payment
      WHERE payment.id = ${NAMED} AND payment.session_id = discrepancies.session_id);

UPDATE discrepancies SET version = version + 1, status = 'resolved', resolution = 'accepted', resolved_at = created,
    note = CASE WHEN EXISTS (SELECT 1 FROM customers AS customer
        WHERE customer.id = discrepancies.customer_id AND customer.status = 'erased')
      THEN NULL ELSE (SELECT 'Counted in ' || larger.id ${LARGER} ORDER BY larger.received DESC, larger.id LIMIT 1) END
  WHERE status = 'open' AND kind IN ('unknown_payment', 'currency_mismatch', 'environment_mismatch')
    AND EXISTS (SELECT 1 ${LARGER});
`,
};
