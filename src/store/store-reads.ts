import {
  CUSTOMER_STATUSES,
  INVOICE_STATUSES,
  PAYMENT_STATUSES,
  type Payment,
  SESSION_STATUSES,
} from '../domain/records.ts';
import type { Select, SelectEach } from './keyset.ts';
import { matching, pageOf, unknownStatus } from './named-page.ts';
import { createReader } from './row-reader.ts';
import type { InvoiceFilter, PaymentFilter, Store } from './store.ts';
import { createApiKeyReads } from './tables/api-keys-table.ts';
import { createClockReads } from './tables/clock-table.ts';
import {
  CUSTOMERS,
  SELECT_CUSTOMERS_BY_EMAIL,
  SELECT_CUSTOMER_BY_EMAIL,
  customerKeyset,
  emailKey,
} from './tables/customers-table.ts';
import {
  SELECT_DISCREPANCIES_OF_SESSION,
  createDiscrepancyReads,
  discrepancyFromRow,
} from './tables/discrepancies-table.ts';
import { erasedKey } from './tables/erased-text.ts';
import { createFeedReads } from './tables/feed-table.ts';
import {
  INVOICES,
  SELECT_INVOICES_OF_SESSION,
  SELECT_INVOICE_OF_PAYMENT,
  invoiceKeyset,
} from './tables/invoices-table.ts';
import { createLedgerReads } from './tables/ledger-table.ts';
import { createMonitoringReads } from './tables/backlog-reads.ts';
import { PAYMENTS, SELECT_PAYMENTS_OF_SESSION, paymentKeyset } from './tables/payments-table.ts';
import { createPersonalDataReads } from './tables/erasure-table.ts';
import {
  PROVIDER_MESSAGES,
  PROVIDER_TASKS,
  SELECT_MESSAGES_OF_EVENT,
  SELECT_MESSAGES_OF_SESSION,
  SELECT_TASKS_DUE,
} from './tables/provider-tables.ts';
import { createRefundReads } from './tables/refunds-table.ts';
import { createRoutingReads } from './tables/routing-tables.ts';
import {
  SELECT_SESSIONS_TO_WAKE,
  SELECT_SESSION_BY_KEY,
  SESSIONS,
  sessionKeyset,
  wakeFromRow,
} from './tables/sessions-table.ts';
import { createEndpointReads } from './tables/webhook-endpoints-table.ts';
import { createWebhookReads } from './tables/deliveries-reads.ts';

export type { Select, SelectEach } from './keyset.ts';

export type Reads = Omit<Store, 'now' | 'commit' | 'onCommit' | 'ping' | 'close'>;

const NOTHING = { items: [], hasMore: false };

