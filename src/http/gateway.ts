import type { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Endpoint } from '../contract/endpoint.ts';
import { GATEWAY_ENDPOINTS } from '../contract/endpoints.ts';
import { inputReader } from '../contract/problems.ts';
import { customersQuery, invoicesQuery, pageOf, paymentsQuery, sessionsQuery } from '../contract/queries.ts';
import { renderCustomer, renderInvoice, renderPayment, renderSession } from '../contract/render.ts';
import { isId } from '../domain/id.ts';
import { assertKey } from '../operations/access/caller.ts';
import { createCheckout } from '../operations/create-checkout.ts';
import { expireSession } from '../operations/expire-session.ts';
import { getCustomer, getInvoice, getPayment, getSession } from '../operations/read-records.ts';
import type { Listed } from '../store/page.ts';
import { admission, depsOf } from './access.ts';
import { traced } from '../telemetry/tracing.ts';
import type { AppDeps } from './app.ts';

const readCustomersQuery = inputReader(customersQuery);
const readSessionsQuery = inputReader(sessionsQuery);
const readPaymentsQuery = inputReader(paymentsQuery);
const readInvoicesQuery = inputReader(invoicesQuery);

/** The merchant's API: sessions, customers, payments and invoices. */
export function gatewayApi(app: FastifyInstance, deps: AppDeps): void {
  const endpoints = GATEWAY_ENDPOINTS;
  const { urls } = deps;
  const bodyHint = `Schema: GET ${urls.base}/api/agent/schema/checkout.create`;
  const queryHint = `Parameters: GET ${urls.base}/openapi.json`;

  serve(app, deps, endpoints.createSession, async (request, reply, deps) => {
    const input = deps.sessionReader.read(request.body === undefined ? {} : request.body, bodyHint);
    const { session, replayed } = await createCheckout(deps, input);
    if (replayed) reply.header('idempotent-replayed', 'true');
    return renderSession(session, urls);
  });
  serve(app, deps, endpoints.listSessions, async (request, _reply, deps) => {
    const query = readSessionsQuery.read(request.query, queryHint);
    const listed = await deps.store.listSessions(defined(query), pageOf(query));
    return renderList(listed, (session) => renderSession(session, urls));
  });
  serve(app, deps, endpoints.getSession, async (request, _reply, deps) =>
    renderSession(await getSession(deps, param(request, 'sessionId')), urls),
  );
  serve(app, deps, endpoints.expireSession, async (request, _reply, deps) =>
    renderSession(await expireSession(deps, param(request, 'sessionId')), urls),
  );

  serve(app, deps, endpoints.listCustomers, async (request, _reply, deps) => {
    const query = readCustomersQuery.read(request.query, queryHint);
    return renderList(await deps.store.listCustomers(defined(query), pageOf(query)), renderCustomer);
  });
  serve(app, deps, endpoints.getCustomer, async (request, _reply, deps) =>
    renderCustomer(await getCustomer(deps, param(request, 'customerId'))),
  );

  serve(app, deps, endpoints.listPayments, async (request, _reply, deps) => {
    const { paymentId, ...query } = readPaymentsQuery.read(request.query, queryHint);
    const named = paymentId !== undefined && isId(paymentId, 'chk') ? { sessionId: paymentId } : { paymentId };
    return renderList(await deps.store.listPayments(defined({ ...query, ...named }), pageOf(query)), renderPayment);
  });
  serve(app, deps, endpoints.getPayment, async (request, _reply, deps) =>
    renderPayment(await getPayment(deps, param(request, 'paymentId'))),
  );

  serve(app, deps, endpoints.listInvoices, async (request, _reply, deps) => {
    const query = readInvoicesQuery.read(request.query, queryHint);
    return renderList(await deps.store.listInvoices(defined(query), pageOf(query)), renderInvoice);
  });
  serve(app, deps, endpoints.getInvoice, async (request, _reply, deps) =>
    renderInvoice(await getInvoice(deps, param(request, 'invoiceId'))),
  );
}

type Served = Pick<Endpoint, 'operationId' | 'method' | 'path' | 'access' | 'keys'>;
/** Answers a request; `deps` see and change no more than the caller may. */
type Handler<Answer> = (request: FastifyRequest, reply: FastifyReply, deps: AppDeps) => Promise<Answer>;

/** Serves one endpoint of the contract to whoever has its access. */
export function serve(app: FastifyInstance, deps: AppDeps, endpoint: Served, handler: Handler<unknown>): void {
  serveText(app, deps, endpoint, async (...request) => JSON.stringify(await handler(...request)));
}

/** Serves an endpoint whose handler answers with JSON text. */
export function serveText(app: FastifyInstance, deps: AppDeps, endpoint: Served, handler: Handler<string>): void {
  serveAs(app, deps, endpoint, 'application/json; charset=utf-8', handler);
}

/** Serves an endpoint whose handler answers with text of that type, whole or as a stream. */
export function serveAs(
  app: FastifyInstance,
  deps: AppDeps,
  { operationId: name, method, path, access, keys }: Served,
  type: string,
  handler: Handler<string | Readable>,
): void {
  const url = path.replace(/\{(\w+)\}/g, ':$1');
  app.route({
    method,
    url,
    ...admission(deps, access),
    handler: async (request, reply) => {
      const restricted = depsOf(request);
      assertKey(restricted, keys);
      const answer = await traced(deps.tracing, { name }, () => handler(request, reply, restricted));
      return reply.type(type).send(answer);
    },
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
