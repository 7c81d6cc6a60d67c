import { createHash } from 'node:crypto';
import type { Environment } from '../domain/route.ts';
import { ENVIRONMENTS } from '../domain/route.ts';
import type { WebhookEndpoint } from '../store/store.ts';
import type { Deps } from './deps.ts';

/**
 * Makes the one endpoint that configuration names the active one of its environment, and disables those that it no
 * longer names. The id follows from the environment, so that every instance registers the same one, and what waits for
 * an endpoint goes to its new address when that changes.
 */
export async function registerConfiguredEndpoint(
  deps: Pick<Deps, 'store' | 'now'>,
  webhook: { url: string; environment: Environment } | undefined,
): Promise<void> {
  const known = new Map((await deps.store.endpoints()).map((endpoint) => [endpoint.id, endpoint]));
  for (const environment of ENVIRONMENTS) {
    const id = configuredEndpointId(environment);
    const before = known.get(id);
    if (webhook?.environment === environment) {
      const endpoint: WebhookEndpoint = {
        id,
        environment,
        url: webhook.url,
        status: 'active',
        created: before?.created ?? deps.now(),
      };
      await deps.store.commit([{ type: 'endpoint_saved', endpoint }]);
    } else if (before?.status === 'active') {
      await deps.store.commit([{ type: 'endpoint_saved', endpoint: { ...before, status: 'disabled' } }]);
    }
  }
}

const ID_LENGTH = 36;

/** The id of the endpoint that configuration registers for an environment. */
export function configuredEndpointId(environment: Environment): string {
  // Hex digits are all letters of the id alphabet.
  return `whe_${createHash('sha256').update(`configured ${environment}`).digest('hex').slice(0, ID_LENGTH)}`;
}
