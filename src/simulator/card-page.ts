import { formatUsd } from '../domain/money.ts';
import { type Html, html } from '../html/html.ts';
import type { CardField, CardForm } from './card-form.ts';
import { INSTRUMENTS, spacedCard } from './test-instruments.ts';
import type { Charge } from './simulator-store.ts';

const FIELDS: Record<CardField, [label: string, hint: string]> = {
  number: ['Test card number', 'Never a real card: one of the numbers below.'],
  expiry: ['Expiry date', 'Month and year, such as 12 / 34'],
  cvc: ['Security code', 'Any 3 digits'],
  name: ['Name on card', 'Any name'],
};
const ORDER: readonly CardField[] = ['number', 'expiry', 'cvc', 'name'];

/** The card form; the outcome is chosen by the number. */
export function cardForm(charge: Charge, form: CardForm): Html {
  const faulty = ORDER.filter((field) => form.problems[field] !== undefined);
  return html`<h1>Pay by test card</h1>
    ${faulty.length > 0 && problemSummary(faulty, form)}
    <form method="post" novalidate>
      ${ORDER.map((field) => textField(field, form, field === faulty[0]))}
      <button class="button" type="submit">Pay ${formatUsd(charge.total)}</button>
    </form>`;
}

function problemSummary(faulty: readonly CardField[], form: CardForm): Html {
  return html`<div class="problem" role="alert">
    <h2>Please check the form</h2>
    <ul>
      ${faulty.map((field) => html`<li><a href="#${field}">${FIELDS[field][0]}</a>: ${form.problems[field]}</li>`)}
    </ul>
  </div>`;
}

// Autofill is off on purpose: a browser must not offer a real card here.
function textField(field: CardField, { values, problems }: CardForm, focus: boolean): Html {
  const problem = problems[field];
  const [label, hint] = FIELDS[field];
  const described = problem === undefined ? `${field}-hint` : `${field}-problem ${field}-hint`;
  const attributes = html`id="${field}" name="${field}" type="text" value="${values[field]}" autocomplete="off"
  aria-describedby="${described}" aria-required="true" ${field !== 'name' && html`inputmode="numeric"`}
  ${problem !== undefined && html`aria-invalid="true"`} ${focus && html`autofocus`}`;
  return html`<div class="field field-${field}">
    <label for="${field}">${label}</label>
    <p class="hint" id="${field}-hint">${hint}</p>
    ${problem !== undefined && html`<p class="field-problem" id="${field}-problem">${problem}</p>`}
    <input ${attributes} />
  </div>`;
}

/** The test card numbers, each a link that fills in the form. */
export function testNumbers({ instrument }: CardForm): Html {
  const open = instrument === undefined;
  return html`<details class="numbers" ${open && html`open`}>
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
