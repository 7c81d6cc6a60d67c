/** The card of a payment, as its provider reports it. */
export interface PaymentCard {
  /** Country of the bank that issued the card: ISO 3166-1 alpha-2, such as `DE`; null if unknown. */
  country: string | null;
  /** Brand and funding, such as `visa debit`; null if the provider does not name both. */
  group: string | null;
}

const COUNTRY = /^[A-Z]{2}$/;
const WORD = /^(?!unknown$)[a-z0-9_]{1,20}$/;

/** The card from the texts of a provider, which may be missing or of another form; null if they say nothing about a card. */
export function cardFrom(texts: {
  [name in 'country' | 'brand' | 'funding']?: string | null | undefined;
}): PaymentCard | null {
  const country = texts.country?.toUpperCase() ?? '';
  const words = [texts.brand, texts.funding].map((text) => text?.toLowerCase() ?? '');
  const card: PaymentCard = {
    country: COUNTRY.test(country) ? country : null,
    group: words.every((word) => WORD.test(word)) ? words.join(' ') : null,
  };
  return card.country === null && card.group === null ? null : card;
}
