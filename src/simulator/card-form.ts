import type { Instant } from '../domain/records.ts';
import { type Instrument, instrumentByCard, spacedCard } from './test-instruments.ts';

export type CardField = 'number' | 'expiry' | 'cvc' | 'name';
type CardFields = Record<CardField, string>;

export interface CardForm {
  instrument: Instrument | undefined;
  /** Values shown again in the page: never data of a card that could be real. */
  values: CardFields;
  problems: Partial<CardFields>;
}

const EXPIRY = /^\s*(0[1-9]|1[0-2])\s*\/?\s*(?:20)?(\d\d)\s*$/;

export function emptyCardForm(): CardForm {
  return { instrument: undefined, values: { number: '', expiry: '', cvc: '', name: '' }, problems: {} };
}

/** The form that the link of a test number opens. */
export function filledCardForm(instrument: Instrument): CardForm {
  const values = { number: spacedCard(instrument.cardNumber), expiry: '12 / 34', cvc: '123', name: 'Test Buyer' };
  return { instrument, values, problems: {} };
}

/** Checks a sent form. It accepts the test numbers only, and drops all fields of any other number. */
export function readCardForm(form: URLSearchParams, now: Instant): CardForm {
  const field = (name: CardField) => form.get(name) ?? '';
  const instrument = instrumentByCard(field('number'));
  if (!instrument) return { ...emptyCardForm(), problems: { number: numberProblemOf(field('number')) } };
  const problems: Partial<CardFields> = {};
  const expiryProblem = expiryProblemOf(field('expiry'), now);
  if (expiryProblem) problems.expiry = expiryProblem;
  if (!/^\s*\d{3,4}\s*$/.test(field('cvc'))) problems.cvc = 'Enter any 3 or 4 digits.';
  if (field('name').trim() === '') problems.name = 'Enter any name.';
  return { instrument, values: shownValues(instrument, form), problems };
}

function numberProblemOf(number: string): string {
  if (number.trim() === '') return 'Enter one of the test card numbers listed below.';
  return 'This is not one of the test card numbers, so it was not accepted and not kept. Never enter a real card here: use a number from the list below.';
}

function expiryProblemOf(expiry: string, now: Instant): string | undefined {
  const match = EXPIRY.exec(expiry);
  if (!match) return 'Enter a month and a year, such as 12 / 34.';
  // A card is valid until the end of its month.
  const end = Date.UTC(2000 + Number(match[2]), Number(match[1]));
  return now < end ? undefined : 'Enter a date that is still to come, such as 12 / 34.';
}

function shownValues(instrument: Instrument, form: URLSearchParams): CardFields {
  const expiry = form.get('expiry') ?? '';
  const name = form.get('name') ?? '';
  return {
    number: spacedCard(instrument.cardNumber),
    expiry: EXPIRY.test(expiry) ? expiry : '',
    cvc: '',
    // A number can be typed into the wrong field.
    name: /\d/.test(name) ? '' : name.slice(0, 80),
  };
}
