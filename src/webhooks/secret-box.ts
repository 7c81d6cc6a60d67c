import type { RandomBytes } from '../domain/id.ts';
import type { SealedSecret } from '../domain/webhook-endpoint.ts';
import { createCipheriv, createDecipheriv } from 'node:crypto';

/** Keys that encrypt webhook secrets. */
export interface EncryptionKeys {
  /** The current keys. The first key encrypts, and every key can decrypt. */
  known(): readonly Uint8Array[];
  canSeal(): boolean;
  /** The key that encrypts new secrets, created if possible. Throws if there is none. */
  forSealing(): Uint8Array;
}

type Place = Pick<SealedSecret, 'endpointId' | 'environment'>;

/** Creates, encrypts (seals) and decrypts (opens) the secrets of endpoints. */
export interface SecretBox {
  /** A new secret, `whsec_...`, and its sealed text for the endpoint `place`. Throws without a key to encrypt with. */
  newSecret(place: Place): { secret: string; sealed: string };
  /** The decrypted secret; undefined if no key decrypts it. */
  open(sealed: SealedSecret): string | undefined;
  /** The secret encrypted with the first key; undefined if it is encrypted with that key already, or if no key decrypts it. */
  resealed(sealed: SealedSecret): string | undefined;
  /** True if there is a key to encrypt with, or one can be created. */
  canSeal(): boolean;
  /** Another secret text, sealed for `context`. Throws without a key to encrypt with. */
  seal(text: string, context: string): string;
  /** The text that was sealed for `context`; undefined if no key decrypts it. */
  unseal(sealed: string, context: string): string | undefined;
  /** The text that was sealed for `context` encrypted with the first key; undefined as for {@link SecretBox.resealed}. */
  resealedText(sealed: string, context: string): string | undefined;
}

const SECRET_BYTES = 32;

export function createSecretBox(keys: EncryptionKeys, randomBytes: RandomBytes): SecretBox {
  return {
    newSecret(place) {
      const key = keys.forSealing();
      const secret = `whsec_${Buffer.from(randomBytes(SECRET_BYTES)).toString('base64')}`;
      return { secret, sealed: sealText(secret, key, contextOf(place), randomBytes) };
    },
    open: (sealed) => openWithAny(keys.known(), sealed.sealed, contextOf(sealed)),
    canSeal: keys.canSeal,
    seal: (text, context) => sealText(text, keys.forSealing(), context, randomBytes),
    unseal: (sealed, context) => openWithAny(keys.known(), sealed, context),
    resealed: (sealed) => resealText(keys.known(), sealed.sealed, contextOf(sealed), randomBytes),
    resealedText: (sealed, context) => resealText(keys.known(), sealed, context, randomBytes),
  };
}

function resealText(
  [first, ...others]: readonly Uint8Array[],
  sealed: string,
  context: string,
  randomBytes: RandomBytes,
): string | undefined {
  if (!first || openWithAny([first], sealed, context) !== undefined) return undefined;
  const text = openWithAny(others, sealed, context);
  return text === undefined ? undefined : sealText(text, first, context, randomBytes);
}

function openWithAny(keys: readonly Uint8Array[], sealed: string, context: string): string | undefined {
  for (const key of keys) {
    const secret = openSealed(sealed, key, context);
    if (secret !== undefined) return secret;
  }
  return undefined;
}

/** Additional authenticated data, which binds a secret to its endpoint: a copy for another endpoint cannot be decrypted. */
function contextOf({ endpointId, environment }: Place): string {
  return `${endpointId} ${environment}`;
}

const ALGORITHM = 'aes-256-gcm';
const VERSION = 'v1.';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Length of an encryption key in bytes. */
export const KEY_BYTES = 32;

/** Encrypts a text. Decryption needs the same key and the same `context`. */
export function sealText(text: string, key: Uint8Array, context: string, randomBytes: RandomBytes): string {
  // Copies the nonce, because the random bytes are a view of a shared pool.
  const nonce = Uint8Array.from(randomBytes(NONCE_BYTES));
  const cipher = createCipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES }).setAAD(Buffer.from(context));
  const encrypted = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return VERSION + Buffer.concat([nonce, encrypted, cipher.getAuthTag()]).toString('base64url');
}

/** The text that was sealed with that key and context; undefined for anything else. Never throws. */
export function openSealed(sealed: string, key: Uint8Array, context: string): string | undefined {
  if (!sealed.startsWith(VERSION)) return undefined;
  const encoded = sealed.slice(VERSION.length);
  const bytes = Buffer.from(encoded, 'base64url');
  // Accepts only the canonical encoding, because the same bytes have several base64url encodings.
  if (bytes.length < NONCE_BYTES + TAG_BYTES || bytes.toString('base64url') !== encoded) return undefined;
  const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
    .setAAD(Buffer.from(context))
    .setAuthTag(bytes.subarray(-TAG_BYTES));
  try {
    const text = Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]);
    return text.toString('utf8');
  } catch {
    return undefined;
  }
}

const FORM = /^whsec_[A-Za-z0-9+/]+={0,2}$/;
const MIN_BYTES = 24;
const MAX_BYTES = 64;

/** Format of a webhook secret, for error messages. */
export const SECRET_FORM = 'whsec_ and the base64 of 24 to 64 bytes';

/** True if a text has the format of a webhook secret. */
export function isWebhookSecret(text: string): boolean {
  const { length } = Buffer.from(text.slice('whsec_'.length), 'base64');
  return FORM.test(text) && length >= MIN_BYTES && length <= MAX_BYTES;
}
