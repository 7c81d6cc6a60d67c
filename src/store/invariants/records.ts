import { DELIVERY_STATUSES } from '../../domain/delivery.ts';
import { FAILURE_CODES, FAILURE_SOURCES } from '../../domain/failure.ts';
import { OUTCOME_RESULTS } from '../../domain/outcome.ts';
import {
  CUSTOMER_STATUSES,
  INVOICE_STATUSES,
  type LedgerStatus,
  PAYMENT_STATUSES,
  PROVIDER_STATUSES,
  SESSION_STATUSES,
} from '../../domain/records.ts';
import { REFUND_REASONS, REFUND_STATUSES } from '../../domain/refund.ts';
import { ENVIRONMENTS, type RouteHealth } from '../../domain/route.ts';
import { SETTLEMENT_SOURCES } from '../../domain/settlement.ts';
import { ENDPOINT_SOURCES, ENDPOINT_STATUSES } from '../../domain/webhook-endpoint.ts';
import { type Invariant, quoted } from './invariant.ts';

const HEALTH: readonly RouteHealth[] = ['live', 'degraded', 'standby'];
const LEDGER_STATUSES: readonly LedgerStatus[] = ['pending', 'settled', 'refunded'];

/** Which values the columns of a table may have, by what names its rows. */
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
    { status: [...PROVIDER_STATUSES, ...REFUND_STATUSES, 'settled'], environment: ENVIRONMENTS },
  ],
  ['settlements', 'payment_id', { source: SETTLEMENT_SOURCES, environment: ENVIRONMENTS }],
  ['provider_tasks', 'payment_id', { status: ['pending', 'done', 'dead'], kind: ['cancel'] }],
  ['refunds', 'id', { status: REFUND_STATUSES, reason: REFUND_REASONS, environment: ENVIRONMENTS }],
  ['route_outcomes', 'payment_id', { stage: ['unclear', 'handoff', 'result', 'late'], result: OUTCOME_RESULTS }],
  ['route_estimates', 'environment', { environment: ENVIRONMENTS }],
  ['route_health', 'route_id', { state: HEALTH, environment: ENVIRONMENTS }],
  ['route_transitions', 'id', { from_state: HEALTH, to_state: HEALTH, environment: ENVIRONMENTS }],
  ['routing_rules', 'CAST(version AS TEXT)', { source: ['api', 'file'] }],
  ['routing_snapshots', 'id', { environment: ENVIRONMENTS }],
];

const PREFIXES = {
  customers: 'cus_',
  sessions: 'chk_',
  payments: 'pay_',
  invoices: 'inv_',
  webhook_endpoints: 'whe_',
  deliveries: 'dlv_',
  refunds: 'ref_',
  route_transitions: 'rtr_',
  routing_snapshots: 'snp_',
  routing_decisions: 'dec_',
};

function unknown(columns: Record<string, readonly string[]>): string {
  return Object.entries(columns)
    .map(([column, values]) => `${column} NOT IN (${quoted(values)})`)
    .join(' OR ');
}

/** That records refer to one another, agree, and are unique where they must be; indexes are not taken at their word. */
export const RECORD_INVARIANTS: readonly Invariant[] = [
  {
    name: 'known_values',
    says: 'Every status, environment and kind is one of those there are.',
    sql: `${KNOWN.map(([table, id, columns]) => `SELECT ${id} AS id FROM ${table} WHERE ${unknown(columns)}`).join(
      ' UNION ',
    )} ORDER BY id LIMIT ?1`,
  },
  {
    name: 'id_prefixes',
    says: 'The id of a record begins with the prefix of its type.',
    sql: `${Object.entries(PREFIXES)
      .map(([table, prefix]) => `SELECT id FROM ${table} WHERE SUBSTR(id, 1, 4) <> '${prefix}'`)
      .join(' UNION ALL ')} ORDER BY id LIMIT ?1`,
  },
  {
    name: 'one_customer_per_email',
    says: 'An environment has at most one customer of an email address, compared without case.',
    sql: `SELECT MAX(id) AS id FROM customers GROUP BY environment, email_key HAVING COUNT(*) > 1
      ORDER BY id LIMIT ?1`,
  },
  {
    name: 'customer_email_key',
    says: 'A customer is found by its own email address.',
    sql: 'SELECT id FROM customers WHERE email_key <> LOWER(email) ORDER BY id LIMIT ?1',
  },
  {
    name: 'one_session_per_key',
    says: 'An environment has at most one session of an idempotency key.',
    sql: `SELECT MAX(id) AS id FROM sessions WHERE idempotency_key IS NOT NULL
      GROUP BY environment, idempotency_key HAVING COUNT(*) > 1 ORDER BY id LIMIT ?1`,
  },
  {
    name: 'session_key_request',
    says: 'A session keeps the hash of its request exactly when it has an idempotency key, but for one whose buyer was erased.',
    sql: `SELECT id FROM sessions WHERE (idempotency_key IS NULL) <> (request_hash IS NULL)
      AND NOT (request_hash IS NULL AND idempotency_key LIKE 'erased:%') ORDER BY id LIMIT ?1`,
  },
  {
    name: 'session_customer',
    says: 'A session has a customer, of the same environment and email address.',
    sql: `SELECT session.id AS id FROM sessions AS session
      LEFT JOIN customers AS customer ON customer.id = session.customer_id
      WHERE customer.id IS NULL OR customer.environment <> session.environment
        OR customer.email_key <> LOWER(session.customer_email)
      ORDER BY id LIMIT ?1`,
  },
  {
    name: 'payment_session',
    says: 'A payment has a session, of the same amount, environment and customer.',
    sql: `SELECT payment.id AS id FROM payments AS payment
      LEFT JOIN sessions AS session ON session.id = payment.session_id
      WHERE session.id IS NULL OR session.amount <> payment.amount OR session.environment <> payment.environment
        OR session.customer_id <> payment.customer_id
      ORDER BY id LIMIT ?1`,
  },
  {
    name: 'payment_invoice',
    says: 'A payment has an invoice, of the same session, amount, environment and customer.',
    sql: `SELECT payment.id AS id FROM payments AS payment
      LEFT JOIN invoices AS invoice ON invoice.id = payment.invoice_id
      WHERE invoice.id IS NULL OR invoice.session_id <> payment.session_id OR invoice.amount <> payment.amount
        OR invoice.environment <> payment.environment OR invoice.customer_id <> payment.customer_id
      ORDER BY id LIMIT ?1`,
  },
  {
    name: 'invoice_payment',
    says: 'An invoice is the one that its payment names.',
    sql: `SELECT invoice.id AS id FROM invoices AS invoice
      LEFT JOIN payments AS payment ON payment.id = invoice.payment_id
      WHERE payment.id IS NULL OR payment.invoice_id <> invoice.id ORDER BY id LIMIT ?1`,
  },
  {
    name: 'payment_fees',
    says: 'No part of a payment is negative: neither a fee, nor the net, nor what the provider keeps and hands over.',
    // The merchant's net and the total are not stored: they are the amount less one fee, and with the other.
    sql: `SELECT id FROM payments
      WHERE buyer_fee < 0 OR gateway_fee < 0 OR amount - gateway_fee < 0
        OR provider_cost < 0 OR amount + buyer_fee - provider_cost < 0
      ORDER BY id LIMIT ?1`,
  },
];
