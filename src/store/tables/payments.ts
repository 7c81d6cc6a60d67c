import { type Metadata, PAYMENT_STATUSES, type Payment } from '../../domain/records.ts';
import { ENVIRONMENTS, type PaymentRoute } from '../../domain/route.ts';
import type { KeysetQuery, Row } from '../keyset.ts';
import type { PaymentFilter } from '../store.ts';
import { type Write, insertSql } from '../write.ts';

const INSERT = insertSql('payments', [
  'id',
  'session_id',
  'invoice_id',
  'customer_id',
  'environment',
  'amount',
  'status',
  'ledger_status',
  'route',
  'buyer_fee',
  'gateway_fee',
  'provider_cost',
  'provider_reference',
  'provider_url',
  'handoff_unclear',
  'surplus',
  'kept',
  'settled',
  'shortfall',
  'returned',
  'owed',
  'refunded',
  'refund_pending',
  'refund_gateway',
  'refund_cost',
  'failure_code',
  'failure_source',
  'failure_reason',
  'probe',
  'tx_hash',
  'metadata',
  'created',
  'timeout_at',
  'inquire_at',
  'inquiries',
]);
const UPDATE = `UPDATE payments
  SET status = ?2, ledger_status = ?3, provider_reference = ?4, provider_url = ?5, surplus = ?6, failure_code = ?7,
    failure_source = ?8, tx_hash = ?9, inquire_at = ?10, inquiries = ?11, handoff_unclear = ?12,
    kept = ?13, settled = ?14, refunded = ?15, refund_pending = ?16, refund_gateway = ?17, refund_cost = ?18, shortfall = ?19,
    returned = ?20, owed = ?21, failure_reason = ?22
  WHERE id = ?1`;

export const SELECT_PAYMENT = 'SELECT * FROM payments WHERE id = ?1';
export const SELECT_PAYMENTS_OF_SESSION = 'SELECT * FROM payments WHERE session_id = ?1 ORDER BY id';

export function insertPayment(payment: Payment): Write {
  return {
    sql: INSERT,
    params: [
      payment.id,
      payment.sessionId,
      payment.invoiceId,
      payment.customerId,
      payment.environment,
      payment.amount,
      payment.status,
      payment.ledgerStatus,
      JSON.stringify(payment.route),
      payment.fees.buyerFee,
      payment.fees.gatewayFee,
      payment.providerCost,
      payment.providerReference,
      payment.providerUrl,
      payment.handoffUnclear ? 1 : 0,
      payment.surplus ? 1 : 0,
      payment.kept ? 1 : 0,
      payment.settled ? 1 : 0,
      payment.shortfall,
      payment.returned,
      payment.owed,
      payment.refunded,
      payment.refundPending,
      payment.refundShares.gateway,
      payment.refundShares.cost,
      payment.failureCode,
      payment.failureSource,
      payment.failureReason,
      payment.probe ? 1 : 0,
      payment.txHash,
      JSON.stringify(payment.metadata),
      payment.created,
      payment.timeoutAt,
      payment.inquireAt,
      payment.inquiries,
    ],
  };
}

export function updatePayment(payment: Payment): Write {
  return {
    sql: UPDATE,
    params: [
      payment.id,
      payment.status,
      payment.ledgerStatus,
      payment.providerReference,
      payment.providerUrl,
      payment.surplus ? 1 : 0,
      payment.failureCode,
      payment.failureSource,
      payment.txHash,
      payment.inquireAt,
      payment.inquiries,
      payment.handoffUnclear ? 1 : 0,
      payment.kept ? 1 : 0,
      payment.settled ? 1 : 0,
      payment.refunded,
      payment.refundPending,
      payment.refundShares.gateway,
      payment.refundShares.cost,
      payment.shortfall,
      payment.returned,
      payment.owed,
      payment.failureReason,
    ],
  };
}

export function paymentFromRow(row: Row): Payment {
  const amount = row['amount'] as number;
  const buyerFee = row['buyer_fee'] as number;
  const gatewayFee = row['gateway_fee'] as number;
  return {
    id: row['id'] as string,
    sessionId: row['session_id'] as string,
    invoiceId: row['invoice_id'] as string,
    customerId: row['customer_id'] as string,
    environment: row['environment'] as Payment['environment'],
    amount,
    status: row['status'] as Payment['status'],
    ledgerStatus: row['ledger_status'] as Payment['ledgerStatus'],
    route: routeFrom(row['route'] as string),
    fees: { buyerFee, gatewayFee, merchantNet: amount - gatewayFee, total: amount + buyerFee },
    providerCost: row['provider_cost'] as number,
    providerReference: row['provider_reference'] as string | null,
    providerUrl: row['provider_url'] as string | null,
    handoffUnclear: row['handoff_unclear'] === 1,
    surplus: row['surplus'] === 1,
    kept: row['kept'] === 1,
    settled: row['settled'] === 1,
    shortfall: row['shortfall'] as number,
    returned: row['returned'] as number,
    owed: row['owed'] as number,
    refunded: row['refunded'] as number,
    refundPending: row['refund_pending'] as number,
    refundShares: { gateway: row['refund_gateway'] as number, cost: row['refund_cost'] as number },
    failureCode: row['failure_code'] as Payment['failureCode'],
    failureSource: row['failure_source'] as Payment['failureSource'],
    failureReason: row['failure_reason'] as string | null,
    probe: row['probe'] === 1,
    txHash: row['tx_hash'] as string | null,
    metadata: JSON.parse(row['metadata'] as string) as Metadata,
    created: row['created'] as number,
    timeoutAt: row['timeout_at'] as number,
    inquireAt: row['inquire_at'] as number | null,
    inquiries: row['inquiries'] as number,
  };
}

const ROUTES_KEPT = 500;
const routes = new Map<string, PaymentRoute>();

/** The payments of a page share a handful of routes: each is read once. */
function routeFrom(json: string): PaymentRoute {
  let route = routes.get(json);
  if (!route) {
    route = JSON.parse(json) as PaymentRoute;
    if (routes.size >= ROUTES_KEPT) routes.clear();
    routes.set(json, route);
  }
  return route;
}

/** The page's range, for filters that do not already name the payments. A customer implies its environment. */
export function paymentKeyset({ customerId, status, environment }: PaymentFilter): KeysetQuery {
  return statusKeyset('payments', PAYMENT_STATUSES, { customerId, status, environment });
}

/** Ranges of a table with the indexes (environment, status, id) and (customer_id, status, id). */
export function statusKeyset(
  table: string,
  statuses: readonly string[],
  filter: { customerId: string | undefined; status: string | undefined; environment: PaymentFilter['environment'] },
): KeysetQuery {
  const { customerId, status, environment } = filter;
  if (customerId === undefined && status === undefined && environment === undefined) {
    return { table, equals: {}, oneOf: {} };
  }
  const fixedStatus = status === undefined ? {} : { status };
  const anyStatus = status === undefined ? { status: statuses } : {};
  if (customerId !== undefined) {
    return { table, equals: { ...fixedStatus, customer_id: customerId }, oneOf: anyStatus };
  }
  return {
    table,
    equals: { ...fixedStatus, ...(environment && { environment }) },
    oneOf: { ...(environment === undefined && { environment: ENVIRONMENTS }), ...anyStatus },
  };
}
