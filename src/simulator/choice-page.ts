import { formatUsd } from '../domain/money.ts';
import { type Html, html } from '../html/html.ts';
import { INSTRUMENTS } from './test-instruments.ts';
import { row } from './simulator-layout.ts';
import type { Charge } from './simulator-store.ts';

const TRANSFER_REFERENCE_LENGTH = 8;

export interface Choice {
  /** Id of the preselected outcome. */
  chosen: string;
  problem: string | undefined;
}

/** The wallet: the buyer chooses an outcome and approves. */
export function walletForm(charge: Charge, choice: Choice): Html {
  return html`<h1>Approve in your test wallet</h1>
    <p class="lead">
      ${charge.merchant} asks for <strong>${formatUsd(charge.total)}</strong> from your test wallet. It holds no money.
    </p>
    ${outcomeForm(choice, 'Approve payment')}`;
}

/** The bank transfer: the buyer sees the account and reports that the money is sent. */
export function bankForm(charge: Charge, choice: Choice): Html {
  return html`<h1>Send a test bank transfer</h1>
    <p class="lead">With a real bank you would now make this transfer. Here there is nothing to send.</p>
    <dl class="transfer">
      ${row('Amount', formatUsd(charge.total))}
      <div>
        <dt>Reference</dt>
        <dd class="digits">SIM-${charge.reference.slice(-TRANSFER_REFERENCE_LENGTH).toUpperCase()}</dd>
      </div>
      ${row('To', `${charge.merchant}, at the simulated bank`)} ${row('Account', 'none: this account does not exist')}
    </dl>
    ${outcomeForm(choice, 'I have sent it')}`;
}

function outcomeForm({ chosen, problem }: Choice, button: string): Html {
  return html`<form method="post">
    <fieldset ${problem !== undefined && html`aria-invalid="true" aria-describedby="outcome-problem"`}>
      <legend>What shall happen?</legend>
      ${problem !== undefined && html`<p class="field-problem" id="outcome-problem" role="alert">${problem}</p>`}
      ${INSTRUMENTS.map(
        ({ id, label, outcome }) =>
          html`<div class="outcome">
            <input
              type="radio"
              name="outcome"
              id="outcome-${id}"
              value="${id}"
              aria-describedby="outcome-${id}-text"
              ${id === chosen && html`checked`}
            />
            <label for="outcome-${id}">${label}</label>
            <p id="outcome-${id}-text">${outcome}</p>
          </div>`,
      )}
    </fieldset>
    <button class="button" type="submit">${button}</button>
  </form>`;
}
