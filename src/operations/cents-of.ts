import assert from 'node:assert/strict';
import { type Cents, centsFromAmount } from '../domain/money.ts';

/** Cents of an amount that the contract has already checked. */
export function centsOf(amount: number): Cents {
  const cents = centsFromAmount(amount);
  assert(cents !== undefined, 'the contract accepts only whole cents');
  return cents;
}
