import { DELIVERY_STATUSES } from '../../domain/delivery.ts';
import { ARMS } from '../../domain/experiment.ts';
import { FAILURE_CODES, FAILURE_SOURCES } from '../../domain/failure.ts';
import { OUTCOME_RESULTS, OUTCOME_STAGES } from '../../domain/route-outcome.ts';
import {
  CUSTOMER_STATUSES,
  INVOICE_STATUSES,
  type LedgerStatus,
  PAYMENT_STATUSES,
  PROVIDER_STATUSES,
  SESSION_STATUSES,
} from '../../domain/records.ts';
import { REVERSAL_STATUSES } from '../../domain/provider-report.ts';
import { REFUND_REASONS, REFUND_STATUSES } from '../../domain/refund-record.ts';
import { ENVIRONMENTS, ROUTE_HEALTHS } from '../../domain/route.ts';
import { SETTLEMENT_SOURCES } from '../../domain/settlement.ts';
import { ENDPOINT_SOURCES, ENDPOINT_STATUSES } from '../../domain/webhook-endpoint.ts';
import { duplicates, invariants, orphans, unknownValues } from './invariant.ts';

const LEDGER_STATUSES: readonly LedgerStatus[] = ['pending', 'settled', 'refunded'];

/** Allowed values of the columns of each table, with the column that contains the ids of its rows. */
const KNOWN: [table: string, id: string, columns: Record<string, readonly string[]>][] = [
  ['customers', 'id', { status: CUSTOMER_STATUSES, environment: ENVIRONMENTS }],
  ['sessions', 'id', { status: SESSION_STATUSES, environment: ENVIRONMENTS }],
  [
    'payments',
    'id',
    {
      status: PAYMENT_STATUSES,
      ledger_status: LEDGER_STATUSES,
      failure_code: FAILURE_CODES,
      failure_source: FAILURE_SOURCES,
    },
  ],
  ['invoices', 'id', { status: INVOICE_STATUSES }],
  ['deliveries', 'id', { status: DELIVERY_STATUSES }],
  ['webhook_endpoints', 'id', { status: ENDPOINT_STATUSES, source: ENDPOINT_SOURCES, environment: ENVIRONMENTS }],
  [
    'provider_messages',
    'event_id',
    {
      about: ['payment', 'refund', 'settlement', 'reversal'],
      status: [...PROVIDER_STATUSES, ...REFUND_STATUSES, ...REVERSAL_STATUSES, 'settled'],
      environment: ENVIRONMENTS,
    },
  ],
  ['provider_inbox', 'event_id', { state: ['pending', 'done', 'dead'] }],
  ['reversals', 'id', { status: REVERSAL_STATUSES, environment: ENVIRONMENTS }],
  ['settlements', 'payment_id', { source: SETTLEMENT_SOURCES, environment: ENVIRONMENTS }],
  ['provider_tasks', 'payment_id', { status: ['pending', 'done', 'dead'], kind: ['cancel', 'capture'] }],
  ['refunds', 'id', { status: REFUND_STATUSES, reason: REFUND_REASONS, environment: ENVIRONMENTS }],
  ['route_outcomes', 'payment_id', { stage: OUTCOME_STAGES, result: OUTCOME_RESULTS }],
  ['route_estimates', 'environment', { environment: ENVIRONMENTS }],
  ['route_health', 'route_id', { state: ROUTE_HEALTHS, environment: ENVIRONMENTS }],
  ['route_transitions', 'id', { from_state: ROUTE_HEALTHS, to_state: ROUTE_HEALTHS, environment: ENVIRONMENTS }],
  ['routing_rules', 'CAST(version AS TEXT)', { source: ['api', 'file'] }],
  ['routing_snapshots', 'id', { environment: ENVIRONMENTS }],
  ['routing_experiments', 'id', { status: ['running', 'ended'], environment: ENVIRONMENTS }],
  ['experiment_sessions', 'session_id', { arm: ARMS }],
];

