/** Lease of a task that sends requests to a provider. It is longer than these requests can take. */
export const LEASE_MS = 60_000;
const FIRST_DELAY_MS = 5000;
const LONGEST_DELAY_MS = 60 * 60_000;

/** Back-off before the next request to a provider, by the number of earlier requests. */
export function providerDelayMs(attempts: number): number {
  return Math.min(FIRST_DELAY_MS * 2 ** (attempts - 1), LONGEST_DELAY_MS);
}
