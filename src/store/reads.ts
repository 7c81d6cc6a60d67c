import { DELIVERY_STATUSES, type Delivery, answerClassOf } from '../domain/delivery.ts';
import {
  CUSTOMER_STATUSES,
  INVOICE_STATUSES,
  PAYMENT_STATUSES,
  type Payment,
  SESSION_STATUSES,
} from '../domain/records.ts';
import { EVENT_TYPES, type EventFilter, type EventPlace, comparePlaces, placeOfUnknown } from './events.ts';
import { type Select, type SelectEach, unionQuery } from './keyset.ts';
import { pageAmong, pageOf } from './named-page.ts';
import { createReader } from './reader.ts';
import type { Page } from './page.ts';
import type { CustomerFilter, InvoiceFilter, PaymentFilter, SessionFilter, Store } from './store.ts';
import type { DeliveryFilter } from './webhooks.ts';
import { createApiKeyReads } from './tables/api-keys.ts';
import { createClockReads } from './tables/clock.ts';
import { SELECT_DISCREPANCIES_OF_SESSION, createDiscrepancyReads, discrepancyFromRow } from './tables/discrepancies.ts';
import { createFeedReads } from './tables/feed.ts';
import { createPersonalDataReads } from './tables/personal-data.ts';
import { createRefundReads } from './tables/refunds.ts';
import * as customers from './tables/customers.ts';
import { erasedKey } from './tables/erased-key.ts';
import * as invoices from './tables/invoices.ts';
import { createLedgerReads } from './tables/ledger.ts';
import { createMonitoringReads } from './tables/monitoring.ts';
import { deliveryKeysets } from './tables/delivery-list.ts';
import * as payments from './tables/payments.ts';
import * as providers from './tables/providers.ts';
import * as sessions from './tables/sessions.ts';
import { createRoutingReads } from './tables/routing-reads.ts';
import { createSimulatorReads } from './tables/simulator-reads.ts';
import { createEndpointReads } from './tables/webhook-endpoints.ts';
import * as webhooks from './tables/webhooks.ts';

export type { Select, SelectEach } from './keyset.ts';

export type Reads = Omit<Store, 'now' | 'commit' | 'onCommit' | 'ping' | 'close'>;

const NOTHING = { items: [], hasMore: false };

