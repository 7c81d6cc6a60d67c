/** Lease of a question to a provider. It is longer than the answers can take. */
export const LEASE_MS = 60_000;
const FIRST_DELAY_MS = 5000;
const LONGEST_DELAY_MS = 60 * 60_000;

/** Delay before the next question to a provider, by the number of earlier questions. */
export function providerDelayMs(attempts: number): number {
  return Math.min(FIRST_DELAY_MS * 2 ** (attempts - 1), LONGEST_DELAY_MS);
}
