import type { Config } from '../config.ts';
import type { RandomBytes } from '../domain/id.ts';
import type { Deps, WebhookDeps } from '../operations/deps.ts';
import { configuredEndpointId } from '../operations/webhook-endpoints/manage-endpoints.ts';
import type { Clock } from '../runtime.ts';
import { createResolve } from '../webhooks/address.ts';
import { createDeliverers } from '../webhooks/deliver.ts';
import { createSecretBox } from '../webhooks/secret-box.ts';
import { loadEncryptionKeys } from './encryption-keys.ts';

/** Webhook dependencies from the settings. Throws if the key file cannot be read. */
export function webhookDepsOf(
  config: Config,
  { clock, randomBytes, log }: { clock: Clock; randomBytes: RandomBytes; log: Deps['log'] },
): WebhookDeps {
  const { database, encryptionKeys: configured, webhook, webhookTargets: targets } = config;
  return {
    secretBox: createSecretBox(loadEncryptionKeys({ database, configured, randomBytes, log }), randomBytes),
    targets,
    deliverers: createDeliverers({ targets, resolve: createResolve(), now: clock.now }),
    configured: webhook && { endpointId: configuredEndpointId(webhook.environment), secret: webhook.secret },
  };
}