/** Every read of the store's port, over whichever database `select` and `selectEach` ask. */
export function createReads(select: Select, selectEach: SelectEach): Reads {
  const { one, find, all, list } = createReader(select);
  const customer = (id: string) => find(CUSTOMERS, id);
  const customersNamed = (id: string | undefined, email: string | undefined) =>
    id === undefined
      ? all(CUSTOMERS.fromRow, SELECT_CUSTOMERS_BY_EMAIL, emailKey(email!))
      : all(CUSTOMERS.fromRow, CUSTOMERS.byId, id);

  return {
    ...createApiKeyReads(select),
    ...createClockReads(select, selectEach),
    ...createDiscrepancyReads(select),
    ...createFeedReads(select),
    ...createLedgerReads(select, selectEach),
    ...createMonitoringReads(selectEach),
    ...createPersonalDataReads(select, selectEach),
    ...createRoutingReads(select, selectEach),
    ...createRefundReads(select),
    ...createEndpointReads(select, selectEach),
    ...createWebhookReads(select),
    customer,
    customerByEmail: (environment, email) =>
      one(CUSTOMERS.fromRow, SELECT_CUSTOMER_BY_EMAIL, environment, emailKey(email)),
    session: (id) => find(SESSIONS, id),
    sessionByIdempotencyKey: (environment, key) =>
      one(SESSIONS.fromRow, SELECT_SESSION_BY_KEY, environment, key, erasedKey(key)),
    async checkout(sessionId) {
      const params = [sessionId];
      const [found = [], paid = [], billed = [], differing = []] = await selectEach([
        { sql: SESSIONS.byId, params },
        { sql: SELECT_PAYMENTS_OF_SESSION, params },
        { sql: SELECT_INVOICES_OF_SESSION, params },
        { sql: SELECT_DISCREPANCIES_OF_SESSION, params },
      ]);
      const [session] = found.map(SESSIONS.fromRow);
      if (!session) return undefined;
      return {
        session,
        payments: paid.map(PAYMENTS.fromRow),
        invoices: billed.map(INVOICES.fromRow),
        discrepancies: differing.map(discrepancyFromRow),
      };
    },
    payment: (id) => find(PAYMENTS, id),
    invoice: (id) => find(INVOICES, id),

    async listCustomers(filter, page) {
      const { customerId, email, status, environment } = filter;
      if (unknownStatus(status, CUSTOMER_STATUSES)) return NOTHING;
      if (customerId === undefined && email === undefined) {
        return list(customerKeyset(filter), page, CUSTOMERS.fromRow);
      }
      const named = matching(await customersNamed(customerId, email), { status, environment });
      const isAsked = (item: { email: string }) => email === undefined || emailKey(item.email) === emailKey(email);
      return pageOf(named.filter(isAsked), page);
    },

    async listSessions(filter, page) {
      const { status, customer: named, environment } = filter;
      if (unknownStatus(status, SESSION_STATUSES)) return NOTHING;
      if (named === undefined) return list(sessionKeyset(filter, undefined), page, SESSIONS.fromRow);
      const found = named.includes('@')
        ? await customersNamed(undefined, named)
        : await customersNamed(named, undefined);
      const ids = matching(found, { environment }).map(({ id }) => id);
      if (ids.length === 0) return NOTHING;
      return list(sessionKeyset(filter, ids), page, SESSIONS.fromRow);
    },

    async listPayments(filter, page) {
      if (unknownStatus(filter.status, PAYMENT_STATUSES)) return NOTHING;
      const { invoiceId, sessionId, customerId, status, environment } = filter;
      const named = await namedPayments(filter);
      if (named) return pageOf(matching(named, { invoiceId, sessionId, customerId, status, environment }), page);
      if (await isOfOtherEnvironment(filter)) return NOTHING;
      return list(paymentKeyset(filter), page, PAYMENTS.fromRow);
    },

    async listInvoices(filter, page) {
      if (unknownStatus(filter.status, INVOICE_STATUSES)) return NOTHING;
      const { invoiceId, paymentId, customerId, status, environment } = filter;
      if (invoiceId !== undefined || paymentId !== undefined) {
        const named =
          invoiceId === undefined
            ? await all(INVOICES.fromRow, SELECT_INVOICE_OF_PAYMENT, paymentId!)
            : await all(INVOICES.fromRow, INVOICES.byId, invoiceId);
        return pageOf(matching(named, { paymentId, customerId, status, environment }), page);
      }
      if (await isOfOtherEnvironment(filter)) return NOTHING;
      return list(invoiceKeyset(filter), page, INVOICES.fromRow);
    },

    sessionsToWake: (now, limit) => all(wakeFromRow, SELECT_SESSIONS_TO_WAKE, now, limit),
    tasksDue: (now, limit) => all(PROVIDER_TASKS.fromRow, SELECT_TASKS_DUE, now, limit),
    messagesOfEvent: ({ provider, environment }, id, sessionId) =>
      all(PROVIDER_MESSAGES.fromRow, SELECT_MESSAGES_OF_EVENT, provider, environment, id, sessionId),
    providerMessages: (sessionId) => all(PROVIDER_MESSAGES.fromRow, SELECT_MESSAGES_OF_SESSION, sessionId),
  };

  /** The few payments that a filter names by an id. */
  async function namedPayments({ paymentId, invoiceId, sessionId }: PaymentFilter): Promise<Payment[] | undefined> {
    if (paymentId !== undefined) return all(PAYMENTS.fromRow, PAYMENTS.byId, paymentId);
    if (invoiceId !== undefined) {
      const invoice = await find(INVOICES, invoiceId);
      return invoice ? all(PAYMENTS.fromRow, PAYMENTS.byId, invoice.paymentId) : [];
    }
    if (sessionId === undefined) return undefined;
    return all(PAYMENTS.fromRow, SELECT_PAYMENTS_OF_SESSION, sessionId);
  }

  /** A customer implies an environment: it has no records of another one. */
  async function isOfOtherEnvironment({ customerId, environment }: PaymentFilter | InvoiceFilter): Promise<boolean> {
    if (customerId === undefined || environment === undefined) return false;
    return (await customer(customerId))?.environment !== environment;
  }
}
