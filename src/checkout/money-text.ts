import type { Cents } from '../domain/money.ts';

const CENTS = 100;

/** Amount for a buyer: 123456 is `$1,234.56`. Throws RangeError unless it is a non-negative integer of cents. */
export function formatUsd(cents: Cents): string {
  if (!Number.isSafeInteger(cents) || cents < 0) throw new RangeError(`${cents} is no amount in cents`);
  const part = cents % CENTS;
  const dollars = String((cents - part) / CENTS).replace(/\B(?=(\d{3})+$)/g, ',');
  return `$${dollars}.${String(part).padStart(2, '0')}`;
}
