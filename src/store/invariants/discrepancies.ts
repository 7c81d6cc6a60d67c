import { DISCREPANCY_KINDS, DISCREPANCY_STATUSES, RESOLUTIONS } from '../../domain/discrepancy.ts';
import { type Invariant, quoted } from './invariant.ts';

/** Money that is not where it should be is in the list, and what was decided about it is in the books. */
export const DISCREPANCY_INVARIANTS: readonly Invariant[] = [
  {
    name: 'discrepancy_state',
    says: 'A discrepancy is of a known kind, resolved exactly when it says how and when, and being refunded only while open.',
    sql: `SELECT id FROM discrepancies
      WHERE kind NOT IN (${quoted(DISCREPANCY_KINDS)}) OR status NOT IN (${quoted(DISCREPANCY_STATUSES)})
        OR COALESCE(resolution, 'accepted') NOT IN (${quoted(RESOLUTIONS)}) OR version < 1
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
    says: 'Every flagged message that tells of money has a discrepancy of its session.',
    sql: `SELECT message.provider || ' ' || message.event_id AS id FROM provider_messages AS message
      WHERE message.flagged = 1 AND message.status = 'paid' AND NOT EXISTS (
        SELECT 1 FROM discrepancies AS discrepancy WHERE discrepancy.session_id = message.session_id
          AND discrepancy.subject = COALESCE(message.payment_id, message.event_id))
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
              AND (discrepancy.kind = 'surplus' OR refund.id = discrepancy.refund_id)))
        OR (discrepancy.resolution = 'refunded' AND NOT EXISTS (
          SELECT 1 FROM refunds AS refund
          WHERE refund.id = discrepancy.refund_id AND refund.status = 'succeeded'))
      ORDER BY id LIMIT ?1`,
  },
  {
    name: 'discrepancy_accepted',
    says: 'A surplus is kept, and a shortfall borne, exactly where that was accepted, and the books say so.',
    sql: `SELECT payment.id AS id FROM payments AS payment
      WHERE (payment.kept = 1) <> EXISTS (SELECT 1 FROM discrepancies AS discrepancy
          WHERE discrepancy.payment_id = payment.id AND discrepancy.kind = 'surplus' AND discrepancy.resolution = 'accepted')
        OR ((payment.kept = 1 OR payment.shortfall <> 0) AND NOT EXISTS (
          SELECT 1 FROM discrepancies AS discrepancy
          JOIN ledger_entries AS entry ON entry.posting_id = discrepancy.id || ':adjustment'
          WHERE discrepancy.payment_id = payment.id AND discrepancy.resolution = 'accepted'
            AND (payment.kept = 1 OR payment.shortfall = discrepancy.expected - discrepancy.received)))
      ORDER BY id LIMIT ?1`,
  },
  {
    name: 'buyer_owed',
    says: 'Of a paid payment the buyer is owed nothing but refunds under way, surplus that is not kept, and what is still to be decided.',
    sql: `SELECT payment.id AS id FROM payments AS payment
      JOIN ledger_entries AS entry ON entry.payment_id = payment.id AND entry.session_id = payment.session_id
      WHERE payment.status = 'paid' AND entry.account = 'buyer_refunds_payable'
        AND (payment.surplus = 0 OR payment.kept = 1)
        AND NOT EXISTS (SELECT 1 FROM refunds AS refund WHERE refund.payment_id = payment.id AND refund.status = 'pending')
        AND NOT EXISTS (SELECT 1 FROM discrepancies AS discrepancy
          WHERE discrepancy.payment_id = payment.id AND discrepancy.kind = 'amount_mismatch' AND discrepancy.status = 'open')
      GROUP BY payment.id HAVING SUM(entry.amount) <> 0 ORDER BY id LIMIT ?1`,
  },
];
