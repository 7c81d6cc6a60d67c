import type { CreateEndpointRequest, EndpointDetails } from '../../contract/webhook-endpoint-contract.ts';
import { GatewayError } from '../../domain/gateway-error.ts';
import type { Environment } from '../../domain/route.ts';
import { MAX_ENDPOINTS, type WebhookEndpoint, newEndpoint, rotatedSecrets } from '../../domain/webhook-endpoint.ts';
import type { Deps } from '../deps.ts';
import { retryOnConflict } from '../retry-on-conflict.ts';
import { checkUrl } from './check-url.ts';

/**
 * Creates an endpoint and answers its secret, the only time. Throws GatewayError `invalid_input` for a URL that cannot be
 * delivered to, and `invalid_state` if there are too many endpoints or no key to encrypt the secret with.
 */
export async function createEndpoint(
  { store, now, newId, webhooks }: Pick<Deps, 'store' | 'now' | 'newId' | 'webhooks'>,
  request: CreateEndpointRequest,
): Promise<EndpointDetails & { secret: string }> {
  const { url, environment, events, description } = request;
  checkUrl(url, environment, webhooks.targets);
  const place = { endpointId: newId('whe'), environment };
  const { secret, sealed } = webhooks.secretBox.newSecret(place);
  return retryOnConflict({ store }, 'the webhook endpoints', async () => {
    const slot = freeSlot(await store.endpoints(), environment);
    const created = now();
    const shared = { id: place.endpointId, environment, url, created };
    const endpoint = newEndpoint({ ...shared, source: 'api', events, description, slot });
    const secrets = rotatedSecrets([], { ...place, sealed, created }, created);
    return {
      changes: [
        { type: 'endpoint_created', endpoint },
        { type: 'secrets_replaced', endpointId: endpoint.id, secrets },
      ],
      result: { endpoint, secrets, secret },
    };
  });
}

function freeSlot(endpoints: readonly WebhookEndpoint[], environment: Environment): number {
  const taken = new Set(endpoints.filter((one) => one.environment === environment).map(({ slot }) => slot));
  for (let slot = 1; slot <= MAX_ENDPOINTS; slot++) if (!taken.has(slot)) return slot;
  throw new GatewayError(
    'invalid_state',
    `There are ${MAX_ENDPOINTS} ${environment} webhook endpoints, which is all there may be.`,
    {
      suggestion: 'Delete one that is not needed any more, or let one receiver pass events on; then resend.',
    },
  );
}
