import {
  INVOICE_STATUSES,
  type Invoice,
  type Metadata,
  type Payment,
  type ShownPayment,
} from '../../domain/records.ts';
import { ENVIRONMENTS, type Environment, type PaymentRoute } from '../../domain/route.ts';
import {
  type KeysetQuery,
  type Query,
  type Row,
  type Select,
  type SqlValue,
  filterKeyset,
  rowsNamed,
} from '../keyset.ts';
import type { Page } from '../list-page.ts';
import { pageWithin } from '../named-page.ts';
import { createReader } from '../row-reader.ts';
import { defineTable, describeTable, flag, integer, json, named, orNull, text } from '../table-description.ts';

interface InvoiceFilter {
  customerId?: string;
  invoiceId?: string;
  paymentId?: string;
  status?: string;
  environment?: Environment;
}

/** A payment as stored: without the net (amount less gateway fee) and the total (amount plus buyer fee), which are computed. */
type StoredPayment = Omit<Payment, 'fees'> & { fees: Pick<Payment['fees'], 'buyerFee' | 'gatewayFee'> };

const SHOWN = {
  id: text,
  sessionId: text,
  invoiceId: text,
  customerId: text,
  environment: text,
  amount: integer,
  status: text,
  ledgerStatus: text,
  route: { ...json<PaymentRoute>(), read: (stored: SqlValue) => routeFrom(stored as string) },
  fees: { group: { buyerFee: integer, gatewayFee: integer } },
  refunded: integer,
  refundPending: integer,
  failureCode: text,
  failureSource: text,
  failureReason: text,
  metadata: json<Metadata>(),
  created: integer,
};
const STORED = describeTable<StoredPayment>('payments', {
  ...SHOWN,
  providerCost: integer,
  actualCost: integer,
  costRefundable: flag,
  providerReference: text,
  providerUrl: text,
  chargeReference: text,
  handoffUncertain: named('handoff_unclear', flag),
  surplus: flag,
  surplusAccepted: named('kept', flag),
  settled: flag,
  shortfall: integer,
  mismatchRefunded: named('returned', integer),
  mismatchRefundFailed: named('owed', integer),
  reversed: integer,
  refundShares: { group: { gateway: named('refund_gateway', integer), cost: named('refund_cost', integer) } },
  decline: json<Payment['decline']>(),
  card: json<Payment['card']>(),
  probe: flag,
  txHash: text,
  timeoutAt: integer,
  expectedBy: integer,
  inquireAt: integer,
  inquiries: integer,
});

export const SELECT_PAYMENT_OF_INVOICE = 'SELECT * FROM payments WHERE invoice_id = ?1';
export const SELECT_PAYMENTS_OF_SESSION = 'SELECT * FROM payments WHERE session_id = ?1 ORDER BY id';

const insertPayment = STORED.insert();
const updatePayment = STORED.update({
  key: ['id'],
  set: [
    'status',
    'ledgerStatus',
    'actualCost',
    'providerReference',
    'providerUrl',
    'chargeReference',
    'handoffUncertain',
    'surplus',
    'surplusAccepted',
    'settled',
    'shortfall',
    'mismatchRefunded',
    'mismatchRefundFailed',
    'reversed',
    'refunded',
    'refundPending',
    'refundShares',
    'failureCode',
    'failureSource',
    'failureReason',
    'decline',
    'card',
    'txHash',
    'timeoutAt',
    'expectedBy',
    'inquireAt',
    'inquiries',
  ],
});

/** Adds the computed amounts. */
function withSums<Stored extends Pick<StoredPayment, 'amount' | 'fees'>>(payment: Stored) {
  const { buyerFee, gatewayFee } = payment.fees;
  const fees = { buyerFee, gatewayFee, merchantNet: payment.amount - gatewayFee, total: payment.amount + buyerFee };
  return Object.assign(payment, { fees });
}

export const PAYMENTS = {
  byId: STORED.byId,
  fromRow: (row: Row): Payment => withSums(STORED.fromRow(row)),
  joined(prefix: string) {
    const { columns, fromRow } = STORED.joined(prefix);
    return {
      columns,
      fromRow(row: Row): Payment | undefined {
        const stored = fromRow(row);
        return stored && withSums(stored);
      },
    };
  },
};

