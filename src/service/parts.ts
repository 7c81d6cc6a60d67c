import { checkoutPages } from '../checkout/checkout-pages.ts';
import { dashboardPages } from '../dashboard/dashboard.ts';
import { agentApi } from '../http/agent-api.ts';
import { apiKeysApi } from '../http/gateway-keys.ts';
import type { Part } from '../http/app.ts';
import { providerCallbacks } from '../http/provider-callbacks.ts';
import { customersApi } from '../http/gateway-customers.ts';
import { discoveryDocuments } from '../http/discovery-documents.ts';
import { apiReference } from '../http/docs.ts';
import { errorPages } from '../http/error-page.ts';
import { salesApi } from '../http/gateway-sales.ts';
import { ledgerApi } from '../http/gateway-ledger.ts';
import { settlementApi } from '../http/gateway-settlement.ts';
import { healthProbes } from '../http/health-probes.ts';
import { homePages } from '../http/home.ts';
import { experimentsApi, routingApi, routingDecisionsApi } from '../http/gateway-routing.ts';
import { providersApi } from '../http/gateway-providers.ts';
import { testClockApi } from '../http/gateway-test-clock.ts';
import { webhookEndpointsApi } from '../http/gateway-webhook-endpoints.ts';
import { webhooksApi } from '../http/gateway-events.ts';
import { mcpEndpoint } from '../mcp/http.ts';
import { serverCard } from '../mcp/server-card.ts';

/** Parts of the app that the OpenAPI document describes. */
export const API_PARTS: readonly Part[] = [
  salesApi,
  customersApi,
  settlementApi,
  ledgerApi,
  webhooksApi,
  webhookEndpointsApi,
  routingApi,
  routingDecisionsApi,
  experimentsApi,
  providersApi,
  testClockApi,
  apiKeysApi,
  agentApi,
];

/** All parts of the app except the simulated provider. */
export const PARTS: readonly Part[] = [
  errorPages,
  healthProbes,
  homePages,
  ...API_PARTS,
  mcpEndpoint,
  serverCard,
  discoveryDocuments,
  apiReference,
  providerCallbacks,
  checkoutPages,
  dashboardPages,
];
