import type { Endpoint } from '../../contract/endpoint.ts';
import { AGENT_ENDPOINTS, GATEWAY_ENDPOINTS } from '../../contract/endpoints.ts';
import { WEBHOOK_ENDPOINTS } from '../../contract/webhook-endpoints.ts';
import { jsonSchemaOf } from '../../contract/json-schema.ts';
import type { Capabilities } from '../../contract/discovery.ts';

type Entrypoint = Capabilities['entrypoints'][number];
type Listed = Endpoint & Pick<Entrypoint, 'method'>;

// Advice beyond the summary of an endpoint.
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
// Said with the list of their kind.
const WITH_THEIR_LIST = new Set<string>([
  'expireSession',
  'getCustomer',
  'getInvoice',
  'getEvent',
  'resendEvent',
  'getDelivery',
  'replayDelivery',
  'recoverDeliveries',
  'getRecovery',
]);
/** The query parameters of every list; the summary names them once. */
export const COMMON_QUERY = ['environment', 'limit', 'startingAfter', 'endingBefore'];

/** The OpenAPI document has the rest. */
const MAX_FILTERS = 4;

/** Every endpoint but those said with another, and what stands under schemas and actions. */
export function entrypointsOf(base: string): Entrypoint[] {
  const endpoints: Listed[] = [
    ...Object.values(GATEWAY_ENDPOINTS),
    ...Object.values(WEBHOOK_ENDPOINTS),
    AGENT_ENDPOINTS.listRoutes,
  ];
  const document = (id: string, path: string, use: string): Entrypoint => ({
    id,
    method: 'GET',
    url: base + path,
    use,
  });
  return [
    ...endpoints
      .filter(({ operationId }) => !WITH_THEIR_LIST.has(operationId))
      .map((endpoint) => entrypointOf(base, endpoint)),
    { id: 'mcp', method: 'POST', url: `${base}/mcp`, use: 'The same as MCP tools, Streamable HTTP.' },
    document('openapi', '/openapi.json', 'OpenAPI 3.1: every parameter and field.'),
    document('llms', '/llms.txt', 'All of this in short.'),
  ];
}

function entrypointOf(base: string, endpoint: Listed): Entrypoint {
  const { operationId: id, method, path, summary, query } = endpoint;
  const url = `${base}${path}`;
  const names = query ? Object.keys(jsonSchemaOf(query, 'input').properties ?? {}) : [];
  const filters = names.filter((name) => !COMMON_QUERY.includes(name)).slice(0, MAX_FILTERS);
  const use = [`${summary}.`, ADVICE[id], filters.length > 0 && `Query: ${filters.join(', ')}.`].filter(Boolean);
  return { id, method, url, use: use.join(' ') };
}
