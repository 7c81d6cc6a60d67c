/** Integer US cents. The code and the database use cents; only the API has JSON numbers in dollars. */
export type Cents = number;

/** A rate in integer parts per million of an amount: 2.9 % is 29,000. */
export type RatePpm = number;

/** The largest amount of a checkout, in US dollars. */
export const MAX_AMOUNT = 10_000;

const PPM = 1_000_000;

// 0.1 + 0.2 means 30 cents: the error of a binary fraction is far below this tolerance, and a third decimal far above it.
const CENT_TOLERANCE = 1e-6;

/** Dollars (a JSON number) to cents; undefined if the amount has more than two decimals. */
export function centsFromAmount(amount: number): Cents | undefined {
  const cents = Math.round(amount * 100);
  if (!Number.isSafeInteger(cents)) return undefined;
  // Above about 80 million dollars, the error of a binary fraction exceeds the tolerance.
  return Math.abs(amount * 100 - cents) <= CENT_TOLERANCE || amountFromCents(cents) === amount ? cents : undefined;
}

/** Cents of an amount as a person types it, such as `49.99`, `$1,234.50` or `7`; undefined for any other text. */
export function centsFromText(text: string): Cents | undefined {
  const [, dollars, part = ''] = /^\$?(\d{1,9}|\d{1,3}(?:,\d{3}){1,2})(?:\.(\d{1,2}))?$/.exec(text.trim()) ?? [];
  return dollars === undefined ? undefined : Number(dollars.replaceAll(',', '')) * 100 + Number(part.padEnd(2, '0'));
}

/** Cents to dollars: the JSON number that prints with at most two decimals. */
export function amountFromCents(cents: Cents): number {
  return cents / 100;
}

/** Cents for a person: "48.54 USD". */
export function usd(cents: Cents): string {
  return `${amountFromCents(cents).toFixed(2)} USD`;
}

/** Amount for a buyer: 123456 is `$1,234.56`. Throws RangeError unless it is a non-negative integer of cents. */
export function formatUsd(cents: Cents): string {
  if (!Number.isSafeInteger(cents) || cents < 0) throw new RangeError(`${cents} is no amount in cents`);
  const part = cents % 100;
  const dollars = String((cents - part) / 100).replace(/\B(?=(\d{3})+$)/g, ',');
  return `$${dollars}.${String(part).padStart(2, '0')}`;
}

/** Amount of an asset in units of 10^-`decimals`, with at least two decimals and without separators: 5000000 is "5.00". */
export function assetAmount(units: number, decimals: number): string {
  return (units / 10 ** decimals).toFixed(decimals).replace(/(\.\d\d\d*?)0+$/, '$1');
}

/** `cents` times `rate`, rounded half up to a whole cent, in integers only. */
export function shareOf(cents: Cents, rate: RatePpm): Cents {
  const scaled = cents * rate + PPM / 2;
  return (scaled - (scaled % PPM)) / PPM;
}

/** A rate as a fraction for the API: 29,000 ppm is 0.029. */
export function fractionFromPpm(rate: RatePpm): number {
  return rate / PPM;
}

/** A fraction from configuration to parts per million: 0.029 is 29,000 ppm. */
export function ppmFromFraction(fraction: number): RatePpm {
  return Math.round(fraction * PPM);
}
