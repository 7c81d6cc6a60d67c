import type { Config } from '../config.ts';
import type { RandomBytes } from '../domain/id.ts';
import type { Deps, WebhookDeps } from '../operations/deps.ts';
import { configuredEndpointId } from '../operations/webhook-endpoints/manage-endpoints.ts';
import type { Clock } from '../runtime.ts';
import { createResolve } from '../webhooks/address.ts';
import { createDeliverers } from '../webhooks/deliver.ts';
import { createSecretBox, type EncryptionKeys, KEY_BYTES } from '../webhooks/secret-box.ts';
import { closeSync, fsyncSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { GatewayError } from '../domain/gateway-error.ts';
import type { DatabaseSettings } from '../store/open.ts';

/**
 * Creates the webhook dependencies from the settings. Throws if the key file cannot be read; call it after the database was opened,
 * whose error names the setting if the whole folder cannot be read.
 */
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

const OWNER_ONLY = 0o600;
const KEY_TEXT = /^[A-Za-z0-9+/]{43}=$/;

interface KeyOptions {
  database: DatabaseSettings;
  /** Keys of ENCRYPTION_KEY. */
  configured: readonly Uint8Array[];
  randomBytes: RandomBytes;
  log: { warn(fields: object, message: string): void };
}

/**
 * Loads the keys of ENCRYPTION_KEY and, for an SQLite database, the key in the file beside it. If no key exists, the first
 * encryption creates the file; with PostgreSQL, the encryption fails instead. Throws if the file contains no valid key.
 */
export function loadEncryptionKeys({ database, configured, randomBytes, log }: KeyOptions): EncryptionKeys {
  const file = database.kind === 'sqlite' ? `${database.path}.key` : undefined;
  let own = file === undefined ? undefined : readKey(file);
  const known = () => [...configured, ...(own ? [own] : [])];

  return {
    known,
    canSeal: () => file !== undefined || known().length > 0,
    forSealing() {
      const [first] = known();
      if (first) return first;
      if (file === undefined) throw keyMissing();
      return (own = createKey(file, randomBytes, log));
    },
  };
}

/** Creates the key file, and returns its key. If another process has just created the file, returns the key in that file. */
function createKey(file: string, randomBytes: RandomBytes, log: KeyOptions['log']): Uint8Array {
  // Copies the bytes, because they are part of a shared pool.
  const key = Uint8Array.from(randomBytes(KEY_BYTES));
  try {
    // The key must be on disk before anything is encrypted with it.
    const options = { flag: 'wx', mode: OWNER_ONLY, flush: true };
    writeFileSync(file, `${Buffer.from(key).toString('base64')}\n`, options);
  } catch (error) {
    const found = (error as NodeJS.ErrnoException).code === 'EEXIST' ? readKey(file) : undefined;
    if (found) return found;
    throw error;
  }
  syncFolder(file);
  log.warn(
    { file },
    'ENCRYPTION_KEY is not set: webhook secrets are encrypted with the key in this file; back it up separately',
  );
  return key;
}

function syncFolder(file: string): void {
  const folder = openSync(dirname(file), 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

function readKey(file: string): Uint8Array | undefined {
  let text: string;
  try {
    text = readFileSync(file, 'utf8').trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  if (KEY_TEXT.test(text)) return Buffer.from(text, 'base64');
  throw new Error(
    `${file} contains no valid key (base64 of ${KEY_BYTES} bytes): restore it from a backup; if the key is lost, move the file away and run "tillway endpoints forget-secrets"`,
  );
}

function keyMissing(): GatewayError {
  const message = 'ENCRYPTION_KEY is not set, so webhook secrets cannot be encrypted.';
  return new GatewayError('invalid_state', message, {
    suggestion:
      'Ask the operator to start every instance with the same ENCRYPTION_KEY, base64 of 32 random bytes (openssl rand -base64 32); then resend. An endpoint from WEBHOOK_URL and WEBHOOK_SECRET needs no key.',
  });
}
