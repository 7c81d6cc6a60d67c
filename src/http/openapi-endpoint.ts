import { z } from 'zod';
import { API_KEY_ENDPOINTS } from '../contract/api-key-contract.ts';
import { AUDIT_ENDPOINTS } from '../contract/audit-contract.ts';
import { PROVIDER_ENDPOINTS } from '../contract/provider-contract.ts';
import { AGENT_ENDPOINTS } from '../contract/capabilities-contract.ts';
import { CUSTOMER_ENDPOINTS } from '../contract/customer-contract.ts';
import { DELIVERY_ENDPOINTS, EVENT_ENDPOINTS } from '../contract/delivery-contract.ts';
import { DISCREPANCY_ENDPOINTS } from '../contract/discrepancy-contract.ts';
import { type Endpoint, endpointOf } from '../contract/endpoint.ts';
import { LEDGER_ENDPOINTS } from '../contract/ledger-contract.ts';
import type { OpenApi } from '../contract/openapi-document.ts';
import { openApiOf } from '../contract/openapi-builder.ts';
import { INVOICE_ENDPOINTS, PAYMENT_ENDPOINTS } from '../contract/payment-contract.ts';
import { REFUND_ENDPOINTS } from '../contract/refund-contract.ts';
import { ROUTING_ENDPOINTS } from '../contract/routing-contract.ts';
import { EXPERIMENT_ENDPOINTS } from '../contract/experiment-contract.ts';
import { ROUTING_DECISION_ENDPOINTS } from '../contract/routing-decision-contract.ts';
import { SESSION_ENDPOINTS } from '../contract/session-contract.ts';
import { SETTLEMENT_ENDPOINTS } from '../contract/settlement-contract.ts';
import { TEST_CLOCK_ENDPOINTS } from '../contract/test-clock-contract.ts';
import { WEBHOOK_ENDPOINT_ENDPOINTS } from '../contract/webhook-endpoint-contract.ts';
import { VERSION } from '../domain/version.ts';
import type { Action, ExampleDeps } from '../operations/operation.ts';
import { ACTIONS, OPERATIONS } from '../operations/registry.ts';
import type { AppDeps } from './app.ts';
import { httpStatusOf } from './error-responses.ts';

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
  EXPERIMENT_ENDPOINTS,
  ROUTING_ENDPOINTS,
  TEST_CLOCK_ENDPOINTS,
  PROVIDER_ENDPOINTS,
  API_KEY_ENDPOINTS,
  AUDIT_ENDPOINTS,
].flatMap((group) => Object.values<Endpoint>(group));

/** All endpoints that the OpenAPI document describes, including one endpoint per action. */
export function servedEndpoints(deps: AppDeps): readonly Endpoint[] {
  return [...ENDPOINTS, ...agentEndpoints(deps)];
}

/** Endpoints for agents: discovery, routes, schemas (with the names of all operations as possible values), and the actions. */
function agentEndpoints(deps: ExampleDeps): Endpoint[] {
  const { capabilities, listRoutes, getSchema } = AGENT_ENDPOINTS;
  return [
    capabilities,
    listRoutes,
    { ...getSchema, params: { operation: { ...getSchema.params['operation']!, enum: [...OPERATIONS.keys()] } } },
    ...ACTIONS.map((action) => actionEndpoint(deps, action)),
  ];
}

function actionEndpoint(deps: ExampleDeps, action: Action): Endpoint {
  const { name, title, description, access, input, output, errors, next } = action;
  return endpointOf('agent', name, {
    route: `POST /api/agent/actions/${name}`,
    access,
    summary: title,
    description: `${description} Next: ${next}`,
    body: input,
    requestExample: action.example(deps).request,
    response: z.strictObject({
      ok: z.literal(true).describe('Always true.'),
      action: z.literal(name).describe('The action that ran.'),
      result: output,
    }),
    envelope: 'action',
    errors: errors.map(({ code }) => code),
  });
}

const described = new WeakMap<AppDeps, OpenApi>();

/** OpenAPI document of this process. Built at the first call and cached, which keeps the start fast. */
export function describeApi(deps: AppDeps): OpenApi {
  const { base: baseUrl } = deps.urls;
  const api =
    described.get(deps) ?? openApiOf({ baseUrl, version: VERSION, endpoints: servedEndpoints(deps), httpStatusOf });
  described.set(deps, api);
  return api;
}
