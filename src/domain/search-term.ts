import type { Cents } from './money.ts';
import type { Metadata } from './records.ts';
import type { Environment } from './route.ts';

/** Text by which a session is found. */
export interface SearchTerm {
  environment: Environment;
  field: 'amount' | 'metadata';
  term: string;
  /** Id of the session. */
  id: string;
  /** Customer of the session; the terms of an erased customer are not stored. */
  customerId: string;
}

/** A row of a source of terms: a session or a payment. */
export interface SearchedRow extends Pick<SearchTerm, 'environment' | 'id' | 'customerId'> {
  /** Amount of a session, or total of a payment; null if the total equals the amount. */
  amount: Cents | null;
  metadata: Metadata;
}

const MAX_LENGTH = 200;

/** Form in which texts are compared: trimmed, ASCII letters in lower case as both databases do it, at most 200 characters. */
export function termOf(text: string): string {
  const trimmed = text.trim().slice(0, MAX_LENGTH).toWellFormed();
  return trimmed.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** Terms of a row; `keys` are the metadata keys whose values can be searched for. */
export function termsOf({ amount, metadata, ...row }: SearchedRow, keys: readonly string[]): SearchTerm[] {
  const values = keys.map((key) => termOf(metadata[key] ?? '')).filter((term) => term !== '');
  return [
    ...(amount === null ? [] : [{ ...row, field: 'amount' as const, term: String(amount) }]),
    ...[...new Set(values)].map((term) => ({ ...row, field: 'metadata' as const, term })),
  ];
}
