import { createHash } from 'node:crypto';
import type { Environment } from '../domain/route.ts';
import { newEndpoint } from '../domain/webhook-endpoint.ts';
import type { Deps } from './deps.ts';

/**
 * Makes the endpoint that configuration names the active one of its environment. The id follows from the environment, so
 * that every instance registers the same one, and what waits for an endpoint goes to its new address when that changes.
 * Without one nothing changes: what is known already keeps its events, until a process that has its secret sends them.
 */
export async function registerConfiguredEndpoint(
  deps: Pick<Deps, 'store' | 'now'>,
  webhook: { url: string; environment: Environment } | undefined,
): Promise<void> {
  if (!webhook) return;
  const { url, environment } = webhook;
  const id = configuredEndpointId(environment);
  const before = await deps.store.endpoint(id);
  // One that has been failing for a while goes on with that, however often a process starts.
  if (before?.status === 'active' && before.url === url) return;
  const fresh = newEndpoint({ id, environment, url, created: before?.created ?? deps.now() });
  const endpoint = { ...fresh, version: (before?.version ?? 0) + 1 };
  await deps.store.commit([{ type: 'endpoint_saved', endpoint }]);
}

const ID_LENGTH = 36;

/** The id of the endpoint that configuration registers for an environment. */
export function configuredEndpointId(environment: Environment): string {
  // Hex digits are all letters of the id alphabet.
  return `whe_${createHash('sha256').update(`configured ${environment}`).digest('hex').slice(0, ID_LENGTH)}`;
}
