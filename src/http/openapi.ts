import type { FastifyInstance } from 'fastify';
import { API_KEY_ENDPOINTS } from '../contract/api-key-endpoints.ts';
import { CUSTOMER_ENDPOINTS } from '../contract/customer-endpoints.ts';
import { DISCREPANCY_ENDPOINTS } from '../contract/discrepancy-endpoints.ts';
import type { Endpoint } from '../contract/endpoint.ts';
import { GATEWAY_ENDPOINTS } from '../contract/endpoints.ts';
import { WEBHOOK_ENDPOINT_ENDPOINTS } from '../contract/webhook-endpoint-endpoints.ts';
import { WEBHOOK_ENDPOINTS } from '../contract/webhook-endpoints.ts';
import type { OpenApi } from '../contract/openapi-document.ts';
import { openApiOf } from '../contract/openapi.ts';
import { LEDGER_ENDPOINTS } from '../contract/ledger-endpoints.ts';
import { SETTLEMENT_ENDPOINTS } from '../contract/settlement-endpoints.ts';
import { REFUND_ENDPOINTS } from '../contract/refund-endpoints.ts';
import { ROUTING_ENDPOINTS } from '../contract/routing-endpoints.ts';
import { TEST_CLOCK_ENDPOINTS } from '../contract/test-clock.ts';
import { VERSION } from '../domain/version.ts';
import { agentEndpoints } from './agent-endpoints.ts';
import type { AppDeps } from './app.ts';
import { type PublicDocument, publicDocument, sendDocument } from './document.ts';
import { statusOf } from './errors.ts';

/** Version of the API, as its description carries it. */
const JSON_TYPE = 'application/json; charset=utf-8';
const MAX_AGE_SECONDS = 300;

/** Every endpoint that this process serves, each action as one of its own. */
export function servedEndpoints(deps: AppDeps): readonly Endpoint[] {
  return [
    ...Object.values(GATEWAY_ENDPOINTS),
    ...Object.values(CUSTOMER_ENDPOINTS),
    ...Object.values(REFUND_ENDPOINTS),
    ...Object.values(SETTLEMENT_ENDPOINTS),
    ...Object.values(LEDGER_ENDPOINTS),
    ...Object.values(DISCREPANCY_ENDPOINTS),
    ...Object.values(WEBHOOK_ENDPOINTS),
    ...Object.values(WEBHOOK_ENDPOINT_ENDPOINTS),
    ...Object.values(ROUTING_ENDPOINTS),
    ...Object.values(TEST_CLOCK_ENDPOINTS),
    ...Object.values(API_KEY_ENDPOINTS),
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
      version: VERSION,
      endpoints: servedEndpoints(deps),
      statusOf,
    });
    described.set(deps, api);
  }
  return api;
}

export function openApiDocument(app: FastifyInstance, deps: AppDeps): void {
  let document: PublicDocument | undefined;
  app.get('/openapi.json', (request, reply) => {
    document ??= publicDocument(JSON.stringify(describeApi(deps)), JSON_TYPE, MAX_AGE_SECONDS);
    return sendDocument(request, reply, document);
  });
}
