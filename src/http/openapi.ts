import type { FastifyInstance } from 'fastify';
import { type Endpoint, GATEWAY_ENDPOINTS } from '../contract/endpoints.ts';
import { type OpenApi, openApiOf } from '../contract/openapi.ts';
import { ROUTING_ENDPOINTS } from '../contract/routing-endpoints.ts';
import { TEST_CLOCK_ENDPOINTS } from '../contract/test-clock.ts';
import { agentEndpoints } from './agent-endpoints.ts';
import type { AppDeps } from './app.ts';
import { sendDocument } from './document.ts';
import { statusOf } from './errors.ts';

/** Version of the API, as its description carries it. */
const API_VERSION = '0.1.0';
const JSON_TYPE = 'application/json; charset=utf-8';
const MAX_AGE_SECONDS = 300;

/** Every endpoint that this process serves, each action as one of its own. */
export function servedEndpoints(deps: AppDeps): readonly Endpoint[] {
  return [
    ...Object.values(GATEWAY_ENDPOINTS),
    ...Object.values(ROUTING_ENDPOINTS),
    ...Object.values(TEST_CLOCK_ENDPOINTS),
    ...agentEndpoints(deps),
  ];
}

const described = new WeakMap<AppDeps, OpenApi>();

/** The API as this process serves it; made when it is first asked for, so that no start waits for it. */
export function describeApi(deps: AppDeps): OpenApi {
  let api = described.get(deps);
  if (!api) {
    api = openApiOf({
      baseUrl: deps.urls.base,
      version: API_VERSION,
      endpoints: servedEndpoints(deps),
      statusOf,
    });
    described.set(deps, api);
  }
  return api;
}

export function openApiDocument(app: FastifyInstance, deps: AppDeps): void {
  let document: string | undefined;
  app.get('/openapi.json', (request, reply) => {
    document ??= JSON.stringify(describeApi(deps));
    return sendDocument(request, reply, deps, { body: document, type: JSON_TYPE, maxAgeSeconds: MAX_AGE_SECONDS });
  });
}
