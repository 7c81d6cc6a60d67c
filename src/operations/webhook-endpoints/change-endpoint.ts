import type { ChangeEndpointRequest, EndpointDetails } from '../../contract/webhook-endpoint-contract.ts';
import { GatewayError } from '../../domain/gateway-error.ts';
import { type WebhookEndpoint, withStatus } from '../../domain/webhook-endpoint.ts';
import type { Deps } from '../deps.ts';
import { checkUrl } from './check-url.ts';
import { commitEndpoint, rejectConfiguredEndpoint } from './commit-endpoint.ts';
import { withSecrets } from './find-endpoint.ts';

/**
 * Changes what the request names. Throws GatewayError `not_found`, `invalid_input` for a URL that cannot be delivered to,
 * and `invalid_state` for the endpoint of the configuration, which can be enabled, and nothing else, and for one to enable
 * that has no secret.
 */
export async function changeEndpoint(
  deps: Pick<Deps, 'store' | 'now' | 'webhooks'>,
  id: string,
  request: ChangeEndpointRequest,
): Promise<EndpointDetails> {
  const { status, ...fields } = request;
  const { endpoint } = await commitEndpoint(deps, id, async (before) => {
    if (Object.keys(fields).length > 0 || status !== 'active') {
      rejectConfiguredEndpoint(
        before,
        'Change WEBHOOK_URL of the service and start it again; {"status": "active"} alone is taken here, and enables it.',
      );
    }
    if (fields.url !== undefined) checkUrl(fields.url, before.environment, deps.webhooks.targets);
    if (status === 'active' && before.status !== 'active') await requireSecret(deps, before);
    const changed = withFields(before, fields);
    return { endpoint: status === undefined ? changed : withStatus(changed, status, deps.now()) };
  });
  const [details] = await withSecrets(deps, [endpoint]);
  return details!;
}

/** Of the configuration's the process that has it knows the secret. */
async function requireSecret({ store }: Pick<Deps, 'store'>, { id, source }: WebhookEndpoint): Promise<void> {
  if (source === 'configuration' || (await store.endpointSecrets([id])).length > 0) return;
  throw new GatewayError(
    'invalid_state',
    `Webhook endpoint ${id} has no secret: it could not be opened, and was given up.`,
    {
      suggestion: `Rotate the secret first, with tillway endpoints rotate-secret ${id} or POST /api/gateway/webhook-endpoints/${id}/rotate-secret, and give the new one to the receiver; then enable it.`,
    },
  );
}

/** Another receiver has not failed yet. */
function withFields(before: WebhookEndpoint, fields: Omit<ChangeEndpointRequest, 'status'>): WebhookEndpoint {
  const { url = before.url, description = before.description } = fields;
  const events = fields.events ?? before.events;
  const isSame = url === before.url && description === before.description && events.join() === before.events.join();
  if (isSame) return before;
  return { ...before, url, events, description, failingSince: url === before.url ? before.failingSince : null };
}
