import { randomBytes } from 'node:crypto';
import type { RandomBytes } from './domain/id.ts';

/** Clock of this machine. All other code receives a clock as an argument. */
export const systemClock: Clock = { now: () => Date.now() };

/** Source of the current time. */
export interface Clock {
  /** Milliseconds since 1970-01-01 UTC. */
  now(): number;
}

const POOL_SIZE = 8192;

/** Creates a source of cryptographically secure bytes. Reads 8 KiB at a time, because that costs little more than 16 bytes. */
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
