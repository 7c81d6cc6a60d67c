import { SAMPLE_ENDPOINT_ID } from './described.ts';
import type { Endpoint } from './endpoint.ts';
import { endpointsQuery } from './queries.ts';
import { listOf } from './resources.ts';
import {
  changeEndpointRequest,
  createEndpointRequest,
  deletedEndpoint,
  rotateSecretRequest,
  webhookEndpoint,
  webhookEndpointWithSecret,
  webhookTest,
} from './webhook-endpoint-resource.ts';

const PATH = '/api/gateway/webhook-endpoints';
const ONE = `${PATH}/{endpointId}` as const;

const endpointId = { endpointId: { description: 'A webhook endpoint: whe_...', example: SAMPLE_ENDPOINT_ID } };

/** Where webhooks go to. Who changes it decides where the news of money goes: that is the operator's. */
export const WEBHOOK_ENDPOINT_ENDPOINTS = {
  createWebhookEndpoint: {
    operationId: 'createWebhookEndpoint',
    method: 'POST',
    access: 'admin',
    path: PATH,
    tag: 'webhook endpoints',
    summary: 'Create a webhook endpoint',
    description:
      'Events of its environment and types are sent to it from now on, signed with the secret that this answer shows, and no answer ever again. It is kept encrypted. At most 20 in an environment.\n\nAn address that could never be delivered to is refused; what a host name stands for is checked whenever it is connected to.',
    body: createEndpointRequest,
    requestExample: { url: 'https://shop.example/webhooks', events: ['payment.paid', 'payment.failed'] },
    response: webhookEndpointWithSecret,
    errors: ['invalid_state'],
  },
  listWebhookEndpoints: {
    operationId: 'listWebhookEndpoints',
    method: 'GET',
    access: 'read',
    path: PATH,
    tag: 'webhook endpoints',
    summary: 'List webhook endpoints',
    description: 'Newest first, the one that the configuration of the service names among them. No secret is shown.',
    query: endpointsQuery,
    response: listOf(webhookEndpoint),
    errors: [],
  },
  getWebhookEndpoint: {
    operationId: 'getWebhookEndpoint',
    method: 'GET',
    access: 'read',
    path: ONE,
    tag: 'webhook endpoints',
    summary: 'Get a webhook endpoint',
    description: 'One endpoint: whether it is active, why not, since when it fails. No secret is shown.',
    params: endpointId,
    response: webhookEndpoint,
    errors: ['not_found'],
  },
  updateWebhookEndpoint: {
    operationId: 'updateWebhookEndpoint',
    method: 'PATCH',
    access: 'admin',
    path: ONE,
    tag: 'webhook endpoints',
    summary: 'Update a webhook endpoint',
    description:
      'Changes what is named, and nothing else. A disabled endpoint gets no new deliveries, and what waited for it goes on waiting; "status": "active" enables it: its failures are forgotten, and what waits is sent. The endpoint that the configuration names can be enabled here, and is changed there.',
    params: endpointId,
    body: changeEndpointRequest,
    requestExample: { status: 'active' },
    response: webhookEndpoint,
    errors: ['not_found', 'invalid_state'],
  },
  deleteWebhookEndpoint: {
    operationId: 'deleteWebhookEndpoint',
    method: 'DELETE',
    access: 'admin',
    path: ONE,
    tag: 'webhook endpoints',
    summary: 'Delete a webhook endpoint',
    description:
      'For good: its secrets and its URL are erased, and what waits for it is given up and becomes dead. Deliveries of before go on naming its id.',
    params: endpointId,
    response: deletedEndpoint,
    errors: ['not_found', 'invalid_state'],
  },
  rotateWebhookSecret: {
    operationId: 'rotateWebhookSecret',
    method: 'POST',
    access: 'admin',
    path: `${ONE}/rotate-secret`,
    tag: 'webhook endpoints',
    summary: 'Rotate the secret of a webhook endpoint',
    description:
      'Makes a new secret, which this answer shows, and no answer ever again. For expiresInHours more, deliveries are signed with the secrets before, too, each signature beside the other: a receiver that knows either takes them. At most 10 earlier ones can sign at a time.',
    params: endpointId,
    body: rotateSecretRequest,
    requestExample: { expiresInHours: 24 },
    response: webhookEndpointWithSecret,
    errors: ['not_found', 'invalid_state'],
  },
  testWebhookEndpoint: {
    operationId: 'testWebhookEndpoint',
    method: 'POST',
    access: 'write',
    path: `${ONE}/test`,
    tag: 'webhook endpoints',
    summary: 'Send a test delivery',
    description:
      'Posts a sample payment.paid event to the endpoint at once, disabled or not, signed as its deliveries are, and answers what came of it. The sample is not of live mode and names a session that does not exist. Nothing is stored, and nothing tried again. Takes no body.',
    params: endpointId,
    response: webhookTest,
    errors: ['not_found', 'invalid_state'],
  },
} as const satisfies Record<string, Endpoint>;
