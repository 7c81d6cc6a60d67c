import { DELIVERY_STATUSES, type Delivery, answerClassOf } from '../domain/delivery.ts';
import {
  CUSTOMER_STATUSES,
  INVOICE_STATUSES,
  PAYMENT_STATUSES,
  type Payment,
  SESSION_STATUSES,
} from '../domain/records.ts';
import { EVENT_TYPES, comparePlaces, placeOfUnknown } from './events.ts';
import { type Select, type SelectEach, unionQuery } from './keyset.ts';
import { pageAmong, pageOf } from './named-page.ts';
import { createReader } from './reader.ts';
import type { InvoiceFilter, PaymentFilter, Store } from './store.ts';
import type { DeliveryFilter } from './webhooks.ts';
import { createApiKeyReads } from './tables/api-keys.ts';
import { createClockReads } from './tables/clock.ts';
import { createDiscrepancyReads } from './tables/discrepancies.ts';
import { createFeedReads } from './tables/feed.ts';
import { createPersonalDataReads } from './tables/personal-data.ts';
import { createRefundReads } from './tables/refunds.ts';
import * as customers from './tables/customers.ts';
import { erasedKey } from './tables/erased-text.ts';
import * as invoices from './tables/invoices.ts';
import { createLedgerReads } from './tables/ledger.ts';
import { createMonitoringReads } from './tables/monitoring.ts';
import * as payments from './tables/payments.ts';
import * as providers from './tables/providers.ts';
import * as sessions from './tables/sessions.ts';
import { createRoutingReads } from './tables/routing.ts';
import { createSimulatorReads } from './tables/simulator-reads.ts';
import { createEndpointReads } from './tables/webhook-endpoints.ts';
import * as webhooks from './tables/webhooks.ts';

export type { Select, SelectEach } from './keyset.ts';

export type Reads = Omit<Store, 'now' | 'commit' | 'onCommit' | 'ping' | 'close'>;

const NOTHING = { items: [], hasMore: false };

