import { deletedEndpoint } from '../../domain/webhook-endpoint.ts';
import type { Deps } from '../deps.ts';
import { commitEndpoint, rejectConfiguredEndpoint } from './commit-endpoint.ts';

/**
 * Deletes an endpoint and its secrets; the dispatcher gives up what still waits for it. Throws GatewayError `not_found`,
 * and `invalid_state` for the endpoint that the configuration of this process names.
 */
export async function deleteEndpoint(deps: Pick<Deps, 'store' | 'now' | 'webhooks'>, id: string): Promise<void> {
  await commitEndpoint(deps, id, (before) => {
    // One that is left over from a configuration before can go.
    if (deps.webhooks.configured?.endpointId === id) {
      rejectConfiguredEndpoint(before, 'Start the service without WEBHOOK_URL; then delete it.');
    }
    return { endpoint: deletedEndpoint(before, deps.now()), secrets: [] };
  });
}
