import { invariants, orphans } from './invariant.ts';

/** Provider messages and provider tasks. */
export const PROVIDER_INVARIANTS = invariants({
  message_flag: {
    says: 'A provider message is flagged exactly when it was neither applied nor ignored.',
    sql: `SELECT provider || ' ' || event_id AS id FROM provider_messages
      WHERE (flagged = 0) <> (outcome IN ('applied', 'ignored'))`,
  },
  message_session: {
    says: 'A provider message has a session; one that is not flagged names no payment but one of it, and an amount that it can count.',
    sql: `SELECT message.provider || ' ' || message.event_id AS id FROM provider_messages AS message
      LEFT JOIN sessions AS session ON session.id = message.session_id
      LEFT JOIN payments AS payment ON payment.id = message.payment_id
      WHERE session.id IS NULL OR (message.outcome IN ('applied', 'ignored') AND (
        (message.refund_id IS NULL AND session.amount <> message.amount AND NOT (message.status = 'paid' AND (
          EXISTS (SELECT 1 FROM refunds WHERE refunds.session_id = session.id AND refunds.reason = 'mismatch')
          OR (message.outcome = 'ignored' AND EXISTS (
            SELECT 1 FROM payments AS other WHERE other.session_id = session.id AND other.status = 'paid')))))
        OR (message.payment_id IS NOT NULL AND COALESCE(payment.session_id, '') <> message.session_id)))`,
  },
  message_origin: {
    says: 'A provider message that is not flagged has the environment of its session and the provider of its payment.',
    sql: `SELECT message.provider || ' ' || message.event_id AS id FROM provider_messages AS message
      JOIN sessions AS session ON session.id = message.session_id
      LEFT JOIN payments AS payment ON payment.id = message.payment_id
      WHERE message.outcome IN ('applied', 'ignored') AND (message.environment <> session.environment
        OR REPLACE(payment.route, '"provider":"' || message.provider || '"', '') = payment.route)`,
  },
  applied_message: {
    says: 'A session with an applied message has been started, and is paid, with the payment named, where that said so.',
    sql: `SELECT message.provider || ' ' || message.event_id AS id FROM provider_messages AS message
      JOIN sessions AS session ON session.id = message.session_id
      LEFT JOIN payments AS payment ON payment.id = message.payment_id
      WHERE message.outcome = 'applied' AND (session.status IN ('routed', 'expired')
        OR (message.status = 'paid' AND (session.status <> 'paid' OR COALESCE(payment.status, 'paid') <> 'paid')))`,
  },
  money_has_message: {
    says: 'Every paid payment, surplus ones too, has an applied message that said so or an accepted wrong amount, and no message applies to none.',
    sql: `SELECT session_id AS id FROM (
        SELECT session_id, 1 AS paid, 0 AS told, 0 AS accepted FROM payments WHERE status = 'paid'
        UNION ALL SELECT session_id, 0, 1, 0 FROM provider_messages WHERE outcome = 'applied' AND status = 'paid'
        UNION ALL SELECT session_id, 0, 0, 1 FROM payments WHERE status = 'paid' AND id IN (
          SELECT payment_id FROM discrepancies WHERE kind = 'amount_mismatch' AND resolution = 'accepted')
      ) AS money GROUP BY session_id HAVING SUM(told) > SUM(paid) OR SUM(paid) > SUM(told) + SUM(accepted)`,
  },
  task_payment: {
    says: 'A provider task has a payment, of the same session.',
    sql: orphans('provider_tasks', 'payment_id', 'payments', ['session_id'], {
      id: 'payment_id',
      or: ['child.attempts < 0'],
    }),
  },
  cancel_task: {
    says: 'A provider is asked to cancel every payment that was dropped, and none that is pending.',
    sql: `SELECT payment.id AS id FROM payments AS payment
      LEFT JOIN provider_tasks AS task ON task.payment_id = payment.id AND task.kind = 'cancel'
      WHERE (payment.failure_code IN ('abandoned', 'timed_out', 'amount_mismatch', 'superseded') AND task.payment_id IS NULL)
        OR (payment.status = 'pending' AND task.payment_id IS NOT NULL)`,
  },
});
