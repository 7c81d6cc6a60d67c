import { checkoutPages } from '../checkout/pages.ts';
import { agentApi } from '../http/agent.ts';
import { apiKeysApi } from '../http/api-keys.ts';
import type { Part } from '../http/app.ts';
import { providerCallbacks } from '../http/callbacks.ts';
import { customersApi } from '../http/customers.ts';
import { discrepanciesApi } from '../http/discrepancies.ts';
import { discoveryDocuments } from '../http/discovery.ts';
import { apiReference } from '../http/docs.ts';
import { errorPages } from '../http/error-page.ts';
import { salesApi } from '../http/gateway.ts';
import { ledgerApi } from '../http/ledger.ts';
import { settlementApi } from '../http/settlement.ts';
import { healthProbes } from '../http/health.ts';
import { homePages } from '../http/home.ts';
import { openApiDocument } from '../http/openapi.ts';
import { refundsApi } from '../http/refunds.ts';
import { routingApi, routingDecisionsApi } from '../http/routing.ts';
import { testClockApi } from '../http/test-clock.ts';
import { webhookEndpointsApi } from '../http/webhook-endpoints.ts';
import { webhooksApi } from '../http/webhooks.ts';
import { mcpEndpoint } from '../mcp/http.ts';
import { serverCard } from '../mcp/server-card.ts';

/** Parts that the OpenAPI document describes. */
export const API_PARTS: readonly Part[] = [
  salesApi,
  customersApi,
  refundsApi,
  settlementApi,
  ledgerApi,
  discrepanciesApi,
  webhooksApi,
  webhookEndpointsApi,
  routingApi,
  routingDecisionsApi,
  testClockApi,
  apiKeysApi,
  agentApi,
];

/** All parts except the simulated provider. */
export const PARTS: readonly Part[] = [
  errorPages,
  healthProbes,
  homePages,
  ...API_PARTS,
  mcpEndpoint,
  serverCard,
  openApiDocument,
  discoveryDocuments,
  apiReference,
  providerCallbacks,
  checkoutPages,
];
