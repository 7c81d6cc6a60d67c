import { createHmac, timingSafeEqual } from 'node:crypto';
import type { RandomBytes } from '../../domain/id.ts';

const TOKEN_BYTES = 32;

/**
 * Token of a form: a hash of the session's secret under a random mask. The mask makes the token differ in every response, because
 * compressed responses reveal repeated secrets (BREACH, https://www.breachattack.com).
 */
export function newFormToken(secret: string, randomBytes: RandomBytes): string {
  const mask = Buffer.from(randomBytes(TOKEN_BYTES));
  return Buffer.concat([mask, masked(hashOf(secret), mask)]).toString('base64url');
}

export function isFormToken(token: string | null, secret: string): boolean {
  const bytes = Buffer.from(token ?? '', 'base64url');
  if (bytes.length !== 2 * TOKEN_BYTES) return false;
  const found = masked(bytes.subarray(TOKEN_BYTES), bytes.subarray(0, TOKEN_BYTES));
  return timingSafeEqual(found, hashOf(secret));
}

function hashOf(secret: string): Buffer {
  return createHmac('sha256', secret).update('dashboard form').digest();
}

function masked(bytes: Buffer, mask: Buffer): Buffer {
  return Buffer.from(bytes.map((byte, index) => byte ^ mask[index]!));
}
