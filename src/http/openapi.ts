import type { FastifyInstance } from 'fastify';
import { GATEWAY_ENDPOINTS } from '../contract/endpoints.ts';
import { type OpenApi, openApiOf } from '../contract/openapi.ts';
import { ROUTING_ENDPOINTS } from '../contract/routing-endpoints.ts';
import { agentEndpoints } from './agent-endpoints.ts';
import type { AppDeps } from './app.ts';
import { statusOf } from './errors.ts';

/** Version of the API, as its description carries it. */
const API_VERSION = '0.1.0';

const described = new WeakMap<AppDeps, OpenApi>();

/** The API as this process serves it; made when it is first asked for, so that no start waits for it. */
export function describeApi(deps: AppDeps): OpenApi {
  let api = described.get(deps);
  if (!api) {
    api = openApiOf({
      baseUrl: deps.urls.base,
      version: API_VERSION,
      endpoints: [...Object.values(GATEWAY_ENDPOINTS), ...Object.values(ROUTING_ENDPOINTS), ...agentEndpoints(deps)],
      statusOf,
    });
    described.set(deps, api);
  }
  return api;
}

export function openApiDocument(app: FastifyInstance, deps: AppDeps): void {
  let document: string | undefined;
  app.get('/openapi.json', (_request, reply) => {
    document ??= JSON.stringify(describeApi(deps));
    return reply.type('application/json; charset=utf-8').send(document);
  });
}
