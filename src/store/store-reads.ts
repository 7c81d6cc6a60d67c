import {
  CUSTOMER_STATUSES,
  INVOICE_STATUSES,
  type Instant,
  PAYMENT_STATUSES,
  type Checkout,
  type Payment,
  SESSION_STATUSES,
} from '../domain/records.ts';
import { ENVIRONMENTS, type Environment } from '../domain/route.ts';
import type { SignalOrigin } from '../domain/signal-origin.ts';
import { type Select, type SelectEach, filterKeyset } from './keyset.ts';
import type { Page } from './list-page.ts';
import { NOTHING, matching, pageOf, pageWithin, unknownStatus } from './named-page.ts';
import { createReader } from './row-reader.ts';
import { createApiKeyReads } from './tables/api-keys-table.ts';
import { createMonitoringReads } from './tables/backlog-reads.ts';
import { createClockReads } from './tables/clock-table.ts';
import {
  CUSTOMERS,
  type CustomerFilter,
  SELECT_CUSTOMERS_BY_EMAIL,
  SELECT_CUSTOMER_BY_EMAIL,
  emailKey,
} from './tables/customers-table.ts';
import { createWebhookReads } from './tables/deliveries-reads.ts';
import {
  DISCREPANCIES,
  SELECT_DISCREPANCIES_OF_SESSION,
  createDiscrepancyReads,
} from './tables/discrepancies-table.ts';
import { erasedKey } from './tables/erased-text.ts';
import { createPersonalDataReads } from './tables/erasure-table.ts';
import { createFeedReads } from './tables/feed-table.ts';
import { createLedgerReads } from './tables/ledger-table.ts';
import {
  INVOICES,
  type InvoiceFilter,
  PAYMENTS,
  type PaymentFilter,
  SELECT_INVOICES_OF_SESSION,
  SELECT_INVOICE_OF_PAYMENT,
  SELECT_PAYMENTS_OF_SESSION,
  SELECT_PAYMENT_OF_INVOICE,
  statusKeyset,
} from './tables/payments-table.ts';
import {
  PROVIDER_MESSAGES,
  PROVIDER_TASKS,
  SELECT_MESSAGES_OF_EVENT,
  SELECT_MESSAGES_OF_SESSION,
  SELECT_TASKS_DUE,
} from './tables/provider-tables.ts';
import { createRecoveryReads } from './tables/recoveries-table.ts';
import { createRefundReads } from './tables/refunds-table.ts';
import { createRoutingReads } from './tables/routing-tables.ts';
import {
  SELECT_SESSIONS_TO_WAKE,
  SELECT_SESSION_BY_KEY,
  SESSIONS,
  type SessionFilter,
  WAKES,
  sessionKeyset,
} from './tables/sessions-table.ts';
import { createEndpointReads } from './tables/webhook-endpoints-table.ts';

export type { Select, SelectEach } from './keyset.ts';

export type Reads = ReturnType<typeof createReads>;

