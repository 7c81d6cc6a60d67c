import { DELIVERY_STATUSES, type Delivery } from '../domain/delivery.ts';
import {
  CUSTOMER_STATUSES,
  INVOICE_STATUSES,
  PAYMENT_STATUSES,
  type Payment,
  SESSION_STATUSES,
} from '../domain/records.ts';
import { EVENT_TYPES, type EventFilter, type EventPlace, comparePlaces, placeOfUnknown } from './events.ts';
import { type KeysetQuery, type Row, type Select, type SelectEach, type SqlValue, keysetQuery } from './keyset.ts';
import { pageAmong, pageOf } from './named-page.ts';
import type {
  CustomerFilter,
  DeliveryFilter,
  InvoiceFilter,
  Listed,
  Page,
  PaymentFilter,
  SessionFilter,
  Store,
} from './store.ts';
import { createClockReads } from './tables/clock.ts';
import * as customers from './tables/customers.ts';
import * as invoices from './tables/invoices.ts';
import { SELECT_LEDGER_OF_PAYMENT, SELECT_LEDGER_TOTAL } from './tables/ledger.ts';
import * as payments from './tables/payments.ts';
import * as providers from './tables/providers.ts';
import * as sessions from './tables/sessions.ts';
import * as routing from './tables/routing.ts';
import * as simulator from './tables/simulator.ts';
import * as webhooks from './tables/webhooks.ts';

export type { Select, SelectEach } from './keyset.ts';

export type Reads = Omit<Store, 'now' | 'commit' | 'onCommit' | 'ping' | 'close'>;

const NOTHING = { items: [], hasMore: false };

