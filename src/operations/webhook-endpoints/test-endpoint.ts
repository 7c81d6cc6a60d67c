import { timestamp } from '../../contract/resource-fields.ts';
import { webhookExampleRequest } from '../../contract/action-contract.ts';
import type { WebhookTestResource } from '../../contract/webhook-endpoint-contract.ts';
import { GatewayError } from '../../domain/gateway-error.ts';
import type { WebhookEndpoint } from '../../domain/webhook-endpoint.ts';
import { liveSecrets } from '../../webhooks/lane.ts';
import { deliveryHeaders } from '../../webhooks/sign.ts';
import type { Deps } from '../deps.ts';
import { webhookExample } from '../webhook-samples.ts';
import { getEndpoint } from './find-endpoint.ts';
import { signingSecrets } from './endpoint-secrets.ts';

type Testing = Pick<Deps, 'store' | 'now' | 'realNow' | 'webhooks' | 'routes'>;

/** Sends one signed sample to an endpoint and stores nothing. Throws GatewayError `not_found`, or `invalid_state` without a secret. */
export async function testEndpoint(deps: Testing, id: string): Promise<WebhookTestResource> {
  const endpoint = await getEndpoint(deps, id);
  const sent = deps.now();
  const secrets = liveSecrets(await signingSecrets(deps, endpoint), sent);
  if (secrets.length === 0) throw secretUnknown(endpoint);
  // The sample has an impossible session id and is not in live mode, so that no receiver ships goods for it.
  const { payload } = webhookExample(deps, webhookExampleRequest.parse({}), sent);
  const body = JSON.stringify(payload);
  const timestampSeconds = Math.floor(deps.realNow() / 1000);
  const headers = deliveryHeaders({ eventId: payload.id, body, timestamp: timestampSeconds, secrets });
  const { statusCode, failure, durationMs, responseBody } = await deps.webhooks.deliverers[
    endpoint.environment
  ].deliver(endpoint.url, headers, body);
  return {
    object: 'webhook_test',
    endpointId: id,
    eventId: payload.id,
    type: payload.type,
    delivered: failure === null,
    statusCode,
    failure,
    durationMs,
    responseBody,
    headers: Object.keys(headers),
    sent: timestamp(sent),
  };
}

function secretUnknown({ id, source, disabledReason }: WebhookEndpoint): GatewayError {
  const why = source === 'configuration' || disabledReason === null ? '' : `: ${disabledReason}`;
  return new GatewayError('invalid_state', `This process does not know the secret of webhook endpoint ${id}${why}.`, {
    suggestion:
      source === 'configuration'
        ? 'Start it with WEBHOOK_URL and WEBHOOK_SECRET, or ask a process that has them.'
        : `Rotate the secret first, with tillway endpoints rotate-secret ${id} or POST /api/gateway/webhook-endpoints/${id}/rotate-secret.`,
  });
}
