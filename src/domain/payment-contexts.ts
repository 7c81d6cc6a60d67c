import type { Cents } from './money.ts';
import type { PaymentCard } from './payment-card.ts';
import type { Instant } from './records.ts';

/** Properties of a payment, known before its route is chosen or reported for its card, by name: `{ amount: '50-100', hour: '7' }`. */
export type PaymentContexts = Readonly<Record<string, string>>;

/** Lower limits of the bands of amounts, in dollars. */
const BANDS = [0, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000];
// A domain of few people would be personal data, and could not be learned from.
const MAIL_DOMAINS = new Set(
  'gmail.com googlemail.com yahoo.com outlook.com hotmail.com live.com msn.com icloud.com aol.com gmx.de web.de proton.me mail.ru qq.com 163.com'.split(
    ' ',
  ),
);
/** The contexts of every payment. The others are the metadata that the operator names, and the country and the group of the card. */
export const COMMON_CONTEXTS: ReadonlySet<string> = new Set(['amount', 'hour', 'mail']);
const MAX_VALUE_LENGTH = 32;
const HOUR_MS = 3_600_000;

/**
 * The contexts of a payment: the band of its amount in dollars, the hour (UTC) of its start, the domain of the buyer's address if it
 * is a large mail provider, the value of the metadata key that the operator names if it has at most 32 characters, and the country
 * and the group of the card if a provider has reported them.
 */
export function contextsOf(
  {
    amount,
    customerEmail,
    metadata,
  }: { amount: Cents; customerEmail: string; metadata: Readonly<Record<string, string>> },
  startedAt: Instant,
  metadataKey: string | undefined,
  card: PaymentCard | null = null,
): PaymentContexts {
  const domain = customerEmail.slice(customerEmail.lastIndexOf('@') + 1).toLowerCase();
  const value = metadataKey === undefined ? undefined : metadata[metadataKey];
  return {
    amount: bandOf(amount / 100),
    hour: String(Math.floor(startedAt / HOUR_MS) % 24),
    mail: MAIL_DOMAINS.has(domain) ? domain : 'other',
    ...(value !== undefined && value.length <= MAX_VALUE_LENGTH && { metadata: value }),
    ...(card?.country && { country: card.country }),
    ...(card?.group && { card: card.group }),
  };
}

/** The card of the last payment whose card is known: a buyer who tries again probably has the same one. */
export function lastCard(payments: readonly { card: PaymentCard | null }[]): PaymentCard | null {
  return payments.findLast(({ card }) => card !== null)?.card ?? null;
}

/** The band of an amount in dollars, such as `50-100`. */
export function bandOf(dollars: number): string {
  const next = BANDS.findIndex((limit) => limit > dollars);
  return next === -1 ? `${BANDS.at(-1)}+` : `${BANDS[next - 1]}-${BANDS[next]}`;
}
