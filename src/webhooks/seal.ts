import { createCipheriv, createDecipheriv } from 'node:crypto';
import type { RandomBytes } from '../domain/id.ts';

const ALGORITHM = 'aes-256-gcm';
const VERSION = 'v1.';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Length of an encryption key in bytes. */
export const KEY_BYTES = 32;

/** Encrypts a text under the key, bound to `context`: it opens with both, or not at all. */
export function seal(text: string, key: Uint8Array, context: string, randomBytes: RandomBytes): string {
  // Copied: these bytes are part of a pool.
  const nonce = Uint8Array.from(randomBytes(NONCE_BYTES));
  const cipher = createCipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES }).setAAD(Buffer.from(context));
  const encrypted = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return VERSION + Buffer.concat([nonce, encrypted, cipher.getAuthTag()]).toString('base64url');
}

/** The text that was sealed with that key and context; undefined for anything else. Never throws. */
export function open(sealed: string, key: Uint8Array, context: string): string | undefined {
  if (!sealed.startsWith(VERSION)) return undefined;
  const encoded = sealed.slice(VERSION.length);
  const bytes = Buffer.from(encoded, 'base64url');
  // The same bytes have several base64url texts, and only the original one opens.
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