/** Every read of the store's port, over whichever database `select` and `selectEach` ask. */
export function createReads(select: Select, selectEach: SelectEach): Reads {
  const { one, all, list, listAsked } = createReader(select);
  const customer = (id: string) => one(customers.customerFromRow, customers.SELECT_CUSTOMER, id);

  return {
    ...createApiKeyReads(select),
    ...createClockReads(select, selectEach),
    ...createDiscrepancyReads(select),
    ...createFeedReads(select),
    ...createLedgerReads(select, selectEach),
    ...createMonitoringReads(selectEach),
    ...createPersonalDataReads(select, selectEach),
    ...createRoutingReads(select, selectEach),
    ...createSimulatorReads(select),
    ...createRefundReads(select),
    ...createEndpointReads(select, selectEach),
    customer,
    customerByEmail: (environment, email) =>
      one(customers.customerFromRow, customers.SELECT_CUSTOMER_BY_EMAIL, environment, customers.emailKey(email)),
    session: (id) => one(sessions.sessionFromRow, sessions.SELECT_SESSION, id),
    sessionByIdempotencyKey: (environment, key) =>
      one(sessions.sessionFromRow, sessions.SELECT_SESSION_BY_KEY, environment, key, erasedKey(key)),
    async checkout(sessionId) {
      const params = [sessionId];
      const [found = [], paid = [], billed = [], differing = []] = await selectEach([
        { sql: sessions.SELECT_SESSION, params },
        { sql: payments.SELECT_PAYMENTS_OF_SESSION, params },
        { sql: invoices.SELECT_INVOICES_OF_SESSION, params },
        { sql: SELECT_DISCREPANCIES_OF_SESSION, params },
      ]);
      const [session] = found.map(sessions.sessionFromRow);
      if (!session) return undefined;
      return {
        session,
        payments: paid.map(payments.paymentFromRow),
        invoices: billed.map(invoices.invoiceFromRow),
        discrepancies: differing.map(discrepancyFromRow),
      };
    },
    payment: (id) => one(payments.paymentFromRow, payments.SELECT_PAYMENT, id),
    invoice: (id) => one(invoices.invoiceFromRow, invoices.SELECT_INVOICE, id),

    async listCustomers(filter: CustomerFilter, page: Page) {
      if (unknownStatus(filter.status, CUSTOMER_STATUSES)) return NOTHING;
      if (filter.customerId === undefined && filter.email === undefined) {
        return list(customers.customerKeyset(filter), page, customers.customerFromRow);
      }
      const named =
        filter.customerId === undefined
          ? await all(customers.customerFromRow, customers.SELECT_CUSTOMERS_BY_EMAIL, customers.emailKey(filter.email!))
          : await all(customers.customerFromRow, customers.SELECT_CUSTOMER, filter.customerId);
      return pageOf(
        named.filter(
          (item) =>
            matches(item.status, filter.status) &&
            matches(item.environment, filter.environment) &&
            (filter.email === undefined || customers.emailKey(item.email) === customers.emailKey(filter.email)),
        ),
        page,
      );
    },

    async listSessions(filter: SessionFilter, page: Page) {
      if (unknownStatus(filter.status, SESSION_STATUSES)) return NOTHING;
      if (filter.customer === undefined) {
        return list(sessions.sessionKeyset(filter, undefined), page, sessions.sessionFromRow);
      }
      const named = filter.customer.includes('@')
        ? await all(customers.customerFromRow, customers.SELECT_CUSTOMERS_BY_EMAIL, customers.emailKey(filter.customer))
        : await all(customers.customerFromRow, customers.SELECT_CUSTOMER, filter.customer);
      const ids = named.filter((item) => matches(item.environment, filter.environment)).map(({ id }) => id);
      if (ids.length === 0) return NOTHING;
      return list(sessions.sessionKeyset(filter, ids), page, sessions.sessionFromRow);
    },

    async listPayments(filter: PaymentFilter, page: Page) {
      if (unknownStatus(filter.status, PAYMENT_STATUSES)) return NOTHING;
      const named = await namedPayments(filter);
      if (named) {
        return pageOf(
          named.filter(
            (item) =>
              matches(item.invoiceId, filter.invoiceId) &&
              matches(item.sessionId, filter.sessionId) &&
              matches(item.customerId, filter.customerId) &&
              matches(item.status, filter.status) &&
              matches(item.environment, filter.environment),
          ),
          page,
        );
      }
      if (await isElsewhere(filter)) return NOTHING;
      return list(payments.paymentKeyset(filter), page, payments.paymentFromRow);
    },

    async listInvoices(filter: InvoiceFilter, page: Page) {
      if (unknownStatus(filter.status, INVOICE_STATUSES)) return NOTHING;
      if (filter.invoiceId !== undefined || filter.paymentId !== undefined) {
        const named =
          filter.invoiceId === undefined
            ? await all(invoices.invoiceFromRow, invoices.SELECT_INVOICE_OF_PAYMENT, filter.paymentId!)
            : await all(invoices.invoiceFromRow, invoices.SELECT_INVOICE, filter.invoiceId);
        return pageOf(
          named.filter(
            (item) =>
              matches(item.paymentId, filter.paymentId) &&
              matches(item.customerId, filter.customerId) &&
              matches(item.status, filter.status) &&
              matches(item.environment, filter.environment),
          ),
          page,
        );
      }
      if (await isElsewhere(filter)) return NOTHING;
      return list(invoices.invoiceKeyset(filter), page, invoices.invoiceFromRow);
    },

    async listDeliveries(filter: DeliveryFilter, page: Page) {
      if (unknownStatus(filter.status, DELIVERY_STATUSES) || unknownStatus(filter.type, EVENT_TYPES)) return NOTHING;
      const named = await namedDeliveries(filter);
      if (named) {
        return pageOf(
          named.filter((item) => isAsked(item, filter)),
          page,
        );
      }
      const [first, ...rest] = deliveryKeysets(filter);
      if (!first || (await isOfOther(filter))) return NOTHING;
      return listAsked(unionQuery([first, ...rest], page), page, webhooks.deliveryFromRow);
    },

    async listEvents(filter: EventFilter, page: Page) {
      const { sessionId, type, environment } = filter;
      if (unknownStatus(type, EVENT_TYPES)) return NOTHING;
      const cursor = page.endingBefore ?? page.startingAfter;
      const place = cursor === undefined ? undefined : await placeOf(cursor);
      if (sessionId === undefined) return list(webhooks.eventKeyset(filter, place), page, webhooks.eventFromRow);
      const named = await all(webhooks.eventFromRow, webhooks.SELECT_EVENTS_OF_SESSION, sessionId);
      const found = named.filter((item) => matches(item.type, type) && matches(item.environment, environment));
      return pageAmong(found, page, place, comparePlaces);
    },

    sessionsToWake: (now, limit) => all(sessions.wakeFromRow, sessions.SELECT_SESSIONS_TO_WAKE, now, limit),
    tasksDue: (now, limit) => all(providers.taskFromRow, providers.SELECT_TASKS_DUE, now, limit),
    messagesOfEvent: ({ provider, environment }, id, sessionId) =>
      all(providers.messageFromRow, providers.SELECT_MESSAGES_OF_EVENT, provider, environment, id, sessionId),
    providerMessages: (sessionId) => all(providers.messageFromRow, providers.SELECT_MESSAGES_OF_SESSION, sessionId),

    event: (id) => one(webhooks.eventFromRow, webhooks.SELECT_EVENT, id),
    eventsOfSession: (sessionId) => all(webhooks.eventFromRow, webhooks.SELECT_EVENTS_OF_SESSION, sessionId),
    deliveriesDue: (endpointId, now, limit) =>
      all(webhooks.dueDeliveryFromRow, webhooks.SELECT_DELIVERIES_DUE, endpointId, now, limit),
    delivery: (id) => one(webhooks.deliveryFromRow, webhooks.SELECT_DELIVERY, id),
    deliveriesOfSession: (sessionId) => all(webhooks.deliveryFromRow, webhooks.SELECT_DELIVERIES_OF_SESSION, sessionId),
    deliveryAttempts: (deliveryId) => all(webhooks.attemptFromRow, webhooks.SELECT_DELIVERY_ATTEMPTS, deliveryId),
  };

  /** The few payments that a filter names by an id; the other filters cost nothing among them. */
  async function namedPayments({ paymentId, invoiceId, sessionId }: PaymentFilter): Promise<Payment[] | undefined> {
    if (paymentId !== undefined) return all(payments.paymentFromRow, payments.SELECT_PAYMENT, paymentId);
    if (invoiceId !== undefined) {
      const invoice = await one(invoices.invoiceFromRow, invoices.SELECT_INVOICE, invoiceId);
      return invoice ? all(payments.paymentFromRow, payments.SELECT_PAYMENT, invoice.paymentId) : [];
    }
    if (sessionId === undefined) return undefined;
    return all(payments.paymentFromRow, payments.SELECT_PAYMENTS_OF_SESSION, sessionId);
  }

  /** The few deliveries of one event or session. */
  async function namedDeliveries({ eventId, sessionId }: DeliveryFilter): Promise<Delivery[] | undefined> {
    if (eventId !== undefined) return all(webhooks.deliveryFromRow, webhooks.SELECT_DELIVERIES_OF_EVENT, eventId);
    if (sessionId === undefined) return undefined;
    return all(webhooks.deliveryFromRow, webhooks.SELECT_DELIVERIES_OF_SESSION, sessionId);
  }

  /** An endpoint implies an environment too. */
  async function isOfOther({ endpointId, environment }: DeliveryFilter): Promise<boolean> {
    if (endpointId === undefined || environment === undefined) return false;
    const [row] = await select(webhooks.SELECT_ENVIRONMENT_OF_ENDPOINT, endpointId);
    return row?.['environment'] !== environment;
  }

  async function placeOf(eventId: string): Promise<EventPlace> {
    return (await one(webhooks.eventFromRow, webhooks.SELECT_EVENT, eventId)) ?? placeOfUnknown(eventId);
  }

  /** A customer implies an environment: asking for another one's records of it finds nothing. */
  async function isElsewhere({ customerId, environment }: PaymentFilter | InvoiceFilter): Promise<boolean> {
    if (customerId === undefined || environment === undefined) return false;
    return (await customer(customerId))?.environment !== environment;
  }
}

function unknownStatus(status: string | undefined, known: readonly string[]): boolean {
  return status !== undefined && !known.includes(status);
}

/** Whether one of the few deliveries that are named is what all filters ask for. */
function isAsked({ lastAttempt, ...item }: Delivery, filter: DeliveryFilter): boolean {
  const { createdFrom = -Infinity, createdUntil = Infinity } = filter;
  return (
    matches(item.sessionId, filter.sessionId) &&
    matches(item.endpointId, filter.endpointId) &&
    matches(item.type, filter.type) &&
    matches(item.status, filter.status) &&
    matches(item.environment, filter.environment) &&
    (filter.statusClass === undefined ||
      (lastAttempt && answerClassOf(lastAttempt.statusCode)) === filter.statusClass) &&
    item.created >= createdFrom &&
    item.created < createdUntil
  );
}

function matches(value: string, filter: string | undefined): boolean {
  return filter === undefined || value === filter;
}