const SHOWN_PAYMENTS = describeTable<Pick<StoredPayment, keyof typeof SHOWN>>('payments', SHOWN);
/** Payments as the API lists them. */
export const LISTED_PAYMENTS = {
  select: SHOWN_PAYMENTS.columns.map(({ name }) => name).join(', '),
  fromRow: (row: Row): ShownPayment => withSums(SHOWN_PAYMENTS.fromRow(row)),
};
const OF_SESSION = defineTable('sessions', { product: text, customerEmail: text, clientReferenceId: orNull(text) });
const SOLD_COLUMNS = SHOWN_PAYMENTS.columns.map(({ name }) => `payments.${name}`).join(', ');
/** Payments with the fields of their sessions, as lists of people and exports show them. */
export const SOLD_PAYMENTS = {
  select: `${SOLD_COLUMNS}, product, customer_email, client_reference_id`,
  join: 'JOIN sessions ON sessions.id = payments.session_id',
  fromRow: (row: Row) => Object.assign(LISTED_PAYMENTS.fromRow(row), OF_SESSION.fromRow(row)),
};
export type SoldPayment = ReturnType<typeof SOLD_PAYMENTS.fromRow>;

const MAX_CACHED_ROUTES = 500;
const routes = new Map<string, PaymentRoute>();

/** Parses the stored JSON of a route. Caches the result, because all payments share a few routes. */
function routeFrom(stored: string): PaymentRoute {
  let route = routes.get(stored);
  if (!route) {
    route = JSON.parse(stored) as PaymentRoute;
    if (routes.size >= MAX_CACHED_ROUTES) routes.clear();
    routes.set(stored, route);
  }
  return route;
}

export const INVOICES = describeTable<Invoice>('invoices', {
  id: text,
  paymentId: text,
  sessionId: text,
  customerId: text,
  environment: text,
  amount: integer,
  status: text,
  metadata: json<Metadata>(),
  created: integer,
});
const insertInvoice = INVOICES.insert();
const updateInvoice = INVOICES.update({ key: ['id'], set: ['status'] });

const SELECT_INVOICE_OF_PAYMENT = 'SELECT * FROM invoices WHERE payment_id = ?1';
export const SELECT_INVOICES_OF_SESSION = 'SELECT * FROM invoices WHERE session_id = ?1 ORDER BY id';

export const paymentWrites = {
  payment_created: ({ payment }: { payment: Payment }) => insertPayment(payment),
  /** `before` is the stored payment. The session's version in the change set is the guard. */
  payment_changed: ({ payment, before }: { payment: Payment; before?: Payment }) => updatePayment(payment, before),
  invoice_created: ({ invoice }: { invoice: Invoice }) => insertInvoice(invoice),
  invoice_changed: ({ invoice }: { invoice: Invoice }) => updateInvoice(invoice),
};

/** Range of the index (environment, status, id) or (customer_id, status, id), or of the rows of `among`. */
export function statusKeyset(
  table: string,
  statuses: readonly string[],
  { customer_id, status, environment, ...ids }: Record<string, string | undefined>,
  among: Query | undefined,
): KeysetQuery {
  if (among) return filterKeyset(table, { ...ids, customer_id, status, environment }, {}, among);
  if (customer_id !== undefined) return filterKeyset(table, { customer_id, status }, { status: statuses });
  return filterKeyset(table, { environment, status }, { environment: ENVIRONMENTS, status: statuses });
}

export function createPaymentReads(select: Select) {
  const { find, list } = createReader(select);
  return {
    payment: (id: string) => find(PAYMENTS, id),
    invoice: (id: string) => find(INVOICES, id),

    async listInvoices({ invoiceId, paymentId, customerId, status, environment }: InvoiceFilter, page: Page) {
      const named = rowsNamed([INVOICES.byId, invoiceId], [SELECT_INVOICE_OF_PAYMENT, paymentId]);
      const columns = { payment_id: paymentId, customer_id: customerId, status, environment };
      const keyset = statusKeyset('invoices', INVOICE_STATUSES, columns, named);
      return pageWithin(await list(keyset, page, INVOICES.fromRow), environment);
    },
  };
}
