import { type Cents, formatUsd } from '../../domain/money.ts';

/** Creates the formatter at its first use: the formatters of this file take 13 ms and 5 MB, and most services start without a visitor. */
function writer(options?: Intl.NumberFormatOptions): (value: number | bigint) => string {
  let formatter: Intl.NumberFormat | undefined;
  return (value) => (formatter ??= new Intl.NumberFormat('en', options)).format(value);
}

export const countText = writer();
export const percentText = writer({ style: 'percent', maximumFractionDigits: 1 });
/** Count for an axis: "1.2K". */
export const shortCount = writer({ notation: 'compact' });

/** An amount that can be negative: "-$12.00". */
export function moneyText(cents: Cents): string {
  return cents < 0 ? `-${formatUsd(-cents)}` : formatUsd(cents);
}

/** A code as words: `amount_mismatch` is "amount mismatch". */
export function words(code: string): string {
  return code.replaceAll('_', ' ');
}
