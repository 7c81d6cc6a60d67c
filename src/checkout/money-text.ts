import type { Cents } from '../domain/money.ts';

const CENTS = 100;

/** What a buyer reads: 123456 is `$1,234.56`. In integers only. Throws RangeError for what is no amount of cents. */
export function formatUsd(cents: Cents): string {
  if (!Number.isSafeInteger(cents) || cents < 0) throw new RangeError(`${cents} is no amount in cents`);
  const part = cents % CENTS;
  const dollars = String((cents - part) / CENTS).replace(/\B(?=(\d{3})+$)/g, ',');
  return `$${dollars}.${String(part).padStart(2, '0')}`;
}
