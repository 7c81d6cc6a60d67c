import { WEBHOOK_ENDPOINT_ENDPOINTS, renderEndpoint } from '../contract/webhook-endpoint-contract.ts';
import {
  changeEndpoint,
  createEndpoint,
  deleteEndpoint,
  rotateSecret,
} from '../operations/webhook-endpoints/manage-endpoints.ts';
import { endpointDetails, listEndpoints } from '../operations/webhook-endpoints/find-endpoint.ts';
import { testEndpoint } from '../operations/webhook-endpoints/test-endpoint.ts';
import { apiPart, listing, onRecord } from './api-part.ts';

/** Endpoints that manage webhook endpoints. */
export const webhookEndpointsApi = apiPart((serve) => {
  const endpoints = WEBHOOK_ENDPOINT_ENDPOINTS;
  serve(endpoints.createWebhookEndpoint, async ({ deps, body }) => {
    const { secret, ...details } = await createEndpoint(deps, body);
    return { ...renderEndpoint(details), secret };
  });
  serve(endpoints.listWebhookEndpoints, listing(listEndpoints, renderEndpoint));
  serve(endpoints.getWebhookEndpoint, onRecord('endpointId', endpointDetails, renderEndpoint));
  serve(endpoints.updateWebhookEndpoint, async ({ deps, body, param }) =>
    renderEndpoint(await changeEndpoint(deps, param('endpointId'), body)),
  );
  serve(endpoints.deleteWebhookEndpoint, async ({ deps, param }) => {
    const id = param('endpointId');
    await deleteEndpoint(deps, id);
    return { id, object: 'webhook_endpoint', deleted: true };
  });
  serve(endpoints.rotateWebhookSecret, async ({ deps, body, param }) => {
    const { secret, ...details } = await rotateSecret(deps, param('endpointId'), body.expiresInHours);
    return { ...renderEndpoint(details), secret };
  });
  serve(endpoints.testWebhookEndpoint, ({ deps, param }) => testEndpoint(deps, param('endpointId')));
});
