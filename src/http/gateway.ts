import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { renderDelivery, renderDeliveryDetails } from '../contract/deliveries.ts';
import { type Endpoint, GATEWAY_ENDPOINTS } from '../contract/endpoints.ts';
import { eventListText } from '../contract/events.ts';
import { inputReader } from '../contract/problems.ts';
import {
  customersQuery,
  deliveriesQuery,
  eventsQuery,
  invoicesQuery,
  pageOf,
  paymentsQuery,
  sessionsQuery,
} from '../contract/queries.ts';
import { renderCustomer, renderInvoice, renderPayment, renderSession } from '../contract/render.ts';
import { sessionRequest } from '../contract/requests.ts';
import { isId } from '../domain/id.ts';
import { createCheckout } from '../operations/create-checkout.ts';
import { expireSession } from '../operations/expire-session.ts';
import { getCustomer, getDelivery, getEvent, getInvoice, getPayment, getSession } from '../operations/read-records.ts';
import { replayDelivery } from '../operations/replay-delivery.ts';
import { resendEvent } from '../operations/resend-event.ts';
import type { Listed } from '../store/store.ts';
import type { AppDeps } from './app.ts';

const readSessionRequest = inputReader(sessionRequest);
const readCustomersQuery = inputReader(customersQuery);
const readSessionsQuery = inputReader(sessionsQuery);
const readPaymentsQuery = inputReader(paymentsQuery);
const readInvoicesQuery = inputReader(invoicesQuery);
const readEventsQuery = inputReader(eventsQuery);
const readDeliveriesQuery = inputReader(deliveriesQuery);

/** The merchant's API: sessions, customers, payments, invoices, events and webhook deliveries. */
export function gatewayApi(app: FastifyInstance, deps: AppDeps): void {
  const endpoints = GATEWAY_ENDPOINTS;
  const { store, urls } = deps;
  const bodyHint = `Schema: GET ${urls.base}/api/agent/schema/checkout.create`;
  const queryHint = `Parameters: GET ${urls.base}/openapi.json`;

  serve(app, endpoints.createSession, async (request, reply) => {
    const input = readSessionRequest.read(request.body === undefined ? {} : request.body, bodyHint);
    const { session, replayed } = await createCheckout(deps, input);
    if (replayed) reply.header('idempotent-replayed', 'true');
    return renderSession(session, urls);
  });
  serve(app, endpoints.listSessions, async (request) => {
    const query = readSessionsQuery.read(request.query, queryHint);
    const listed = await store.listSessions(defined(query), pageOf(query));
    return renderList(listed, (session) => renderSession(session, urls));
  });
  serve(app, endpoints.getSession, async (request) =>
    renderSession(await getSession(deps, param(request, 'sessionId')), urls),
  );
  serve(app, endpoints.expireSession, async (request) =>
    renderSession(await expireSession(deps, param(request, 'sessionId')), urls),
  );

  serve(app, endpoints.listCustomers, async (request) => {
    const query = readCustomersQuery.read(request.query, queryHint);
    return renderList(await store.listCustomers(defined(query), pageOf(query)), renderCustomer);
  });
  serve(app, endpoints.getCustomer, async (request) =>
    renderCustomer(await getCustomer(deps, param(request, 'customerId'))),
  );

  serve(app, endpoints.listPayments, async (request) => {
    const { paymentId, ...query } = readPaymentsQuery.read(request.query, queryHint);
    const named = paymentId !== undefined && isId(paymentId, 'chk') ? { sessionId: paymentId } : { paymentId };
    return renderList(await store.listPayments(defined({ ...query, ...named }), pageOf(query)), renderPayment);
  });
  serve(app, endpoints.getPayment, async (request) =>
    renderPayment(await getPayment(deps, param(request, 'paymentId'))),
  );

  serve(app, endpoints.listInvoices, async (request) => {
    const query = readInvoicesQuery.read(request.query, queryHint);
    return renderList(await store.listInvoices(defined(query), pageOf(query)), renderInvoice);
  });
  serve(app, endpoints.getInvoice, async (request) =>
    renderInvoice(await getInvoice(deps, param(request, 'invoiceId'))),
  );

  webhooksApi(app, deps, queryHint);
}

function webhooksApi(app: FastifyInstance, deps: AppDeps, queryHint: string): void {
  const endpoints = GATEWAY_ENDPOINTS;
  const { store } = deps;

  serveText(app, endpoints.listEvents, async (request) => {
    const query = readEventsQuery.read(request.query, queryHint);
    return eventListText(await store.listEvents(defined(query), pageOf(query)));
  });
  serveText(app, endpoints.getEvent, async (request) => (await getEvent(deps, param(request, 'eventId'))).body);
  serve(app, endpoints.resendEvent, async (request) => {
    const items = await resendEvent(deps, param(request, 'eventId'));
    return renderList({ items, hasMore: false }, renderDelivery);
  });

  serve(app, endpoints.listDeliveries, async (request) => {
    const query = readDeliveriesQuery.read(request.query, queryHint);
    return renderList(await store.listDeliveries(defined(query), pageOf(query)), renderDelivery);
  });
  serve(app, endpoints.getDelivery, async (request) => {
    const { delivery, event, log } = await getDelivery(deps, param(request, 'deliveryId'));
    return renderDeliveryDetails(delivery, log, event.body);
  });
  serve(app, endpoints.replayDelivery, async (request) =>
    renderDelivery(await replayDelivery(deps, param(request, 'deliveryId'))),
  );
}

type Served = Pick<Endpoint, 'method' | 'path'>;
type Handler<Answer> = (request: FastifyRequest, reply: FastifyReply) => Promise<Answer>;

/** Serves one endpoint of the contract. */
export function serve(app: FastifyInstance, endpoint: Served, handler: Handler<unknown>): void {
  serveText(app, endpoint, async (request, reply) => JSON.stringify(await handler(request, reply)));
}

/** Serves an endpoint whose handler answers with JSON text. */
function serveText(app: FastifyInstance, { method, path }: Served, handler: Handler<string>): void {
  const url = path.replace(/\{(\w+)\}/g, ':$1');
  app.route({
    method,
    url,
    handler: async (request, reply) =>
      reply.type('application/json; charset=utf-8').send(await handler(request, reply)),
  });
}

export function param(request: FastifyRequest, name: string): string {
  return (request.params as Record<string, string>)[name]!;
}

export function renderList<Item, Rendered>({ items, hasMore }: Listed<Item>, render: (item: Item) => Rendered) {
  return { object: 'list', data: items.map(render), hasMore };
}

type Defined<Fields> = { [Key in keyof Fields]?: Exclude<Fields[Key], undefined> };

/** The same fields without those that are undefined. */
export function defined<Fields extends Record<string, unknown>>(fields: Fields): Defined<Fields> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Defined<Fields>;
}
