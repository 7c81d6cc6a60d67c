import { DELIVERY_STATUSES } from '../../domain/delivery.ts';
import { FAILURE_CODES, FAILURE_SOURCES } from '../../domain/failure.ts';
import { OUTCOME_RESULTS } from '../../domain/route-outcome.ts';
import {
  CUSTOMER_STATUSES,
  INVOICE_STATUSES,
  type LedgerStatus,
  PAYMENT_STATUSES,
  PROVIDER_STATUSES,
  SESSION_STATUSES,
} from '../../domain/records.ts';
import { REFUND_REASONS, REFUND_STATUSES } from '../../domain/refund-record.ts';
import { ENVIRONMENTS, type RouteHealth } from '../../domain/route.ts';
import { SETTLEMENT_SOURCES } from '../../domain/settlement.ts';
import { ENDPOINT_SOURCES, ENDPOINT_STATUSES } from '../../domain/webhook-endpoint.ts';
import { duplicates, invariants, orphans, unknownValues } from './invariant.ts';

const HEALTH: readonly RouteHealth[] = ['live', 'degraded', 'standby'];
const LEDGER_STATUSES: readonly LedgerStatus[] = ['pending', 'settled', 'refunded'];

/** Known values of the columns of a table, with the column that names its rows. */
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

/** References between records, their agreement and their uniqueness; the schema's indexes are not trusted. */
export const RECORD_INVARIANTS = invariants({
  known_values: {
    says: 'Every status, environment and kind is one of those there are.',
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
    says: 'An environment has at most one customer of an email address, compared without case.',
    sql: duplicates('customers', 'environment, email_key'),
  },
  customer_email_key: {
    says: 'A customer is found by its own email address.',
    sql: 'SELECT id FROM customers WHERE email_key <> LOWER(email)',
  },
  one_session_per_key: {
    says: 'An environment has at most one session of an idempotency key.',
    sql: duplicates('sessions', 'environment, idempotency_key', { where: 'idempotency_key IS NOT NULL' }),
  },
  session_key_request: {
    says: 'A session keeps the hash of its request exactly when it has an idempotency key, but for one whose buyer was erased.',
    sql: `SELECT id FROM sessions WHERE (idempotency_key IS NULL) <> (request_hash IS NULL)
      AND NOT (request_hash IS NULL AND idempotency_key LIKE 'erased:%')`,
  },
  session_customer: {
    says: 'A session has a customer, of the same environment and email address.',
    sql: orphans('sessions', 'customer_id', 'customers', ['environment'], {
      or: ['parent.email_key <> LOWER(child.customer_email)'],
    }),
  },
  payment_session: {
    says: 'A payment has a session, of the same amount, environment and customer.',
    sql: orphans('payments', 'session_id', 'sessions', ['amount', 'environment', 'customer_id']),
  },
  payment_invoice: {
    says: 'A payment has an invoice, of the same session, amount, environment and customer.',
    sql: orphans('payments', 'invoice_id', 'invoices', ['session_id', 'amount', 'environment', 'customer_id']),
  },
  invoice_payment: {
    says: 'An invoice is the one that its payment names.',
    sql: orphans('invoices', 'payment_id', 'payments', [], { or: ['parent.invoice_id <> child.id'] }),
  },
  payment_fees: {
    says: 'No part of a payment is negative: neither a fee, nor the net, nor what the provider keeps and hands over.',
    // The merchant's net and the total are not stored: they are the amount less one fee, and with the other.
    sql: `SELECT id FROM payments
      WHERE buyer_fee < 0 OR gateway_fee < 0 OR amount - gateway_fee < 0
        OR provider_cost < 0 OR amount + buyer_fee - provider_cost < 0`,
  },
});
