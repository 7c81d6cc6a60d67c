import { DISCREPANCY_KINDS, DISCREPANCY_STATUSES, RESOLUTIONS } from '../../domain/records.ts';
import { ERASED_BODY } from '../../domain/personal-data.ts';
import { duplicates, invariants, orphans, sqlList } from './invariant.ts';

// Excludes refunds of a wrong amount, because the wrong amount was never booked as part of the payment.
const SUMS = `SELECT payment_id,
    SUM(CASE WHEN status = 'succeeded' THEN amount ELSE 0 END) AS refunded,
    SUM(CASE WHEN status = 'pending' THEN amount ELSE 0 END) AS pending,
    SUM(CASE WHEN status <> 'failed' THEN gateway_share ELSE 0 END) AS gateway,
    SUM(CASE WHEN status <> 'failed' THEN cost_share ELSE 0 END) AS cost
  FROM refunds WHERE COALESCE(reason, '') <> 'mismatch' GROUP BY payment_id`;
const TOTAL = '(payment.amount + payment.buyer_fee - payment.shortfall)';

const ACCOUNTED = `(CASE WHEN payment.status = 'paid' THEN payment.amount + payment.buyer_fee - payment.shortfall ELSE 0 END
  + payment.returned + payment.owed)`;

const PLACEHOLDER = "'erased+' || customer.id || '@erased.invalid'";

