import type { FastifyInstance } from 'fastify';
import { inputReader } from '../contract/problems.ts';
import { endpointsQuery, pageOf } from '../contract/queries.ts';
import { WEBHOOK_ENDPOINT_ENDPOINTS } from '../contract/webhook-endpoint-endpoints.ts';
import {
  changeEndpointRequest,
  createEndpointRequest,
  renderEndpoint,
  rotateSecretRequest,
} from '../contract/webhook-endpoint-resource.ts';
import { changeEndpoint } from '../operations/webhook-endpoints/change-endpoint.ts';
import { createEndpoint } from '../operations/webhook-endpoints/create-endpoint.ts';
import { deleteEndpoint } from '../operations/webhook-endpoints/delete-endpoint.ts';
import { endpointDetails, listEndpoints } from '../operations/webhook-endpoints/find-endpoint.ts';
import { rotateSecret } from '../operations/webhook-endpoints/rotate-secret.ts';
import { testEndpoint } from '../operations/webhook-endpoints/test-endpoint.ts';
import type { AppDeps } from './app.ts';
import { defined, param, renderList, serve } from './gateway.ts';

const readCreateRequest = inputReader(createEndpointRequest);
const readChangeRequest = inputReader(changeEndpointRequest);
const readRotateRequest = inputReader(rotateSecretRequest);
const readQuery = inputReader(endpointsQuery);

/** Where webhooks go to. */
export function webhookEndpointsApi(app: FastifyInstance, outer: AppDeps): void {
  const endpoints = WEBHOOK_ENDPOINT_ENDPOINTS;
  const hint = `Fields: GET ${outer.urls.base}/openapi.json`;

  serve(app, outer, endpoints.createWebhookEndpoint, async (request, _reply, deps) => {
    const { secret, ...details } = await createEndpoint(deps, readCreateRequest.read(bodyOf(request.body), hint));
    return { ...renderEndpoint(details), secret };
  });
  serve(app, outer, endpoints.listWebhookEndpoints, async (request, _reply, deps) => {
    const query = readQuery.read(request.query, hint);
    return renderList(await listEndpoints(deps, defined(query), pageOf(query)), renderEndpoint);
  });
  serve(app, outer, endpoints.getWebhookEndpoint, async (request, _reply, deps) =>
    renderEndpoint(await endpointDetails(deps, param(request, 'endpointId'))),
  );
  serve(app, outer, endpoints.updateWebhookEndpoint, async (request, _reply, deps) => {
    const wanted = readChangeRequest.read(bodyOf(request.body), hint);
    return renderEndpoint(await changeEndpoint(deps, param(request, 'endpointId'), wanted));
  });
  serve(app, outer, endpoints.deleteWebhookEndpoint, async (request, _reply, deps) => {
    const id = param(request, 'endpointId');
    await deleteEndpoint(deps, id);
    return { id, object: 'webhook_endpoint', deleted: true };
  });
  serve(app, outer, endpoints.rotateWebhookSecret, async (request, _reply, deps) => {
    const { expiresInHours } = readRotateRequest.read(bodyOf(request.body), hint);
    const { secret, ...details } = await rotateSecret(deps, param(request, 'endpointId'), expiresInHours);
    return { ...renderEndpoint(details), secret };
  });
  serve(app, outer, endpoints.testWebhookEndpoint, async (request, _reply, deps) =>
    testEndpoint(deps, param(request, 'endpointId')),
  );
}

function bodyOf(body: unknown): unknown {
  return body === undefined ? {} : body;
}
