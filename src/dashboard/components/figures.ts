import { type Cents, formatUsd } from '../../domain/money.ts';

const writer = (options?: Intl.NumberFormatOptions) => new Intl.NumberFormat('en', options).format;

export const countText = writer();
export const percentText = writer({ style: 'percent', maximumFractionDigits: 1 });
/** Count for an axis: "1.2K". An amount has a dollar sign before it. */
export const shortCount = writer({ notation: 'compact' });

/** An amount that can be negative: "-$12.00". */
export function moneyText(cents: Cents): string {
  return cents < 0 ? `-${formatUsd(-cents)}` : formatUsd(cents);
}

/** A code as words: `amount_mismatch` is "amount mismatch". */
export function words(code: string): string {
  return code.replaceAll('_', ' ');
}