/** Provider messages, refunds, discrepancies and erased buyers. */
export const MONEY_INVARIANTS = invariants({
  // Provider messages and provider tasks.
  message_flag: {
    says: 'A provider message is flagged if and only if it was neither applied nor ignored.',
    sql: `SELECT provider || ' ' || event_id AS id FROM provider_messages
      WHERE (flagged = 0) <> (outcome IN ('applied', 'ignored'))`,
  },
  message_session: {
    says: 'A provider message has a session; without a flag, it names no payment of another session, and a payment or settlement has a valid amount.',
    sql: `SELECT message.provider || ' ' || message.event_id AS id FROM provider_messages AS message
      LEFT JOIN sessions AS session ON session.id = message.session_id
      LEFT JOIN payments AS payment ON payment.id = message.payment_id
      WHERE session.id IS NULL OR (message.outcome IN ('applied', 'ignored') AND (
        (message.about IN ('payment', 'settlement') AND session.amount <> message.amount AND NOT (message.status = 'paid' AND (
          EXISTS (SELECT 1 FROM refunds WHERE refunds.session_id = session.id AND refunds.reason = 'mismatch')
          OR (message.outcome = 'ignored' AND EXISTS (
            SELECT 1 FROM payments AS other WHERE other.session_id = session.id AND other.status = 'paid')))))
        OR (message.payment_id IS NOT NULL AND COALESCE(payment.session_id, '') <> message.session_id)))`,
  },
  message_origin: {
    says: 'A provider message without a flag has the environment of its session and the provider of its payment.',
    sql: `SELECT message.provider || ' ' || message.event_id AS id FROM provider_messages AS message
      JOIN sessions AS session ON session.id = message.session_id
      LEFT JOIN payments AS payment ON payment.id = message.payment_id
      WHERE message.outcome IN ('applied', 'ignored') AND (message.environment <> session.environment
        OR REPLACE(payment.route, '"provider":"' || message.provider || '"', '') = payment.route)`,
  },
  applied_message: {
    says: 'The session of an applied message is neither routed nor expired; if the message reported a payment as paid, the session is paid.',
    sql: `SELECT message.provider || ' ' || message.event_id AS id FROM provider_messages AS message
      JOIN sessions AS session ON session.id = message.session_id
      LEFT JOIN payments AS payment ON payment.id = message.payment_id
      WHERE message.outcome = 'applied' AND (session.status IN ('routed', 'expired')
        OR (message.status = 'paid' AND (session.status <> 'paid' OR COALESCE(payment.status, 'paid') <> 'paid')))`,
  },
  money_has_message: {
    // Counts the messages of a payment once: a later message about it can be applied for the provider's charge alone.
    says: 'Every paid payment has an applied message or an accepted wrong amount, and every applied report of money has a paid payment.',
    sql: `SELECT session_id AS id FROM (
        SELECT session_id, 1 AS paid, 0 AS reported, 0 AS accepted FROM payments WHERE status = 'paid'
        UNION ALL SELECT session_id, 0, COUNT(DISTINCT COALESCE(payment_id, event_id)), 0 FROM provider_messages
          WHERE outcome = 'applied' AND status = 'paid' GROUP BY session_id
        UNION ALL SELECT session_id, 0, 0, 1 FROM payments WHERE status = 'paid' AND id IN (
          SELECT payment_id FROM discrepancies WHERE kind = 'amount_mismatch' AND resolution = 'accepted')
      ) AS money GROUP BY session_id HAVING SUM(reported) > SUM(paid) OR SUM(paid) > SUM(reported) + SUM(accepted)`,
  },
  task_payment: {
    says: 'A provider task has a payment of the same session.',
    sql: orphans('provider_tasks', 'payment_id', 'payments', ['session_id'], {
      id: 'payment_id',
      or: 'child.attempts < 0',
    }),
  },
  cancel_task: {
    says: 'Every abandoned payment has a cancellation task, and no pending payment has one.',
    sql: `SELECT payment.id AS id FROM payments AS payment
      LEFT JOIN provider_tasks AS task ON task.payment_id = payment.id AND task.kind = 'cancel'
      WHERE (payment.failure_code IN ('abandoned', 'timed_out', 'amount_mismatch', 'superseded') AND task.payment_id IS NULL)
        OR (payment.status = 'pending' AND task.payment_id IS NOT NULL)`,
  },
  // Refunds, and the refund totals of payments. The ledger invariants check the postings of refunds.
  refund_payment: {
    says: 'A refund has a positive amount and a payment with the same session and environment.',
    sql: orphans('refunds', 'payment_id', 'payments', ['session_id', 'environment'], { or: 'child.amount <= 0' }),
  },
  refund_shares: {
    says: 'The shares of the merchant and the gateway add up to the amount of a refund, or to 0 for a surplus or a wrong amount.',
    sql: `SELECT id FROM refunds
      WHERE merchant_share + gateway_share NOT IN (0, amount)
        OR (merchant_share + gateway_share = 0 AND COALESCE(reason, '') IN ('requested_by_customer', 'duplicate', 'fraudulent')
          AND NOT EXISTS (SELECT 1 FROM payments WHERE payments.id = refunds.payment_id AND payments.surplus = 1))
        OR (reason = 'mismatch' AND (merchant_share <> 0 OR gateway_share <> 0 OR cost_share <> 0))`,
  },
  refund_state: {
    says: 'A refund has a scheduled inquiry if and only if it is pending, and a failure reason if and only if it failed.',
    sql: `SELECT id FROM refunds
      WHERE (status = 'pending') <> (due_at IS NOT NULL) OR (status = 'failed') <> (failure_reason IS NOT NULL)
        OR attempts < 0`,
  },
  one_refund_per_key: {
    says: 'An environment has at most one refund per idempotency key.',
    sql: duplicates('refunds', 'environment, idempotency_key', { where: 'idempotency_key IS NOT NULL' }),
  },
  refund_key_request: {
    says: 'A refund has a request hash if and only if it has an idempotency key.',
    sql: 'SELECT id FROM refunds WHERE (idempotency_key IS NULL) <> (request_hash IS NULL)',
  },
  payment_refunds: {
    says: 'The refund totals of a payment (succeeded, pending, share of the gateway, share of the cost) equal the sums of its refunds.',
    sql: `SELECT payment.id AS id FROM payments AS payment LEFT JOIN (${SUMS}) AS made ON made.payment_id = payment.id
      WHERE payment.refunded <> COALESCE(made.refunded, 0) OR payment.refund_pending <> COALESCE(made.pending, 0)
        OR payment.refund_gateway <> COALESCE(made.gateway, 0) OR payment.refund_cost <> COALESCE(made.cost, 0)`,
  },
  refund_bound: {
    says: 'The succeeded and pending refunds of a payment are at most its total less its shortfall.',
    sql: `SELECT payment.id AS id FROM payments AS payment
      WHERE payment.refunded < 0 OR payment.refund_pending < 0 OR payment.refunded + payment.refund_pending > ${TOTAL}
        OR (payment.status <> 'paid' AND payment.refunded + payment.refund_pending <> 0)`,
  },
  ledger_status: {
    says: 'The ledger status of a paid payment is refunded if its whole total is refunded, otherwise settled if it is settled, otherwise pending.',
    sql: `SELECT payment.id AS id FROM payments AS payment
      WHERE payment.status = 'paid' AND payment.ledger_status <> CASE
        WHEN payment.refunded = ${TOTAL} THEN 'refunded' WHEN payment.settled = 1 THEN 'settled' ELSE 'pending' END`,
  },
  surplus_refund: {
    says: 'Every surplus payment has an automatic refund, and no other payment has one.',
    sql: `SELECT payment.id AS id FROM payments AS payment
      WHERE (payment.surplus = 1) <> EXISTS (
        SELECT 1 FROM refunds WHERE refunds.payment_id = payment.id AND refunds.reason = 'surplus')`,
  },
  refund_message: {
    says: 'A message about a refund names a refund of its session; a message without a flag also has the amount of that refund.',
    sql: `SELECT message.provider || ' ' || message.event_id AS id FROM provider_messages AS message
      LEFT JOIN refunds AS refund ON refund.id = message.refund_id
      WHERE message.refund_id IS NOT NULL AND (refund.id IS NULL OR refund.session_id <> message.session_id
        OR (message.flagged = 0 AND message.amount <> refund.amount))`,
  },
  // Discrepancies, and the postings of their resolutions.
  discrepancy_state: {
    says: 'A discrepancy has a known kind; it has a resolution and a resolution time if and only if it is resolved; only open ones have a refund in progress.',
    sql: `SELECT id FROM discrepancies
      WHERE kind NOT IN (${sqlList(DISCREPANCY_KINDS)}) OR status NOT IN (${sqlList(DISCREPANCY_STATUSES)})
        OR COALESCE(resolution, 'accepted') NOT IN (${sqlList(RESOLUTIONS)}) OR version < 1
        OR (status = 'resolved') <> (resolution IS NOT NULL) OR (status = 'resolved') <> (resolved_at IS NOT NULL)
        OR (refunding <> 0 AND (status = 'resolved' OR refunding <> 1))`,
  },
  discrepancy_session: {
    says: 'A discrepancy has a session with the same environment and customer, and names only a payment of that session.',
    sql: `SELECT discrepancy.id AS id FROM discrepancies AS discrepancy
      LEFT JOIN sessions AS session ON session.id = discrepancy.session_id
      LEFT JOIN payments AS payment ON payment.id = discrepancy.payment_id
      WHERE session.id IS NULL OR session.environment <> discrepancy.environment
        OR session.customer_id <> discrepancy.customer_id
        OR (discrepancy.payment_id IS NOT NULL AND COALESCE(payment.session_id, '') <> session.id)`,
  },
  surplus_listed: {
    says: 'Every surplus payment has a surplus discrepancy, and every surplus discrepancy has a surplus payment.',
    sql: `SELECT payment.id AS id FROM payments AS payment WHERE payment.surplus = 1 AND NOT EXISTS (
        SELECT 1 FROM discrepancies AS discrepancy
        WHERE discrepancy.payment_id = payment.id AND discrepancy.kind = 'surplus')
      UNION SELECT discrepancy.id AS id FROM discrepancies AS discrepancy
        LEFT JOIN payments AS payment ON payment.id = discrepancy.payment_id
        WHERE discrepancy.kind = 'surplus' AND COALESCE(payment.surplus, 0) = 0`,
  },
  mismatch_listed: {
    says: 'Every flagged message that reports money or reuses an event id has a discrepancy of its session that covers it.',
    sql: `SELECT message.provider || ' ' || message.event_id AS id FROM provider_messages AS message
      WHERE message.flagged = 1 AND (message.status = 'paid' OR message.outcome = 'event_conflict') AND NOT EXISTS (
        SELECT 1 FROM discrepancies AS discrepancy
        LEFT JOIN provider_messages AS report
          ON report.provider = discrepancy.provider AND report.event_id = discrepancy.event_id
          AND CASE discrepancy.kind WHEN 'event_conflict' THEN report.conflict = discrepancy.session_id
            WHEN 'environment_mismatch' THEN report.conflict = '' AND report.environment <> discrepancy.environment
            ELSE report.conflict = '' AND report.environment = discrepancy.environment END
        WHERE discrepancy.session_id = message.session_id
          AND (discrepancy.kind = message.outcome
            OR (discrepancy.kind = 'currency_mismatch' AND message.outcome = 'amount_mismatch')
            OR (discrepancy.kind = 'unknown_payment' AND message.outcome = 'amount_mismatch'
              AND message.payment_id IS NOT NULL))
          AND (message.payment_id IS NULL OR COALESCE(report.payment_id, message.payment_id) = message.payment_id)
          AND (discrepancy.received >= message.amount OR report.amount >= message.amount))`,
  },
  wrong_amount_beyond: {
    says: 'The subject of an open wrong amount names the payment and the part of its money that is accounted for.',
    sql: `SELECT discrepancy.id AS id FROM discrepancies AS discrepancy
      JOIN payments AS payment ON payment.id = discrepancy.payment_id
        AND payment.session_id = discrepancy.session_id
      WHERE discrepancy.kind = 'amount_mismatch' AND discrepancy.status = 'open' AND discrepancy.refund_id IS NULL
        AND discrepancy.received > 0
        AND discrepancy.subject <> payment.id || CASE WHEN ${ACCOUNTED} = 0 THEN '' ELSE '/' || ${ACCOUNTED} END`,
  },
  payment_returns: {
    says: 'The totals of a payment for refunds of wrong amounts (succeeded or pending, and failed) equal the sums of these refunds.',
    sql: `SELECT payment.id AS id FROM payments AS payment
      LEFT JOIN (SELECT payment_id, SUM(amount) AS amount FROM refunds
        WHERE reason = 'mismatch' AND status <> 'failed' GROUP BY payment_id) AS made ON made.payment_id = payment.id
      LEFT JOIN (SELECT discrepancy.payment_id AS payment_id, SUM(refund.amount) AS amount
        FROM discrepancies AS discrepancy JOIN refunds AS refund ON refund.id = discrepancy.refund_id
        WHERE discrepancy.kind = 'amount_mismatch' AND discrepancy.status = 'open' AND refund.status = 'failed'
        GROUP BY discrepancy.payment_id) AS failed ON failed.payment_id = payment.id
      WHERE payment.returned <> COALESCE(made.amount, 0) OR payment.owed <> COALESCE(failed.amount, 0)`,
  },
  discrepancy_refund: {
    says: 'An open discrepancy is marked as in refund if and only if a refund of its money is pending; a refunded discrepancy has a succeeded refund.',
    sql: `SELECT discrepancy.id AS id FROM discrepancies AS discrepancy
      WHERE (discrepancy.status = 'open' AND discrepancy.kind IN ('surplus', 'amount_mismatch')
          AND (discrepancy.refunding = 1) <> EXISTS (
            SELECT 1 FROM refunds AS refund WHERE refund.payment_id = discrepancy.payment_id
              AND refund.status = 'pending'
              AND CASE WHEN discrepancy.kind = 'surplus' THEN COALESCE(refund.reason, '') <> 'mismatch'
                ELSE refund.id = discrepancy.refund_id END))
        OR (discrepancy.resolution = 'refunded' AND NOT EXISTS (
          SELECT 1 FROM refunds AS refund
          WHERE refund.id = discrepancy.refund_id AND refund.status = 'succeeded'))`,
  },
  discrepancy_accepted: {
    says: 'A surplus is marked accepted if and only if its discrepancy was accepted; the shortfall of a payment equals its adjustment posting.',
    sql: `SELECT payment.id AS id FROM payments AS payment
      LEFT JOIN (SELECT payment_id, SUM(amount) AS amount FROM ledger_entries
        WHERE kind = 'adjustment' AND account = 'merchant_payable' GROUP BY payment_id) AS borne
        ON borne.payment_id = payment.id
      WHERE (payment.kept = 1) <> EXISTS (SELECT 1 FROM discrepancies AS discrepancy
          WHERE discrepancy.payment_id = payment.id AND discrepancy.kind = 'surplus' AND discrepancy.resolution = 'accepted')
        OR (payment.kept = 1 AND NOT EXISTS (
          SELECT 1 FROM discrepancies AS discrepancy
          JOIN ledger_entries AS entry ON entry.posting_id = discrepancy.id || ':adjustment'
          WHERE discrepancy.payment_id = payment.id AND discrepancy.resolution = 'accepted'))
        OR payment.shortfall <> CASE WHEN payment.surplus = 1 THEN 0 ELSE COALESCE(borne.amount, 0) END`,
  },
  buyer_owed: {
    says: 'The ledger owes the buyer exactly the pending refunds that no provider has deducted, the failed refunds of wrong amounts, and each surplus that is not accepted.',
    sql: `SELECT payment.id AS id FROM payments AS payment
      LEFT JOIN (SELECT payment_id, SUM(amount) AS amount FROM ledger_entries
        WHERE account = 'buyer_refunds_payable' GROUP BY payment_id) AS booked ON booked.payment_id = payment.id
      LEFT JOIN (SELECT payment_id, SUM(amount) AS amount FROM refunds
        WHERE status = 'pending' AND deducted = 0 GROUP BY payment_id) AS leaving ON leaving.payment_id = payment.id
      WHERE COALESCE(booked.amount, 0) + COALESCE(leaving.amount, 0) + payment.owed <> CASE
        WHEN payment.surplus = 1 AND payment.kept = 0
        THEN payment.refunded + payment.refund_pending - payment.amount - payment.buyer_fee ELSE 0 END`,
  },
  // Personal data of buyers who were erased.
  erased_customer: {
    says: 'A customer has a placeholder email address if and only if the customer is erased; only blocked customers have a block reason.',
    sql: `SELECT customer.id AS id FROM customers AS customer
      WHERE (customer.status = 'erased') <> (customer.email = ${PLACEHOLDER})
        OR (customer.status <> 'blocked' AND customer.status_reason IS NOT NULL)`,
  },
  erased_session: {
    says: 'The sessions of an erased customer contain no personal data, and none of them is open for payment.',
    sql: `SELECT session.id AS id FROM customers AS customer JOIN sessions AS session ON session.customer_id = customer.id
      WHERE customer.status = 'erased' AND (session.status = 'routed' OR session.metadata <> '{}'
        OR session.redirect_url IS NOT NULL OR session.client_reference_id IS NOT NULL OR session.request_hash IS NOT NULL
        OR COALESCE(session.idempotency_key, 'erased:') NOT LIKE 'erased:%')`,
  },
  erased_records: {
    says: 'The records of an erased customer contain no metadata, callback bodies, failure reasons, webhook responses or notes; to repair, erase the customer again.',
    sql: `SELECT DISTINCT session.id AS id FROM customers AS customer
      JOIN sessions AS session ON session.customer_id = customer.id
      WHERE customer.status = 'erased' AND (
        EXISTS (SELECT 1 FROM payments WHERE session_id = session.id AND (metadata <> '{}' OR failure_reason IS NOT NULL))
        OR EXISTS (SELECT 1 FROM invoices WHERE session_id = session.id AND metadata <> '{}')
        OR EXISTS (SELECT 1 FROM events WHERE session_id = session.id AND body LIKE '%"metadata":{"%')
        OR EXISTS (SELECT 1 FROM provider_messages WHERE session_id = session.id AND body <> '${ERASED_BODY}')
        OR EXISTS (SELECT 1 FROM deliveries AS delivery JOIN delivery_attempts AS attempt
          ON attempt.delivery_id = delivery.id WHERE delivery.session_id = session.id AND attempt.response_body <> '')
        OR EXISTS (SELECT 1 FROM discrepancies WHERE session_id = session.id AND note IS NOT NULL))`,
  },
});
