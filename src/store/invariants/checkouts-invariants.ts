import { duplicates, invariants } from './invariant.ts';

// Why each holds is in `domain/checkout-state.ts` and `domain/checkout.ts`: whatever changes a checkout goes through
// `changed`, and is committed whole. Instants are compared only where one was made of the other: a clock can be set back.

/** Agreement between sessions, their payments and their invoices. */
export const CHECKOUT_INVARIANTS = invariants({
  session_state: {
    says: 'A session is of some amount and expires after its creation, and has attempts exactly when a buyer has started.',
    sql: `SELECT id FROM sessions
      WHERE amount <= 0 OR version < 1 OR attempts < 0 OR announced NOT IN (0, 1) OR expires_at <= created
        OR (status IN ('routed', 'expired')) <> (attempts = 0)`,
  },
  session_attempts: {
    says: 'A session counts no more attempts than it has payments, and none only where it has none.',
    // Failing over to the next route is another payment of the same attempt.
    sql: `SELECT session.id AS id FROM sessions AS session
      LEFT JOIN (SELECT session_id, COUNT(*) AS number FROM payments GROUP BY session_id) AS made
        ON made.session_id = session.id
      WHERE session.attempts > COALESCE(made.number, 0) OR (session.attempts = 0 AND made.number > 0)`,
  },
  one_paid_payment: {
    says: 'A session has at most one payment that pays it.',
    sql: duplicates('payments', 'session_id', { id: 'session_id', where: "status = 'paid' AND surplus = 0" }),
  },
  one_paid_invoice: {
    says: 'A session has at most one paid invoice.',
    sql: duplicates('invoices', 'session_id', { id: 'session_id', where: "status = 'paid'" }),
  },
  one_pending_payment: {
    says: 'A session has at most one pending payment.',
    sql: duplicates('payments', 'session_id', { id: 'session_id', where: "status = 'pending'" }),
  },
  paid_session_payment: {
    says: 'A session is paid exactly when a payment pays it.',
    sql: `SELECT DISTINCT session.id AS id FROM sessions AS session
      LEFT JOIN payments AS payment
        ON payment.session_id = session.id AND payment.status = 'paid' AND payment.surplus = 0
      WHERE (session.status = 'paid') <> (payment.id IS NOT NULL)`,
  },
  paid_session_invoice: {
    says: 'A session is paid exactly when an invoice of it is.',
    sql: `SELECT DISTINCT session.id AS id FROM sessions AS session
      LEFT JOIN invoices AS invoice ON invoice.session_id = session.id AND invoice.status = 'paid'
      WHERE (session.status = 'paid') <> (invoice.id IS NOT NULL)`,
  },
  pending_session: {
    says: 'A payment is pending in pending sessions only, and one of those without it has an end of the retry window.',
    sql: `SELECT DISTINCT session.id AS id FROM sessions AS session
      LEFT JOIN payments AS payment ON payment.session_id = session.id AND payment.status = 'pending'
      WHERE (payment.id IS NOT NULL AND session.status <> 'pending')
        OR (session.retry_until IS NOT NULL) <> (session.status = 'pending' AND payment.id IS NULL)`,
  },
  session_wakes: {
    says: 'A session that has not ended wakes when time next changes it, or after the lease of a worker; an ended session never wakes.',
    // Or later: a worker that claims a due session postpones it until its lease ends.
    sql: `SELECT DISTINCT session.id AS id FROM sessions AS session
      LEFT JOIN payments AS payment ON payment.session_id = session.id AND payment.status = 'pending'
      WHERE (session.wake_at IS NULL) <> (session.status NOT IN ('routed', 'pending'))
        OR session.wake_at < CASE
          WHEN session.status = 'routed' THEN session.expires_at
          WHEN payment.id IS NULL THEN session.retry_until
          WHEN payment.inquire_at < payment.timeout_at THEN payment.inquire_at
          ELSE payment.timeout_at END`,
  },
  payment_state: {
    says: 'A payment has a failure code exactly when it failed and a reason only then, is asked about only while pending, and holds money only when paid.',
    sql: `SELECT id FROM payments
      WHERE (status = 'failed') <> (failure_code IS NOT NULL) OR (failure_reason IS NOT NULL AND status <> 'failed')
        OR (inquire_at IS NOT NULL AND status <> 'pending')
        OR (ledger_status <> 'pending' AND status <> 'paid')
        OR surplus NOT IN (0, 1) OR inquiries < 0 OR timeout_at <= created`,
  },
  surplus_payment: {
    says: 'A surplus payment is paid, settled only where the merchant was told to keep it, and of a session that another payment paid.',
    sql: `SELECT payment.id AS id FROM payments AS payment
      LEFT JOIN sessions AS session ON session.id = payment.session_id
      WHERE payment.surplus = 1
        AND (payment.status <> 'paid' OR (payment.ledger_status = 'settled' AND payment.kept = 0)
          OR COALESCE(session.status, '') <> 'paid')`,
  },
  invoice_status: {
    says: 'An invoice is open, void or paid as its payment is pending, failed or paid; that of a surplus payment is void.',
    sql: `SELECT invoice.id AS id FROM invoices AS invoice
      JOIN payments AS payment ON payment.id = invoice.payment_id
      WHERE invoice.status <> CASE
        WHEN payment.status = 'pending' THEN 'open'
        WHEN payment.status = 'paid' AND payment.surplus = 0 THEN 'paid'
        ELSE 'void' END`,
  },
});
