import { type WebhookEndpoint, type SealedSecret, withoutSecret } from '../../domain/webhook-endpoint.ts';
import type { SigningSecret } from '../../webhooks/lane.ts';
import type { Deps } from '../deps.ts';
import type { SecretBox } from '../../webhooks/secret-box.ts';
import { commitEndpoint } from './manage-endpoints.ts';

/** Secrets for signing deliveries of an endpoint, newest first; none if this process does not have them. */
export async function signingSecrets(
  { store, webhooks }: Pick<Deps, 'store' | 'webhooks'>,
  endpoint: WebhookEndpoint,
): Promise<SigningSecret[]> {
  if (endpoint.source === 'configuration') {
    const { configured } = webhooks;
    return configured?.endpointId === endpoint.id ? [{ secret: configured.secret, expiresAt: null }] : [];
  }
  const sealed = await store.endpointSecrets([endpoint.id]);
  return sealed.toReversed().flatMap((one) => {
    const secret = webhooks.secretBox.open(one);
    return secret === undefined ? [] : [{ secret, expiresAt: one.expiresAt }];
  });
}

/**
 * Checks that the encryption keys decrypt every stored secret. Encrypts a secret that only a later key decrypts with the first key, so
 * that the operator can remove the later key. Throws a one-line error if no key decrypts a secret, because its endpoint would get no
 * events.
 */
export async function checkSecrets({ store, webhooks, log }: Pick<Deps, 'store' | 'webhooks' | 'log'>): Promise<void> {
  const { secretBox } = webhooks;
  const secrets = await store.sealedSecrets();
  const closed = secrets.filter((secret) => secretBox.open(secret) === undefined);
  if (closed.length > 0) throw new Error(wordsFor(closed));
  const changed = secrets.filter((secret) => secretBox.resealed(secret) !== undefined);
  for (const secret of changed) {
    await store.commit([{ type: 'secret_resealed', secret, sealed: secretBox.resealed(secret)! }]);
  }
  if (changed.length > 0)
    log.info({ secrets: changed.length }, 'webhook secrets are sealed with the first ENCRYPTION_KEY');
}

function wordsFor(closed: readonly SealedSecret[]): string {
  const ids = [...new Set(closed.map(({ endpointId }) => endpointId))];
  const named = ids.length === 1 ? ids[0]! : `${ids[0]!} and ${ids.length - 1} more`;
  return `ENCRYPTION_KEY does not open the webhook secrets of ${named}: set the key that sealed them (after a new one and a comma, if there is a new one), or restore the .key file of the database; if the key is lost, "tillway endpoints forget-secrets" lists these secrets and drops them`;
}

interface Forgetting extends Pick<Deps, 'store' | 'now'> {
  secretBox: SecretBox;
}

/** An endpoint with secrets that no key decrypts. */
export interface LostSecrets {
  endpoint: WebhookEndpoint;
  /** Number of secrets that no key decrypts. */
  secrets: number;
  /** True if the newest secret is one of them: the endpoint cannot sign any more. */
  isSilenced: boolean;
}

/** The endpoints with secrets that no key decrypts. */
export async function findLostSecrets({ store, secretBox }: Omit<Forgetting, 'now'>): Promise<LostSecrets[]> {
  const closed = (await store.sealedSecrets()).filter((secret) => secretBox.open(secret) === undefined);
  const found: LostSecrets[] = [];
  for (const id of new Set(closed.map(({ endpointId }) => endpointId))) {
    const endpoint = await store.endpoint(id);
    const own = closed.filter(({ endpointId }) => endpointId === id);
    if (endpoint) found.push({ endpoint, secrets: own.length, isSilenced: own.some(isNewest) });
  }
  return found;
}

/** Drops secrets that no key decrypts. An endpoint without its newest secret is disabled until it gets a new one. */
export async function forgetSecrets(
  { store, now, secretBox }: Forgetting,
  endpoints: readonly LostSecrets[],
): Promise<void> {
  for (const { endpoint } of endpoints) {
    await commitEndpoint({ store }, endpoint.id, async (before) => {
      const known = await store.endpointSecrets([before.id]);
      const open = known.filter((secret) => secretBox.open(secret) !== undefined);
      if (open.length === known.length) return { endpoint: before };
      return open.some(isNewest)
        ? { endpoint: before, secrets: open }
        : { endpoint: withoutSecret(before, now()), secrets: [] };
    });
  }
}

function isNewest({ expiresAt }: SealedSecret): boolean {
  return expiresAt === null;
}
