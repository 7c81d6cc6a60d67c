import type { EndpointDetails } from '../../contract/webhook-endpoint-contract.ts';
import { GatewayError } from '../../domain/gateway-error.ts';
import { MAX_EARLIER_SECRETS, rotatedSecrets } from '../../domain/webhook-endpoint.ts';
import type { Deps } from '../deps.ts';
import { commitEndpoint, rejectConfiguredEndpoint } from './commit-endpoint.ts';

const HOUR_MS = 3_600_000;

/**
 * Gives an endpoint a new secret and answers it, the only time; earlier secrets sign for at most `expiresInHours` more. Throws
 * GatewayError `not_found`, and `invalid_state` for the endpoint of the configuration, if too many secrets sign already, and
 * without a key to encrypt the secret with.
 */
export async function rotateSecret(
  { store, now, webhooks }: Pick<Deps, 'store' | 'now' | 'webhooks'>,
  endpointId: string,
  expiresInHours: number,
): Promise<EndpointDetails & { secret: string }> {
  return commitEndpoint({ store }, endpointId, async (before) => {
    rejectConfiguredEndpoint(before, 'Change WEBHOOK_SECRET of the service and start it again.');
    const place = { endpointId, environment: before.environment };
    const { secret, sealed } = webhooks.secretBox.newSecret(place);
    const created = now();
    const known = await store.endpointSecrets([endpointId]);
    const secrets = rotatedSecrets(known, { ...place, sealed, created }, created + expiresInHours * HOUR_MS);
    if (secrets.length > MAX_EARLIER_SECRETS + 1)
      throw new GatewayError(
        'invalid_state',
        `Webhook endpoint ${endpointId} has ${MAX_EARLIER_SECRETS} earlier secrets that still sign, which is all there may be.`,
        { suggestion: 'Wait until one has expired, or send "expiresInHours": 0, which ends all earlier ones at once.' },
      );
    return { endpoint: { ...before }, secrets, secret };
  });
}
