import { hash } from 'node:crypto';

const PREFIX = 'erased:';

/** What is kept of the idempotency key of an erased session: enough to know the key again, and not to read it. */
export function erasedKey(key: string): string {
  return key.startsWith(PREFIX) ? key : `${PREFIX}${hash('sha256', key, 'base64url')}`;
}
