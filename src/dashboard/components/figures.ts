import { type Cents, formatUsd } from '../../domain/money.ts';

const writer = (options?: Intl.NumberFormatOptions) => new Intl.NumberFormat('en', options).format;

export const countText = writer();
export const percentText = writer({ style: 'percent', maximumFractionDigits: 1 });
/** Count for an axis: "1.2K". */
export const shortCount = writer({ notation: 'compact' });
const shortUsd = writer({ notation: 'compact', style: 'currency', currency: 'USD' });

/** Amount for an axis: "$1.2K". */
export function shortMoney(cents: Cents): string {
  return shortUsd(cents / 100);
}

/** An amount that can be negative: "-$12.00". */
export function moneyText(cents: Cents): string {
  return cents < 0 ? `-${formatUsd(-cents)}` : formatUsd(cents);
}
