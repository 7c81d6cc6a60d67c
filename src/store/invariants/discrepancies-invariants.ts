import { DISCREPANCY_KINDS, DISCREPANCY_STATUSES, RESOLUTIONS } from '../../domain/records.ts';
import { type Invariant, sqlList } from './invariant.ts';

const ACCOUNTED = `(CASE WHEN payment.status = 'paid' THEN payment.amount + payment.buyer_fee - payment.shortfall ELSE 0 END
  + payment.returned + payment.owed)`;

/** Money that is not where it should be is in the list, and what was decided about it is in the books. */
export const DISCREPANCY_INVARIANTS: readonly Invariant[] = [
  {
    name: 'discrepancy_state',
    says: 'A discrepancy is of a known kind, resolved exactly when it says how and when, and being refunded only while open.',
    sql: `SELECT id FROM discrepancies
      WHERE kind NOT IN (${sqlList(DISCREPANCY_KINDS)}) OR status NOT IN (${sqlList(DISCREPANCY_STATUSES)})
        OR COALESCE(resolution, 'accepted') NOT IN (${sqlList(RESOLUTIONS)}) OR version < 1
        OR (status = 'resolved') <> (resolution IS NOT NULL) OR (status = 'resolved') <> (resolved_at IS NOT NULL)
        OR (refunding <> 0 AND (status = 'resolved' OR refunding <> 1))
      ORDER BY id LIMIT ?1`,
  },
  {
    name: 'discrepancy_session',
    says: 'A discrepancy has a session of the same environment and customer, and names no payment but one of it.',
    sql: `SELECT discrepancy.id AS id FROM discrepancies AS discrepancy
      LEFT JOIN sessions AS session ON session.id = discrepancy.session_id
      LEFT JOIN payments AS payment ON payment.id = discrepancy.payment_id
      WHERE session.id IS NULL OR session.environment <> discrepancy.environment
        OR session.customer_id <> discrepancy.customer_id
        OR (discrepancy.payment_id IS NOT NULL AND COALESCE(payment.session_id, '') <> session.id)
      ORDER BY id LIMIT ?1`,
  },
  {
    name: 'surplus_listed',
    says: 'Every surplus payment has a discrepancy, and every discrepancy of that kind a surplus payment.',
    sql: `SELECT payment.id AS id FROM payments AS payment WHERE payment.surplus = 1 AND NOT EXISTS (
        SELECT 1 FROM discrepancies AS discrepancy
        WHERE discrepancy.payment_id = payment.id AND discrepancy.kind = 'surplus')
      UNION SELECT discrepancy.id AS id FROM discrepancies AS discrepancy
        LEFT JOIN payments AS payment ON payment.id = discrepancy.payment_id
        WHERE discrepancy.kind = 'surplus' AND COALESCE(payment.surplus, 0) = 0
      ORDER BY id LIMIT ?1`,
  },
  {
    name: 'mismatch_listed',
    says: 'Every flagged message that reports money, or reuses an event id, is in a discrepancy of its session, or reports no more than one that is.',
    sql: `SELECT message.provider || ' ' || message.event_id AS id FROM provider_messages AS message
      WHERE message.flagged = 1 AND (message.status = 'paid' OR message.outcome = 'event_conflict') AND NOT EXISTS (
        SELECT 1 FROM discrepancies AS discrepancy
        LEFT JOIN provider_messages AS told
          ON told.provider = discrepancy.provider AND told.event_id = discrepancy.event_id
          AND CASE discrepancy.kind WHEN 'event_conflict' THEN told.conflict = discrepancy.session_id
            WHEN 'environment_mismatch' THEN told.conflict = '' AND told.environment <> discrepancy.environment
            ELSE told.conflict = '' AND told.environment = discrepancy.environment END
        WHERE discrepancy.session_id = message.session_id
          AND (discrepancy.kind = message.outcome
            OR (discrepancy.kind = 'currency_mismatch' AND message.outcome = 'amount_mismatch')
            OR (discrepancy.kind = 'unknown_payment' AND message.outcome = 'amount_mismatch'
              AND message.payment_id IS NOT NULL))
          AND (message.payment_id IS NULL OR COALESCE(told.payment_id, message.payment_id) = message.payment_id)
          AND (discrepancy.received >= message.amount OR told.amount >= message.amount))
      ORDER BY id LIMIT ?1`,
  },
  {
    name: 'wrong_amount_beyond',
    says: 'What is open of a wrong amount, and not decided on, is what came beyond all that is.',
    sql: `SELECT discrepancy.id AS id FROM discrepancies AS discrepancy
      JOIN payments AS payment ON payment.id = discrepancy.payment_id
        AND payment.session_id = discrepancy.session_id
      WHERE discrepancy.kind = 'amount_mismatch' AND discrepancy.status = 'open' AND discrepancy.refund_id IS NULL
        AND discrepancy.received > 0
        AND discrepancy.subject <> payment.id || CASE WHEN ${ACCOUNTED} = 0 THEN '' ELSE '/' || ${ACCOUNTED} END
      ORDER BY id LIMIT ?1`,
  },
  {
    name: 'payment_returns',
    says: 'A payment counts what of wrong amounts is with the buyer or on its way there, and what could not go back.',
    sql: `SELECT payment.id AS id FROM payments AS payment
      LEFT JOIN (SELECT payment_id, SUM(amount) AS amount FROM refunds
        WHERE reason = 'mismatch' AND status <> 'failed' GROUP BY payment_id) AS made ON made.payment_id = payment.id
      LEFT JOIN (SELECT discrepancy.payment_id AS payment_id, SUM(refund.amount) AS amount
        FROM discrepancies AS discrepancy JOIN refunds AS refund ON refund.id = discrepancy.refund_id
        WHERE discrepancy.kind = 'amount_mismatch' AND discrepancy.status = 'open' AND refund.status = 'failed'
        GROUP BY discrepancy.payment_id) AS failed ON failed.payment_id = payment.id
      WHERE payment.returned <> COALESCE(made.amount, 0) OR payment.owed <> COALESCE(failed.amount, 0)
      ORDER BY id LIMIT ?1`,
  },
  {
    name: 'discrepancy_refund',
    says: 'An open discrepancy is being refunded exactly while a refund of its money is pending, and a refunded one has one that succeeded.',
    sql: `SELECT discrepancy.id AS id FROM discrepancies AS discrepancy
      WHERE (discrepancy.status = 'open' AND discrepancy.kind IN ('surplus', 'amount_mismatch')
          AND (discrepancy.refunding = 1) <> EXISTS (
            SELECT 1 FROM refunds AS refund WHERE refund.payment_id = discrepancy.payment_id
              AND refund.status = 'pending'
              AND CASE WHEN discrepancy.kind = 'surplus' THEN COALESCE(refund.reason, '') <> 'mismatch'
                ELSE refund.id = discrepancy.refund_id END))
        OR (discrepancy.resolution = 'refunded' AND NOT EXISTS (
          SELECT 1 FROM refunds AS refund
          WHERE refund.id = discrepancy.refund_id AND refund.status = 'succeeded'))
      ORDER BY id LIMIT ?1`,
  },
  {
    name: 'discrepancy_accepted',
    says: 'A surplus is kept exactly where that was accepted, and what is short of a payment is what the books took from the merchant.',
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
        OR payment.shortfall <> CASE WHEN payment.surplus = 1 THEN 0 ELSE COALESCE(borne.amount, 0) END
      ORDER BY id LIMIT ?1`,
  },
  {
    name: 'buyer_owed',
    says: 'The books owe the buyer the refunds in progress, the money that could not be returned, and surplus that the merchant does not keep.',
    sql: `SELECT payment.id AS id FROM payments AS payment
      LEFT JOIN (SELECT payment_id, SUM(amount) AS amount FROM ledger_entries
        WHERE account = 'buyer_refunds_payable' GROUP BY payment_id) AS booked ON booked.payment_id = payment.id
      LEFT JOIN (SELECT payment_id, SUM(amount) AS amount FROM refunds
        WHERE status = 'pending' GROUP BY payment_id) AS leaving ON leaving.payment_id = payment.id
      WHERE COALESCE(booked.amount, 0) + COALESCE(leaving.amount, 0) + payment.owed <> CASE
        WHEN payment.surplus = 1 AND payment.kept = 0
        THEN payment.refunded + payment.refund_pending - payment.amount - payment.buyer_fee ELSE 0 END
      ORDER BY id LIMIT ?1`,
  },
];
