import { formatUsd } from '../domain/money.ts';
import { loadStyle } from '../html/assets.ts';
import { iconOf, renderFrame } from '../html/frame.ts';
import { type Html, html } from '../html/html.ts';
import { type CardForm, EMPTY_CARD_FORM, cardForm, testNumbers } from './card-page.ts';
import { HANDOFF_TAGS, INSTRUMENTS, spacedCard } from './test-instruments.ts';
import { REFUND_SCRIPTS } from './simulated-refunds.ts';
import type { Charge } from './simulator-store.ts';

export const STYLESHEET = loadStyle(new URL('./assets/simulator.css', import.meta.url));

// Page icon with the same stripes as the banner of the pages.
const ICON = iconOf(
  '<rect width="16" height="16" rx="4" fill="#ffcf33"/><path d="M3 13 13 3M1 8l7-7M8 15l7-7" stroke="#1c1a2b" stroke-width="2.5"/>',
);

/** Frame of the simulator's pages, which must not look like a real provider's. With `refreshTo`, the browser opens that URL at once. */
function layout(title: string, body: Html, { refreshTo, wide }: { refreshTo?: string; wide?: true } = {}): Html {
  const head = html`<meta name="robots" content="noindex" />
    ${refreshTo !== undefined && html`<meta http-equiv="refresh" content="0;url=${refreshTo}" />`}`;
  const page = html`<header class="top">
      <p class="banner"><strong>Simulation: no money moves</strong></p>
      <p class="brand"><span class="mark" aria-hidden="true"></span>Simulated provider</p>
    </header>
    <main class="${wide ? 'wide' : 'narrow'}">${body}</main>
    <footer>
      <p>
        A stand-in for a bank, card or wallet company, for tests only.
        <a href="/simulator">All test outcomes</a>
      </p>
    </footer>`;
  return renderFrame({ title: `${title} - Simulated provider`, style: STYLESHEET, icon: ICON, head, body: page });
}

function receipt(charge: Charge): Html {
  const fee = charge.total - charge.amount;
  return html`<section class="receipt" aria-labelledby="receipt-title">
    <h2 id="receipt-title">Pay ${charge.merchant}</h2>
    <p class="total">${formatUsd(charge.total)}</p>
    <dl>
      ${row(charge.product, formatUsd(charge.amount))} ${fee !== 0 && row('Fee', formatUsd(fee))}
      <div class="sum">
        <dt>Total in US dollars</dt>
        <dd>${formatUsd(charge.total)}</dd>
      </div>
    </dl>
  </section>`;
}

function row(term: string, description: string): Html {
  return html`<div>
    <dt>${term}</dt>
    <dd>${description}</dd>
  </div>`;
}

/** The form fields that are already filled in, with their problems. */
export interface PayPageInput {
  card?: CardForm;
  choice?: Choice;
}

const CHOICE: Choice = { chosen: 'paid', problem: undefined };

/** Heading, text and button of the pay page, by payment method. */
const METHODS: Record<Charge['kind'], [title: string, text: string, button: string]> = {
  card: ['Pay by test card', '', ''],
  wallet: ['Approve in your test wallet', 'The test wallet holds no money.', 'Approve payment'],
  local: [
    'Send a test bank transfer',
    'With a real bank you would now make a transfer. Here there is nothing to send.',
    'I have sent it',
  ],
};

/** Page on which the buyer pays an open charge. */
export function payPage(charge: Charge, { card = EMPTY_CARD_FORM, choice = CHOICE }: PayPageInput): Html {
  const faulty = choice.problem !== undefined || Object.keys(card.problems).length > 0;
  const body = html`<div class="columns">
    ${receipt(charge)}
    <section class="panel">
      ${charge.kind === 'card' ? cardForm(charge, card) : outcomeForm(charge, choice)}
      <form class="leave" method="post" action="/simulator/pay/${charge.reference}/cancel">
        <button class="button quiet" type="submit">Cancel and go back to ${charge.merchant}</button>
      </form>
      ${charge.kind === 'card' && testNumbers(card)}
    </section>
  </div>`;
  return layout(`${faulty ? 'Error: ' : ''}${METHODS[charge.kind][0]}`, body, { wide: true });
}

