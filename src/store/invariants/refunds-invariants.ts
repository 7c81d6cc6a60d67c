import { duplicates, invariants, orphans } from './invariant.ts';

// Money returned as a mismatch was never booked as its payment, which does not count it.
const SUMS = `SELECT payment_id,
    SUM(CASE WHEN status = 'succeeded' THEN amount ELSE 0 END) AS refunded,
    SUM(CASE WHEN status = 'pending' THEN amount ELSE 0 END) AS pending,
    SUM(CASE WHEN status <> 'failed' THEN gateway_share ELSE 0 END) AS gateway,
    SUM(CASE WHEN status <> 'failed' THEN cost_share ELSE 0 END) AS cost
  FROM refunds WHERE COALESCE(reason, '') <> 'mismatch' GROUP BY payment_id`;
const TOTAL = '(payment.amount + payment.buyer_fee - payment.shortfall)';

/** Refunds, and the sums of them that payments count. Their postings are checked with the ledger. */
export const REFUND_INVARIANTS = invariants({
  refund_payment: {
    says: 'A refund is of some amount of a payment, of the same session and environment.',
    sql: orphans('refunds', 'payment_id', 'payments', ['session_id', 'environment'], { or: ['child.amount <= 0'] }),
  },
  refund_shares: {
    says: 'A refund takes its amount from the merchant and the gateway, but for money that was owed to the buyer from the start.',
    sql: `SELECT id FROM refunds
      WHERE merchant_share + gateway_share NOT IN (0, amount)
        OR (merchant_share + gateway_share = 0 AND COALESCE(reason, '') IN ('requested_by_customer', 'duplicate', 'fraudulent')
          AND NOT EXISTS (SELECT 1 FROM payments WHERE payments.id = refunds.payment_id AND payments.surplus = 1))
        OR (reason = 'mismatch' AND (merchant_share <> 0 OR gateway_share <> 0 OR cost_share <> 0))`,
  },
  refund_state: {
    says: 'A refund is asked about exactly while it is pending, and has a reason of its failure exactly when it failed.',
    sql: `SELECT id FROM refunds
      WHERE (status = 'pending') <> (due_at IS NOT NULL) OR (status = 'failed') <> (failure_reason IS NOT NULL)
        OR attempts < 0`,
  },
  one_refund_per_key: {
    says: 'An environment has at most one refund of an idempotency key.',
    sql: duplicates('refunds', 'environment, idempotency_key', { where: 'idempotency_key IS NOT NULL' }),
  },
  refund_key_request: {
    says: 'A refund keeps the hash of its request exactly when it has an idempotency key.',
    sql: 'SELECT id FROM refunds WHERE (idempotency_key IS NULL) <> (request_hash IS NULL)',
  },
  payment_refunds: {
    says: 'A payment counts what its refunds have given back, are giving back, and took from the gateway and from the cost.',
    sql: `SELECT payment.id AS id FROM payments AS payment LEFT JOIN (${SUMS}) AS made ON made.payment_id = payment.id
      WHERE payment.refunded <> COALESCE(made.refunded, 0) OR payment.refund_pending <> COALESCE(made.pending, 0)
        OR payment.refund_gateway <> COALESCE(made.gateway, 0) OR payment.refund_cost <> COALESCE(made.cost, 0)`,
  },
  refund_bound: {
    says: 'No more of a payment is refunded, or being refunded, than was paid.',
    sql: `SELECT payment.id AS id FROM payments AS payment
      WHERE payment.refunded < 0 OR payment.refund_pending < 0 OR payment.refunded + payment.refund_pending > ${TOTAL}
        OR (payment.status <> 'paid' AND payment.refunded + payment.refund_pending <> 0)`,
  },
  ledger_status: {
    says: 'A paid payment is refunded exactly when all of it is, and else settled exactly when that was recorded.',
    sql: `SELECT payment.id AS id FROM payments AS payment
      WHERE payment.status = 'paid' AND payment.ledger_status <> CASE
        WHEN payment.refunded = ${TOTAL} THEN 'refunded' WHEN payment.settled = 1 THEN 'settled' ELSE 'pending' END`,
  },
  surplus_refund: {
    says: 'Surplus money is given back: every surplus payment has a refund for that, and no other payment has.',
    sql: `SELECT payment.id AS id FROM payments AS payment
      WHERE (payment.surplus = 1) <> EXISTS (
        SELECT 1 FROM refunds WHERE refunds.payment_id = payment.id AND refunds.reason = 'surplus')`,
  },
  refund_message: {
    says: 'A message about a refund names an existing one of its session, and has its amount unless it is flagged.',
    sql: `SELECT message.provider || ' ' || message.event_id AS id FROM provider_messages AS message
      LEFT JOIN refunds AS refund ON refund.id = message.refund_id
      WHERE message.refund_id IS NOT NULL AND (refund.id IS NULL OR refund.session_id <> message.session_id
        OR (message.flagged = 0 AND message.amount <> refund.amount))`,
  },
});
