import type { FastifyInstance } from 'fastify';
import { API_KEY_ENDPOINTS } from '../contract/api-key-contract.ts';
import { CUSTOMER_ENDPOINTS } from '../contract/customer-contract.ts';
import { DELIVERY_ENDPOINTS, EVENT_ENDPOINTS } from '../contract/delivery-contract.ts';
import { DISCREPANCY_ENDPOINTS } from '../contract/discrepancy-contract.ts';
import type { Endpoint } from '../contract/endpoint.ts';
import { LEDGER_ENDPOINTS } from '../contract/ledger-contract.ts';
import type { OpenApi } from '../contract/openapi-document.ts';
import { openApiOf } from '../contract/openapi-builder.ts';
import { INVOICE_ENDPOINTS, PAYMENT_ENDPOINTS } from '../contract/payment-contract.ts';
import { REFUND_ENDPOINTS } from '../contract/refund-contract.ts';
import { ROUTING_ENDPOINTS } from '../contract/routing-contract.ts';
import { ROUTING_DECISION_ENDPOINTS } from '../contract/routing-decision-contract.ts';
import { SESSION_ENDPOINTS } from '../contract/session-contract.ts';
import { SETTLEMENT_ENDPOINTS } from '../contract/settlement-contract.ts';
import { TEST_CLOCK_ENDPOINTS } from '../contract/test-clock-contract.ts';
import { WEBHOOK_ENDPOINT_ENDPOINTS } from '../contract/webhook-endpoint-contract.ts';
import { VERSION } from '../domain/version.ts';
import { agentEndpoints } from './agent-endpoints.ts';
import type { AppDeps } from './app.ts';
import { type PublicDocument, publicDocument, sendDocument } from './document.ts';
import { statusOf } from './error-responses.ts';

const JSON_TYPE = 'application/json; charset=utf-8';
const MAX_AGE_SECONDS = 300;

const ENDPOINTS: readonly Endpoint[] = [
  SESSION_ENDPOINTS,
  CUSTOMER_ENDPOINTS,
  PAYMENT_ENDPOINTS,
  INVOICE_ENDPOINTS,
  REFUND_ENDPOINTS,
  SETTLEMENT_ENDPOINTS,
  LEDGER_ENDPOINTS,
  DISCREPANCY_ENDPOINTS,
  EVENT_ENDPOINTS,
  DELIVERY_ENDPOINTS,
  WEBHOOK_ENDPOINT_ENDPOINTS,
  ROUTING_DECISION_ENDPOINTS,
  ROUTING_ENDPOINTS,
  TEST_CLOCK_ENDPOINTS,
  API_KEY_ENDPOINTS,
].flatMap((group) => Object.values<Endpoint>(group));

/** Every endpoint that this process serves, each action as one of its own. */
export function servedEndpoints(deps: AppDeps): readonly Endpoint[] {
  return [...ENDPOINTS, ...agentEndpoints(deps)];
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
