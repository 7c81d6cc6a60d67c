import { formatUsd } from '../domain/money.ts';
import type { Instant } from '../domain/records.ts';
import { type Html, html } from '../html/html.ts';
import { INSTRUMENTS, type Instrument, instrumentByCard, spacedCard } from './test-instruments.ts';
import type { Charge } from './simulator-store.ts';

type CardField = 'number' | 'expiry' | 'cvc' | 'name';
type CardFields = Record<CardField, string>;

/** State of the card form: the instrument of its test number, the values to show, and a problem per invalid field. */
export interface CardForm {
  instrument: Instrument | undefined;
  /** Values that the page shows again. They never contain data of a card that could be real. */
  values: CardFields;
  problems: Partial<CardFields>;
}

const NO_VALUES: CardFields = { number: '', expiry: '', cvc: '', name: '' };
export const EMPTY_CARD_FORM: CardForm = { instrument: undefined, values: NO_VALUES, problems: {} };

/** The form after a click on a test number: filled in completely. */
export function filledCardForm(instrument: Instrument): CardForm {
  const values = { number: spacedCard(instrument.cardNumber), expiry: '12 / 34', cvc: '123', name: 'Test Buyer' };
  return { instrument, values, problems: {} };
}

/** Checks a sent form. Accepts only test numbers; for any other number, drops all fields. */
export function readCardForm(form: URLSearchParams, now: Instant): CardForm {
  const field = (name: CardField) => form.get(name)?.trim() ?? '';
  const instrument = instrumentByCard(field('number'));
  if (!instrument) return { ...EMPTY_CARD_FORM, problems: { number: NOT_A_TEST_NUMBER } };
  const problems: Partial<CardFields> = {};
  if (!isValidExpiry(field('expiry'), now)) problems.expiry = 'Enter a month and a year to come, such as 12 / 34.';
  if (!/^\d{3,4}$/.test(field('cvc'))) problems.cvc = 'Enter any 3 or 4 digits.';
  if (field('name') === '') problems.name = 'Enter any name.';
  // Shows only the test number again, because a buyer can type a real card number into a wrong field.
  return { instrument, values: { ...NO_VALUES, number: spacedCard(instrument.cardNumber) }, problems };
}

const NOT_A_TEST_NUMBER =
  'This is not one of the test card numbers, so it was not accepted and not stored. Never enter a real card here: use a number from the list below.';

function isValidExpiry(expiry: string, now: Instant): boolean {
  const [, month, year] = /^(0[1-9]|1[0-2])\s*\/?\s*(?:20)?(\d\d)$/.exec(expiry) ?? [];
  // A card is valid until the end of its month.
  return now < Date.UTC(2000 + Number(year), Number(month));
}

const FIELDS: Record<CardField, [label: string, hint: string]> = {
  number: ['Test card number', 'Never a real card: one of the numbers below.'],
  expiry: ['Expiry date', 'Month and year, such as 12 / 34'],
  cvc: ['Security code', 'Any 3 digits'],
  name: ['Name on card', 'Any name'],
};
const ORDER = Object.keys(FIELDS) as CardField[];

export function cardForm(charge: Charge, form: CardForm): Html {
  return html`<h1>Pay by test card</h1>
    <form method="post" novalidate>
      ${ORDER.map((field) => textField(field, form))}
      <button class="button" type="submit">Pay ${formatUsd(charge.total)}</button>
    </form>`;
}

// Disables autofill, so that the browser does not offer a real card.
function textField(field: CardField, { values, problems }: CardForm): Html {
  const problem = problems[field];
  const [label, hint] = FIELDS[field];
  const described = problem === undefined ? `${field}-hint` : `${field}-problem ${field}-hint`;
  return html`<div class="field field-${field}">
    <label for="${field}">${label}</label>
    <p class="hint" id="${field}-hint">${hint}</p>
    ${problem !== undefined && html`<p class="field-problem" id="${field}-problem" role="alert">${problem}</p>`}
    <input
      id="${field}"
      name="${field}"
      type="text"
      value="${values[field]}"
      autocomplete="off"
      aria-describedby="${described}"
      aria-required="true"
      ${problem !== undefined && html`aria-invalid="true"`}
    />
  </div>`;
}

/** List of the test card numbers. Each is a link that fills in the form. */
export function testNumbers({ instrument }: CardForm): Html {
  return html`<details class="numbers" ${!instrument && html`open`}>
    <summary>Test card numbers</summary>
    <p>Each number stands for one outcome. Choose one to have the form filled in.</p>
    <ul>
      ${INSTRUMENTS.map(
        ({ id, label, outcome, cardNumber }) =>
          html`<li ${id === instrument?.id && html`class="chosen"`}>
            <a href="?use=${id}"><span class="digits">${spacedCard(cardNumber)}</span> <span>${label}</span></a>
            <p>${outcome}</p>
          </li>`,
      )}
    </ul>
  </details>`;
}
