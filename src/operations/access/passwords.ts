import { argon2, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { invalidField } from '../../domain/gateway-error.ts';
import type { RandomBytes } from '../../domain/id.ts';

/** OWASP's recommendation for argon2id: https://cheatsheetseries.owasp.org/cheatsheets/Password_Storage_Cheat_Sheet.html */
const COST = { memory: 19_456, passes: 2, parallelism: 1, tagLength: 32 };
const SALT_BYTES = 16;
const MAX_LENGTH = 256;

/** The last computation. Each waits for the one before, which bounds their memory and the threads that they take. */
let last: Promise<unknown> = Promise.resolve();

/** Hash of a new password, with its salt. Throws GatewayError `invalid_input` for one of another length. */
export async function hashPassword(password: string, randomBytes: RandomBytes): Promise<string> {
  if (password.length < 12 || password.length > MAX_LENGTH) {
    throw invalidField('password', 'wrong_length', 'must have 12 to 256 characters', 'Choose another password.');
  }
  // Copies the salt, because the random bytes are a view of a shared pool.
  const salt = Buffer.from(Uint8Array.from(randomBytes(SALT_BYTES)));
  return `argon2id$${salt.toString('base64url')}$${(await compute(password, salt)).toString('base64url')}`;
}

/** Compares a password with a hash. Does the same work without a hash, so that the time does not reveal which names exist. */
export async function isPassword(password: string, stored: string | null): Promise<boolean> {
  const [, salt, key] = (stored ?? `$${'A'.repeat(22)}$${'A'.repeat(43)}`).split('$');
  const computed = await compute(password.slice(0, MAX_LENGTH), Buffer.from(salt!, 'base64url'));
  return timingSafeEqual(computed, Buffer.from(key!, 'base64url')) && stored !== null;
}

async function compute(message: string, nonce: Buffer): Promise<Buffer> {
  const computed = last.then(() => promisify(argon2)('argon2id', { message, nonce, ...COST }));
  last = computed.catch(() => undefined);
  return computed;
}