/** Every read of the store's port, over whichever database `select` and `selectEach` ask. */
export function createReads(select: Select, selectEach: SelectEach) {
  const { one, find, all, list } = createReader(select);
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
    ...createRecoveryReads(select),
    ...createRoutingReads(select, selectEach),
    ...createRefundReads(select),
    ...createEndpointReads(select, selectEach),
    ...createWebhookReads(select),
    customer: (id: string) => find(CUSTOMERS, id),
    /** The customer of an address, compared without case. */
    customerByEmail: (environment: Environment, email: string) =>
      one(CUSTOMERS.fromRow, SELECT_CUSTOMER_BY_EMAIL, environment, emailKey(email)),
    session: (id: string) => find(SESSIONS, id),
    sessionByIdempotencyKey: (environment: Environment, key: string) =>
      one(SESSIONS.fromRow, SELECT_SESSION_BY_KEY, environment, key, erasedKey(key)),
    async checkout(sessionId: string): Promise<Checkout | undefined> {
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
        discrepancies: differing.map(DISCREPANCIES.fromRow),
      };
    },
    payment: (id: string) => find(PAYMENTS, id),
    invoice: (id: string) => find(INVOICES, id),

    async listCustomers(filter: CustomerFilter, page: Page) {
      const { customerId, email, status, environment } = filter;
      if (unknownStatus(status, CUSTOMER_STATUSES)) return NOTHING;
      if (customerId === undefined && email === undefined) {
        const leading = { environment: ENVIRONMENTS, status: CUSTOMER_STATUSES };
        return list(filterKeyset('customers', { environment, status }, leading), page, CUSTOMERS.fromRow);
      }
      const named = matching(await customersNamed(customerId, email), { status, environment });
      const isAsked = (item: { email: string }) => email === undefined || emailKey(item.email) === emailKey(email);
      return pageOf(named.filter(isAsked), page);
    },

    async listSessions(filter: SessionFilter, page: Page) {
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

    async listPayments(filter: PaymentFilter, page: Page) {
      if (unknownStatus(filter.status, PAYMENT_STATUSES)) return NOTHING;
      const { invoiceId, sessionId, customerId, status, environment } = filter;
      const named = await namedPayments(filter);
      if (named) return pageOf(matching(named, { invoiceId, sessionId, customerId, status, environment }), page);
      const keyset = statusKeyset('payments', PAYMENT_STATUSES, filter);
      return pageWithin(await list(keyset, page, PAYMENTS.fromRow), environment);
    },

    async listInvoices(filter: InvoiceFilter, page: Page) {
      if (unknownStatus(filter.status, INVOICE_STATUSES)) return NOTHING;
      const { invoiceId, paymentId, customerId, status, environment } = filter;
      if (invoiceId !== undefined || paymentId !== undefined) {
        const named =
          invoiceId === undefined
            ? await all(INVOICES.fromRow, SELECT_INVOICE_OF_PAYMENT, paymentId!)
            : await all(INVOICES.fromRow, INVOICES.byId, invoiceId);
        return pageOf(matching(named, { paymentId, customerId, status, environment }), page);
      }
      const keyset = statusKeyset('invoices', INVOICE_STATUSES, filter);
      return pageWithin(await list(keyset, page, INVOICES.fromRow), environment);
    },

    /** Sessions whose `wakeAt` is past, the longest due first. */
    sessionsToWake: (now: Instant, limit: number) => all(WAKES.fromRow, SELECT_SESSIONS_TO_WAKE, now, limit),
    tasksDue: (now: Instant, limit: number) => all(PROVIDER_TASKS.fromRow, SELECT_TASKS_DUE, now, limit),
    /** The first message of an event id, then the conflicting one that names the session, if any. */
    messagesOfEvent: ({ provider, environment }: SignalOrigin, id: string, sessionId: string) =>
      all(PROVIDER_MESSAGES.fromRow, SELECT_MESSAGES_OF_EVENT, provider, environment, id, sessionId),
    /** Messages about the session's payments, settlements and refunds, oldest first. */
    providerMessages: (sessionId: string) => all(PROVIDER_MESSAGES.fromRow, SELECT_MESSAGES_OF_SESSION, sessionId),
  };

  /** The few payments that a filter names by an id. */
  async function namedPayments({ paymentId, invoiceId, sessionId }: PaymentFilter): Promise<Payment[] | undefined> {
    if (paymentId !== undefined) return all(PAYMENTS.fromRow, PAYMENTS.byId, paymentId);
    if (invoiceId !== undefined) return all(PAYMENTS.fromRow, SELECT_PAYMENT_OF_INVOICE, invoiceId);
    if (sessionId === undefined) return undefined;
    return all(PAYMENTS.fromRow, SELECT_PAYMENTS_OF_SESSION, sessionId);
  }
}
