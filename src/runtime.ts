import { randomBytes } from 'node:crypto';
import type { RandomBytes } from './domain/id.ts';

/** The only reader of the clock. */
export const systemClock: Clock = { now: () => Date.now() };

export interface Clock {
  /** Milliseconds since 1970-01-01 UTC. */
  now(): number;
}

const POOL_SIZE = 8192;

/** Cryptographically secure bytes, drawn from the system in blocks: one call for 8 KiB costs little more than for 16 bytes. */
export function createRandomBytes(): RandomBytes {
  let pool = randomBytes(POOL_SIZE);
  let used = 0;
  return (size) => {
    if (used + size > pool.length) {
      pool = randomBytes(POOL_SIZE);
      used = 0;
    }
    used += size;
    return pool.subarray(used - size, used);
  };
}