/** Every read of the store's port, over whichever database `select` and `selectEach` ask. */
export function createReads(select: Select, selectEach: SelectEach): Reads {
  async function one<Item>(fromRow: (row: Row) => Item, sql: string, ...params: SqlValue[]): Promise<Item | undefined> {
    const [row] = await select(sql, ...params);
    return row && fromRow(row);
  }

  async function all<Item>(fromRow: (row: Row) => Item, sql: string, ...params: SqlValue[]): Promise<Item[]> {
    return (await select(sql, ...params)).map(fromRow);
  }

  async function list<Item>(query: KeysetQuery, page: Page, fromRow: (row: Row) => Item): Promise<Listed<Item>> {
    const { sql, params } = keysetQuery(query, page);
    const rows = await select(sql, ...params);
    const hasMore = rows.length > page.limit;
    const items = rows.slice(0, page.limit).map(fromRow);
    return { items: page.endingBefore === undefined ? items : items.toReversed(), hasMore };
  }

  const customer = (id: string) => one(customers.customerFromRow, customers.SELECT_CUSTOMER, id);

  return {
    ...createClockReads(select, selectEach),
    customer,
    customerByEmail: (environment, email) =>
      one(customers.customerFromRow, customers.SELECT_CUSTOMER_BY_EMAIL, environment, customers.emailKey(email)),
    session: (id) => one(sessions.sessionFromRow, sessions.SELECT_SESSION, id),
    sessionByIdempotencyKey: (environment, key) =>
      one(sessions.sessionFromRow, sessions.SELECT_SESSION_BY_KEY, environment, key),
    async checkout(sessionId) {
      const params = [sessionId];
      const [found = [], paid = [], billed = []] = await selectEach([
        { sql: sessions.SELECT_SESSION, params },
        { sql: payments.SELECT_PAYMENTS_OF_SESSION, params },
        { sql: invoices.SELECT_INVOICES_OF_SESSION, params },
      ]);
      const [session] = found.map(sessions.sessionFromRow);
      if (!session) return undefined;
      return { session, payments: paid.map(payments.paymentFromRow), invoices: billed.map(invoices.invoiceFromRow) };
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
      if (unknownStatus(filter.status, DELIVERY_STATUSES)) return NOTHING;
      const named = await namedDeliveries(filter);
      if (!named) return list(webhooks.deliveryKeyset(filter), page, webhooks.deliveryFromRow);
      return pageOf(
        named.filter(
          (item) =>
            matches(item.sessionId, filter.sessionId) &&
            matches(item.status, filter.status) &&
            matches(item.environment, filter.environment),
        ),
        page,
      );
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
    providerMessage: (provider, id) => one(providers.messageFromRow, providers.SELECT_MESSAGE, provider, id),
    providerMessages: (sessionId) => all(providers.messageFromRow, providers.SELECT_MESSAGES_OF_SESSION, sessionId),

    event: (id) => one(webhooks.eventFromRow, webhooks.SELECT_EVENT, id),
    eventsOfSession: (sessionId) => all(webhooks.eventFromRow, webhooks.SELECT_EVENTS_OF_SESSION, sessionId),
    endpoints: () => all(webhooks.endpointFromRow, webhooks.SELECT_ENDPOINTS),
    deliveriesDue: (endpointId, now, limit) =>
      all(webhooks.dueDeliveryFromRow, webhooks.SELECT_DELIVERIES_DUE, endpointId, now, limit),
    delivery: (id) => one(webhooks.deliveryFromRow, webhooks.SELECT_DELIVERY, id),
    deliveriesOfSession: (sessionId) => all(webhooks.deliveryFromRow, webhooks.SELECT_DELIVERIES_OF_SESSION, sessionId),
    deliveryAttempts: (deliveryId) => all(webhooks.attemptFromRow, webhooks.SELECT_DELIVERY_ATTEMPTS, deliveryId),

    async outcomeTallies(environment, routeIds, from, until) {
      const sql = routing.SELECT_TALLIES;
      const found = await selectEach(routeIds.map((id) => ({ sql, params: [environment, id, from, until] })));
      return found.map((rows) => rows.map(routing.tallyFromRow));
    },
    async recentResults(environment, routes, limit) {
      const sql = routing.SELECT_RECENT_RESULTS;
      const found = await selectEach(routes.map(({ id, since }) => ({ sql, params: [environment, id, since, limit] })));
      return found.map((rows) => rows.map(routing.resultFromRow));
    },
    routeEstimates: (environment, algorithm) =>
      one(routing.estimatesFromRow, routing.SELECT_ESTIMATES, environment, algorithm),
    routeHealth: () => all(routing.healthFromRow, routing.SELECT_HEALTH),
    listTransitions: (filter, page) => list(routing.transitionKeyset(filter), page, routing.transitionFromRow),
    routingRules: (version) =>
      version === undefined
        ? one(routing.rulesFromRow, routing.SELECT_NEWEST_RULES)
        : one(routing.rulesFromRow, routing.SELECT_RULES, version),
    routingSnapshot: (id) => one(routing.snapshotFromRow, routing.SELECT_SNAPSHOT, id),
    routingDecision: (id) => one(routing.decisionFromRow, routing.SELECT_DECISION, id),
    routingDecisionsOfSession: (sessionId) =>
      all(routing.decisionFromRow, routing.SELECT_DECISIONS_OF_SESSION, sessionId),
    listRoutingDecisions: (environment, page) =>
      list(routing.decisionKeyset(environment), page, routing.decisionFromRow),

    async ledgerOfPayment(paymentId) {
      return (await select(SELECT_LEDGER_OF_PAYMENT, paymentId)).map((row) => ({
        kind: row['kind'] as string,
        account: row['account'] as string,
        amount: row['amount'] as number,
      }));
    },
    async ledgerTotal() {
      const [row] = await select(SELECT_LEDGER_TOTAL);
      return row!['total'] as number;
    },

    simulatedPayment: (reference) => one(simulator.simulatedFromRow, simulator.SELECT_SIMULATED, reference),
    simulatedPaymentOf: (paymentId) =>
      one(simulator.simulatedFromRow, simulator.SELECT_SIMULATED_OF_PAYMENT, paymentId),
    simulatedPaymentsOfSession: (sessionId) =>
      all(simulator.simulatedFromRow, simulator.SELECT_SIMULATED_OF_SESSION, sessionId),
    simulatedCallbacksDue: (now, limit) => all(simulator.callbackFromRow, simulator.SELECT_CALLBACKS_DUE, now, limit),
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

function matches(value: string, filter: string | undefined): boolean {
  return filter === undefined || value === filter;
}