/** Every read of the store's port, over whichever database `select` and `selectEach` ask. */
export function createReads(select: Select, selectEach: SelectEach): Reads {
  const { one, all, list, listAsked } = createReader(select);
  const { CUSTOMERS } = customers;
  const { SESSIONS } = sessions;
  const { INVOICES } = invoices;
  const customer = (id: string) => one(CUSTOMERS.fromRow, customers.SELECT_CUSTOMER, id);
  const customersNamed = (id: string | undefined, email: string | undefined) =>
    id === undefined
      ? all(CUSTOMERS.fromRow, customers.SELECT_CUSTOMERS_BY_EMAIL, customers.emailKey(email!))
      : all(CUSTOMERS.fromRow, customers.SELECT_CUSTOMER, id);

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
      one(CUSTOMERS.fromRow, customers.SELECT_CUSTOMER_BY_EMAIL, environment, customers.emailKey(email)),
    session: (id) => one(SESSIONS.fromRow, sessions.SELECT_SESSION, id),
    sessionByIdempotencyKey: (environment, key) =>
      one(SESSIONS.fromRow, sessions.SELECT_SESSION_BY_KEY, environment, key, erasedKey(key)),
    async checkout(sessionId) {
      const params = [sessionId];
      const [found = [], paid = [], billed = []] = await selectEach([
        { sql: sessions.SELECT_SESSION, params },
        { sql: payments.SELECT_PAYMENTS_OF_SESSION, params },
        { sql: invoices.SELECT_INVOICES_OF_SESSION, params },
      ]);
      const [session] = found.map(SESSIONS.fromRow);
      if (!session) return undefined;
      return { session, payments: paid.map(payments.paymentFromRow), invoices: billed.map(INVOICES.fromRow) };
    },
    payment: (id) => one(payments.paymentFromRow, payments.SELECT_PAYMENT, id),
    invoice: (id) => one(INVOICES.fromRow, invoices.SELECT_INVOICE, id),

    async listCustomers(filter, page) {
      const { customerId, email, status, environment } = filter;
      if (unknownStatus(status, CUSTOMER_STATUSES)) return NOTHING;
      if (customerId === undefined && email === undefined) {
        return list(customers.customerKeyset(filter), page, CUSTOMERS.fromRow);
      }
      const named = matching(await customersNamed(customerId, email), { status, environment });
      const isAsked = (item: { email: string }) =>
        email === undefined || customers.emailKey(item.email) === customers.emailKey(email);
      return pageOf(named.filter(isAsked), page);
    },

    async listSessions(filter, page) {
      const { status, customer: named, environment } = filter;
      if (unknownStatus(status, SESSION_STATUSES)) return NOTHING;
      if (named === undefined) return list(sessions.sessionKeyset(filter, undefined), page, SESSIONS.fromRow);
      const found = named.includes('@')
        ? await customersNamed(undefined, named)
        : await customersNamed(named, undefined);
      const ids = matching(found, { environment }).map(({ id }) => id);
      if (ids.length === 0) return NOTHING;
      return list(sessions.sessionKeyset(filter, ids), page, SESSIONS.fromRow);
    },

    async listPayments(filter, page) {
      if (unknownStatus(filter.status, PAYMENT_STATUSES)) return NOTHING;
      const { paymentId: _, ...others } = filter;
      const named = await namedPayments(filter);
      if (named) return pageOf(matching(named, others), page);
      if (await isOfOtherEnvironment(filter)) return NOTHING;
      return list(payments.paymentKeyset(filter), page, payments.paymentFromRow);
    },

    async listInvoices(filter, page) {
      if (unknownStatus(filter.status, INVOICE_STATUSES)) return NOTHING;
      const { invoiceId, ...others } = filter;
      if (invoiceId !== undefined || filter.paymentId !== undefined) {
        const named =
          invoiceId === undefined
            ? await all(INVOICES.fromRow, invoices.SELECT_INVOICE_OF_PAYMENT, filter.paymentId!)
            : await all(INVOICES.fromRow, invoices.SELECT_INVOICE, invoiceId);
        return pageOf(matching(named, others), page);
      }
      if (await isOfOtherEnvironment(filter)) return NOTHING;
      return list(invoices.invoiceKeyset(filter), page, INVOICES.fromRow);
    },

    async listDeliveries(filter, page) {
      if (unknownStatus(filter.status, DELIVERY_STATUSES) || unknownStatus(filter.type, EVENT_TYPES)) return NOTHING;
      const { createdFrom, createdUntil, statusClass, eventId: _, ...others } = filter;
      const named = await namedDeliveries(filter);
      if (named) {
        return pageOf(
          matching(named, others).filter(
            ({ lastAttempt, created }) =>
              created >= (createdFrom ?? -Infinity) &&
              created < (createdUntil ?? Infinity) &&
              (statusClass === undefined || (lastAttempt && answerClassOf(lastAttempt.statusCode)) === statusClass),
          ),
          page,
        );
      }
      const [first, ...rest] = webhooks.deliveryKeysets(filter);
      if (!first || (await isEndpointOfOtherEnvironment(filter))) return NOTHING;
      return listAsked(unionQuery([first, ...rest], page), page, webhooks.deliveryFromRow);
    },

    async listEvents(filter, page) {
      const { sessionId, type, environment } = filter;
      if (unknownStatus(type, EVENT_TYPES)) return NOTHING;
      const cursor = page.endingBefore ?? page.startingAfter;
      const place =
        cursor === undefined
          ? undefined
          : ((await one(webhooks.eventFromRow, webhooks.SELECT_EVENT, cursor)) ?? placeOfUnknown(cursor));
      if (sessionId === undefined) return list(webhooks.eventKeyset(filter, place), page, webhooks.eventFromRow);
      const named = await all(webhooks.eventFromRow, webhooks.SELECT_EVENTS_OF_SESSION, sessionId);
      return pageAmong(matching(named, { type, environment }), page, place, comparePlaces);
    },

    sessionsToWake: (now, limit) => all(sessions.wakeFromRow, sessions.SELECT_SESSIONS_TO_WAKE, now, limit),
    tasksDue: (now, limit) => all(providers.PROVIDER_TASKS.fromRow, providers.SELECT_TASKS_DUE, now, limit),
    messagesOfEvent: ({ provider, environment }, id, sessionId) =>
      all(
        providers.PROVIDER_MESSAGES.fromRow,
        providers.SELECT_MESSAGES_OF_EVENT,
        provider,
        environment,
        id,
        sessionId,
      ),
    providerMessages: (sessionId) =>
      all(providers.PROVIDER_MESSAGES.fromRow, providers.SELECT_MESSAGES_OF_SESSION, sessionId),

    event: (id) => one(webhooks.eventFromRow, webhooks.SELECT_EVENT, id),
    eventsOfSession: (sessionId) => all(webhooks.eventFromRow, webhooks.SELECT_EVENTS_OF_SESSION, sessionId),
    deliveriesDue: (endpointId, now, limit) =>
      all(webhooks.dueDeliveryFromRow, webhooks.SELECT_DELIVERIES_DUE, endpointId, now, limit),
    delivery: (id) => one(webhooks.deliveryFromRow, webhooks.SELECT_DELIVERY, id),
    deliveriesOfSession: (sessionId) => all(webhooks.deliveryFromRow, webhooks.SELECT_DELIVERIES_OF_SESSION, sessionId),
    deliveryAttempts: (deliveryId) =>
      all(webhooks.DELIVERY_ATTEMPTS.fromRow, webhooks.SELECT_DELIVERY_ATTEMPTS, deliveryId),
  };

  /** The few payments that a filter names by an id. */
  async function namedPayments({ paymentId, invoiceId, sessionId }: PaymentFilter): Promise<Payment[] | undefined> {
    if (paymentId !== undefined) return all(payments.paymentFromRow, payments.SELECT_PAYMENT, paymentId);
    if (invoiceId !== undefined) {
      const invoice = await one(INVOICES.fromRow, invoices.SELECT_INVOICE, invoiceId);
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

  /** An endpoint implies an environment: it has no deliveries of another one. */
  async function isEndpointOfOtherEnvironment({ endpointId, environment }: DeliveryFilter): Promise<boolean> {
    if (endpointId === undefined || environment === undefined) return false;
    const [row] = await select(webhooks.SELECT_ENVIRONMENT_OF_ENDPOINT, endpointId);
    return row?.['environment'] !== environment;
  }

  /** A customer implies an environment: it has no records of another one. */
  async function isOfOtherEnvironment({ customerId, environment }: PaymentFilter | InvoiceFilter): Promise<boolean> {
    if (customerId === undefined || environment === undefined) return false;
    return (await customer(customerId))?.environment !== environment;
  }
}

function unknownStatus(status: string | undefined, known: readonly string[]): boolean {
  return status !== undefined && !known.includes(status);
}

/** The items that have the value of every property that the filter gives. */
function matching<Item extends object>(items: Item[], filter: { [Name in keyof Item]?: unknown }): Item[] {
  const given = Object.entries(filter).filter(([, value]) => value !== undefined) as [keyof Item, unknown][];
  return items.filter((item) => given.every(([name, value]) => item[name] === value));
}
