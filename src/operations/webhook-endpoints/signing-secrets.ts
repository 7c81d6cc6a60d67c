import { type WebhookEndpoint, isSigningSecret } from '../../domain/webhook-endpoint.ts';
import type { SigningSecret } from '../../webhooks/lane.ts';
import type { Deps } from '../deps.ts';

type Signing = Pick<Deps, 'store' | 'webhooks'>;

/** Secrets for signing deliveries of an endpoint, newest first; none if this process does not have them. */
export async function signingSecrets(
  { store, webhooks }: Signing,
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

/** The secrets that sign at that time. */
export function liveSecrets(secrets: readonly SigningSecret[], now: number): string[] {
  return secrets.filter((one) => isSigningSecret(one, now)).map(({ secret }) => secret);
}