const PREFIXES = {
  customers: 'cus_',
  sessions: 'chk_',
  payments: 'pay_',
  invoices: 'inv_',
  webhook_endpoints: 'whe_',
  deliveries: 'dlv_',
  refunds: 'ref_',
  reversals: 'rev_',
  route_transitions: 'rtr_',
  routing_snapshots: 'snp_',
  routing_decisions: 'dec_',
  routing_experiments: 'exp_',
};

// `domain/checkout-state.ts` and `domain/checkout.ts` show why each invariant holds: every change of a checkout goes
// through `changed` and is committed whole. An invariant compares two times only if one was computed from the other, because
// a clock can be set back.

/** Records of checkouts, and the agreement between sessions, their payments and their invoices. */
export const CHECKOUT_INVARIANTS = invariants({
  // References, agreement and uniqueness of records. The queries find duplicates even if a unique index is damaged or missing.
  known_values: {
    says: 'Every status, environment and kind is a known value.',
    sql: KNOWN.map(([table, id, columns]) => `SELECT ${id} AS id FROM ${table} WHERE ${unknownValues(columns)}`).join(
      ' UNION ',
    ),
  },
  id_prefixes: {
    says: 'The id of a record begins with the prefix of its type.',
    sql: Object.entries(PREFIXES)
      .map(([table, prefix]) => `SELECT id FROM ${table} WHERE SUBSTR(id, 1, 4) <> '${prefix}'`)
      .join(' UNION ALL '),
  },
  one_customer_per_email: {
    says: 'An environment has at most one customer per email address; upper and lower case are the same.',
    sql: duplicates('customers', 'environment, email_key'),
  },
  customer_email_key: {
    says: "The lookup key of a customer is the customer's email address in lower case.",
    sql: 'SELECT id FROM customers WHERE email_key <> LOWER(email)',
  },
  one_session_per_key: {
    says: 'An environment has at most one session per idempotency key.',
    sql: duplicates('sessions', 'environment, idempotency_key', { where: 'idempotency_key IS NOT NULL' }),
  },
  session_key_request: {
    says: 'A session has a request hash if and only if it has an idempotency key; sessions of erased buyers are exempt.',
    sql: `SELECT id FROM sessions WHERE (idempotency_key IS NULL) <> (request_hash IS NULL)
      AND NOT (request_hash IS NULL AND idempotency_key LIKE 'erased:%')`,
  },
  session_customer: {
    says: 'A session has a customer with the same environment and email address.',
    sql: orphans('sessions', 'customer_id', 'customers', ['environment'], {
      or: 'parent.email_key <> LOWER(child.customer_email)',
    }),
  },
  payment_session: {
    says: 'A payment has a session with the same amount, environment and customer.',
    sql: orphans('payments', 'session_id', 'sessions', ['amount', 'environment', 'customer_id']),
  },
  payment_invoice: {
    says: 'A payment has an invoice with the same session, amount, environment and customer.',
    sql: orphans('payments', 'invoice_id', 'invoices', ['session_id', 'amount', 'environment', 'customer_id']),
  },
  invoice_payment: {
    says: 'An invoice and its payment refer to each other.',
    sql: orphans('invoices', 'payment_id', 'payments', [], { or: 'parent.invoice_id <> child.id' }),
  },
  payment_fees: {
    says: "The fees, the net, the provider's cost and the provider's payout of a payment are at least 0.",
    // The table does not store the merchant's net (amount less the gateway fee) and the total (amount plus the buyer fee).
    sql: `SELECT id FROM payments
      WHERE buyer_fee < 0 OR gateway_fee < 0 OR amount - gateway_fee < 0
        OR provider_cost < 0 OR amount + buyer_fee - provider_cost < 0`,
  },
  // Agreement between sessions, their payments and their invoices.
  session_state: {
    says: 'A session has a positive amount, expires after its creation, and has attempts if and only if a buyer has started to pay.',
    sql: `SELECT id FROM sessions
      WHERE amount <= 0 OR version < 1 OR attempts < 0 OR announced NOT IN (0, 1) OR expires_at <= created
        OR (status IN ('routed', 'expired')) <> (attempts = 0)`,
  },
  session_attempts: {
    says: 'A session has at most as many attempts as payments, and a session with a payment has at least one attempt.',
    // A failover to the next route creates another payment of the same attempt.
    sql: `SELECT session.id AS id FROM sessions AS session
      LEFT JOIN (SELECT session_id, COUNT(*) AS number FROM payments GROUP BY session_id) AS made
        ON made.session_id = session.id
      WHERE session.attempts > COALESCE(made.number, 0) OR (session.attempts = 0 AND made.number > 0)`,
  },
  one_paid_payment: {
    says: 'A session has at most one paid payment, not counting surplus payments.',
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
    says: 'A session is paid if and only if it has a paid payment that is not a surplus.',
    sql: `SELECT DISTINCT session.id AS id FROM sessions AS session
      LEFT JOIN payments AS payment
        ON payment.session_id = session.id AND payment.status = 'paid' AND payment.surplus = 0
      WHERE (session.status = 'paid') <> (payment.id IS NOT NULL)`,
  },
  paid_session_invoice: {
    says: 'A session is paid if and only if one of its invoices is paid.',
    sql: `SELECT DISTINCT session.id AS id FROM sessions AS session
      LEFT JOIN invoices AS invoice ON invoice.session_id = session.id AND invoice.status = 'paid'
      WHERE (session.status = 'paid') <> (invoice.id IS NOT NULL)`,
  },
  pending_session: {
    says: 'Only pending sessions have a pending payment; a pending session without a pending payment has a deadline for the next attempt.',
    sql: `SELECT DISTINCT session.id AS id FROM sessions AS session
      LEFT JOIN payments AS payment ON payment.session_id = session.id AND payment.status = 'pending'
      WHERE (payment.id IS NOT NULL AND session.status <> 'pending')
        OR (session.retry_until IS NOT NULL) <> (session.status = 'pending' AND payment.id IS NULL)`,
  },
  session_wakes: {
    says: 'A session that is routed or pending has a wake time, which is not before its next due change; no other session has a wake time.',
    // The wake time can be later than that: a worker that claims a due session moves the time to the end of its lease.
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
    says: 'A payment has a failure code if it failed; only failed payments have a failure code or reason, only pending ones an inquiry time, only paid ones a ledger status.',
    sql: `SELECT id FROM payments
      WHERE (status = 'failed') <> (failure_code IS NOT NULL) OR (failure_reason IS NOT NULL AND status <> 'failed')
        OR (inquire_at IS NOT NULL AND status <> 'pending')
        OR (ledger_status <> 'pending' AND status <> 'paid')
        OR surplus NOT IN (0, 1) OR inquiries < 0 OR timeout_at <= created`,
  },
  surplus_payment: {
    says: 'A surplus payment is paid, its session is paid by another payment, and it is settled only if the surplus was accepted.',
    sql: `SELECT payment.id AS id FROM payments AS payment
      LEFT JOIN sessions AS session ON session.id = payment.session_id
      WHERE payment.surplus = 1
        AND (payment.status <> 'paid' OR (payment.ledger_status = 'settled' AND payment.kept = 0)
          OR COALESCE(session.status, '') <> 'paid')`,
  },
  invoice_status: {
    says: 'An invoice is open while its payment is pending, void if the payment failed or is a surplus, and otherwise paid.',
    sql: `SELECT invoice.id AS id FROM invoices AS invoice
      JOIN payments AS payment ON payment.id = invoice.payment_id
      WHERE invoice.status <> CASE
        WHEN payment.status = 'pending' THEN 'open'
        WHEN payment.status = 'paid' AND payment.surplus = 0 THEN 'paid'
        ELSE 'void' END`,
  },
});