const CLOSED: Record<Exclude<Charge['status'], 'open'>, [title: string, text: string]> = {
  pending: ['Payment in progress', 'The simulated provider has this payment and is working on it.'],
  paid: ['Payment made', 'This test payment is captured. No money has moved.'],
  failed: ['Payment declined', 'This test payment was declined. You can try again at the merchant.'],
  cancelled: ['Payment cancelled', 'This test payment was cancelled, and nothing was paid.'],
  refunded: ['Payment refunded', 'This test payment was captured and refunded.'],
};

/** Page of a charge that is no longer open. */
export function closedPage({ status, merchant, returnUrl }: Charge): Html {
  const [title, text] = CLOSED[status === 'open' ? 'pending' : status];
  const body = html`<section class="panel">
    <h1>${title}</h1>
    <p class="lead">${text}</p>
    <p><a class="button" href="${returnUrl}">Back to ${merchant}</a></p>
  </section>`;
  return layout(title, body);
}

/** Page that sends the buyer to another origin, to which a form must not redirect. */
export function returnPage({ merchant, returnUrl }: Charge): Html {
  const body = html`<section class="panel">
    <h1>Taking you back</h1>
    <p class="lead">You are on your way back to ${merchant}.</p>
    <p><a class="button" href="${returnUrl}">Go on to ${merchant}</a></p>
  </section>`;
  return layout('Taking you back', body, { refreshTo: returnUrl });
}

export function unknownPage(): Html {
  const body = html`<section class="panel">
    <h1>No such payment</h1>
    <p class="lead">The simulated provider has no payment at this address. Go back to the merchant and start again.</p>
  </section>`;
  return layout('No such payment', body);
}

/** Page that lists all test outcomes, for the developers of the merchant. */
export function instrumentsPage(): Html {
  const body = html`<section class="panel">
    <h1>Test outcomes</h1>
    <p class="lead">
      Payments in the sandbox go through this simulated provider. On the card form the number decides how a payment
      ends; on the wallet and bank pages the outcome is chosen by name. Any expiry date to come, security code and name
      will do.
    </p>
    <ul class="catalogue">
      ${INSTRUMENTS.map(({ label, outcome, cardNumber }) =>
        catalogueItem(html`<h2>${label}</h2>`, spacedCard(cardNumber), outcome),
      )}
    </ul>
    <h2>Before the buyer gets here</h2>
    <p class="lead">
      Whether the provider takes a payment at all is decided by a tag in the buyer's email address when the session is
      created. A tag with the id of a route behind a full stop applies to that route only:
      <code>buyer+handoff_down.sandbox_card_acquirer<wbr />@example.com</code>.
    </p>
    <ul class="catalogue">
      ${HANDOFF_TAGS.map(({ tag, label, outcome }) =>
        catalogueItem(html`<h3>${label}</h3>`, html`buyer+${tag}<wbr />@example.com`, outcome),
      )}
    </ul>
    <h2>Refunds</h2>
    <p class="lead">
      The cents of its amount decide the outcome of a refund. With all other cents, a refund succeeds at once.
    </p>
    <ul class="catalogue">
      ${REFUND_SCRIPTS.map(({ cents, outcome }) => catalogueItem(undefined, `x.0${cents}`, outcome))}
    </ul>
  </section>`;
  return layout('Test outcomes', body, { wide: true });
}

function catalogueItem(heading: Html | undefined, digits: string | Html, outcome: string): Html {
  return html`<li>
    ${heading}
    <p class="digits">${digits}</p>
    <p>${outcome}</p>
  </li>`;
}

interface Choice {
  /** Id of the preselected outcome. */
  chosen: string;
  problem: string | undefined;
}

/** Form of the wallet and bank pages, on which the buyer chooses a test outcome. */
function outcomeForm({ kind }: Charge, { chosen, problem }: Choice): Html {
  const [title, text, button] = METHODS[kind];
  return html`<h1>${title}</h1>
    <p class="lead">${text}</p>
    <form method="post">
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
