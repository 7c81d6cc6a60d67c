import { AGENT_ENDPOINTS, type Capabilities } from '../../contract/capabilities-contract.ts';
import { CUSTOMER_ENDPOINTS } from '../../contract/customer-contract.ts';
import { DELIVERY_ENDPOINTS, EVENT_ENDPOINTS } from '../../contract/delivery-contract.ts';
import type { Endpoint } from '../../contract/endpoint.ts';
import { jsonSchemaOf } from '../../contract/json-schema.ts';
import { INVOICE_ENDPOINTS, PAYMENT_ENDPOINTS } from '../../contract/payment-contract.ts';
import { SESSION_ENDPOINTS } from '../../contract/session-contract.ts';

type Entrypoint = Capabilities['entrypoints'][number];

// Advice on an endpoint beyond its summary.
const ADVICE: Record<string, string> = {
  createSession: 'Body as checkout.create.',
  listSessions: 'POST /{id}/expire: withdraw, while routed.',
  listRoutes: 'Query: environment.',
  listCustomers: 'GET /{id}: one.',
  listInvoices: 'GET /{id}: one.',
  listEvents: 'GET /{id}: one; POST /{id}/resend: send again.',
  listDeliveries: 'GET /{id}: with log; POST /{id}/replay: send again.',
  getSession: 'Why its route: GET /api/gateway/routing/decisions/{id}.',
  getPayment: 'Takes a chk_ id too: poll it until paid; 404 until the buyer starts.',
};
// The advice of a list names the endpoints of its single records.
const LISTED: readonly Endpoint[] = [
  SESSION_ENDPOINTS.createSession,
  SESSION_ENDPOINTS.listSessions,
  SESSION_ENDPOINTS.getSession,
  CUSTOMER_ENDPOINTS.listCustomers,
  PAYMENT_ENDPOINTS.listPayments,
  PAYMENT_ENDPOINTS.getPayment,
  INVOICE_ENDPOINTS.listInvoices,
  EVENT_ENDPOINTS.listEvents,
  DELIVERY_ENDPOINTS.listDeliveries,
  AGENT_ENDPOINTS.listRoutes,
];
/** The query parameters of every list; the summary names them once. */
export const COMMON_QUERY = ['environment', 'limit', 'startingAfter', 'endingBefore'];

/** The OpenAPI document has the rest. */
const MAX_FILTERS = 4;

/** The endpoints that a client needs first; the OpenAPI document has the others. */
export function entrypointsOf(base: string): Entrypoint[] {
  const document = (id: string, path: string, use: string): Entrypoint => ({
    id,
    method: 'GET',
    url: base + path,
    use,
  });
  return [
    ...LISTED.map((endpoint) => entrypointOf(base, endpoint)),
    { id: 'mcp', method: 'POST', url: `${base}/mcp`, use: 'The same as MCP tools, Streamable HTTP.' },
    document('openapi', '/openapi.json', 'OpenAPI 3.1: every parameter and field.'),
    document('llms', '/llms.txt', 'All of this in short.'),
  ];
}

function entrypointOf(base: string, endpoint: Endpoint): Entrypoint {
  const { operationId: id, method, path, summary, query } = endpoint;
  const url = `${base}${path}`;
  const names = query ? Object.keys(jsonSchemaOf(query, 'input').properties ?? {}) : [];
  const filters = names.filter((name) => !COMMON_QUERY.includes(name)).slice(0, MAX_FILTERS);
  const use = [`${summary}.`, ADVICE[id], filters.length > 0 && `Query: ${filters.join(', ')}.`].filter(Boolean);
  return { id, method: method as Entrypoint['method'], url, use: use.join(' ') };
}
