import { type SealedSecret, type WebhookEndpoint, withoutSecret } from '../../domain/webhook-endpoint.ts';
import type { SecretBox } from '../../webhooks/secret-box.ts';
import type { Deps } from '../deps.ts';
import { commitEndpoint } from './commit-endpoint.ts';

interface Forgetting extends Pick<Deps, 'store' | 'now'> {
  secretBox: SecretBox;
}

/** An endpoint with secrets that no key opens. */
export interface ClosedEndpoint {
  endpoint: WebhookEndpoint;
  /** Number of secrets that no key decrypts. */
  secrets: number;
  /** True if the newest secret is one of them: the endpoint cannot sign any more. */
  isSilenced: boolean;
}

/** The endpoints with secrets that no key opens, by id. */
export async function closedEndpoints({ store, secretBox }: Omit<Forgetting, 'now'>): Promise<ClosedEndpoint[]> {
  const closed = (await store.sealedSecrets()).filter((secret) => secretBox.open(secret) === undefined);
  const found: ClosedEndpoint[] = [];
  for (const id of new Set(closed.map(({ endpointId }) => endpointId))) {
    const endpoint = await store.endpoint(id);
    const own = closed.filter(({ endpointId }) => endpointId === id);
    if (endpoint) found.push({ endpoint, secrets: own.length, isSilenced: own.some(isNewest) });
  }
  return found;
}

/**
 * Drops the secrets of these endpoints that no key decrypts. An endpoint without its newest secret also loses the earlier
 * ones and is disabled until it gets a new secret.
 */
export async function forgetSecrets(
  { store, now, secretBox }: Forgetting,
  endpoints: readonly ClosedEndpoint[],
): Promise<void> {
  for (const { endpoint } of endpoints) {
    await commitEndpoint({ store }, endpoint.id, async (before) => {
      const known = await store.endpointSecrets([before.id]);
      const open = known.filter((secret) => secretBox.open(secret) !== undefined);
      if (open.length === known.length) return { endpoint: before };
      return open.some(isNewest)
        ? { endpoint: { ...before }, secrets: open }
        : { endpoint: withoutSecret(before, now()), secrets: [] };
    });
  }
}

function isNewest({ expiresAt }: SealedSecret): boolean {
  return expiresAt === null;
}
