import { AGENT_ENDPOINTS, type Endpoint, GATEWAY_ENDPOINTS } from '../../contract/endpoints.ts';
import { ROUTING_ENDPOINTS } from '../../contract/routing-endpoints.ts';
import { jsonSchemaOf } from '../../contract/json-schema.ts';
import type { Capabilities } from '../../contract/discovery.ts';

type Entrypoint = Capabilities['entrypoints'][number];
type Listed = Endpoint & Pick<Entrypoint, 'method'>;

// What a caller must know of an endpoint beyond its summary.
const ADVICE: Record<string, string> = {
  createSession: 'Body as checkout.create.',
  expireSession: 'Only while routed.',
  listRoutes: 'Query: environment.',
  listDeliveries: 'GET /{id}: with log; POST /{id}/replay: send again.',
  getPayment: 'Takes a chk_ id too: poll it until paid; 404 until the buyer starts.',
};
// Said with the list of its kind.
const WITH_ITS_LIST = new Set(['getDelivery', 'replayDelivery']);
/** What every list takes; it is said once. */
export const COMMON_QUERY = ['status', 'environment', 'limit', 'startingAfter', 'endingBefore'];

/** Every endpoint but those said with another, and the actions, which have command lines of their own. */
export function entrypointsOf(base: string): Entrypoint[] {
  const endpoints: Listed[] = [
    ...Object.values(GATEWAY_ENDPOINTS),
    ROUTING_ENDPOINTS.listDecisions,
    ...Object.values(AGENT_ENDPOINTS),
  ];
  return [
    ...endpoints
      .filter(({ operationId }) => !WITH_ITS_LIST.has(operationId))
      .map((endpoint) => entrypointOf(base, endpoint)),
    { id: 'openapi', method: 'GET', url: `${base}/openapi.json`, use: 'OpenAPI 3.1.' },
  ];
}

/** A POST of JSON as a command line. */
export function curlPost(url: string, body: unknown): string {
  // In single quotes a shell takes everything but the single quote itself.
  const json = JSON.stringify(body).replaceAll("'", String.raw`'\''`);
  return `curl --json '${json}' ${url}`;
}

function entrypointOf(base: string, endpoint: Listed): Entrypoint {
  const { operationId: id, method, path, summary, query } = endpoint;
  const url = `${base}${path}`;
  const names = query ? Object.keys(jsonSchemaOf(query, 'input').properties ?? {}) : [];
  const filters = names.filter((name) => !COMMON_QUERY.includes(name));
  const use = [`${summary}.`, ADVICE[id], filters.length > 0 && `Query: ${filters.join(', ')}.`].filter(Boolean);
  return { id, method, url, use: use.join(' ') };
}
