import { type Html, html } from '../html/html.ts';
import { type CardForm, emptyCardForm } from './card-form.ts';
import { cardForm, testNumbers } from './card-page.ts';
import { type Choice, bankForm, walletForm } from './choice-page.ts';
import { HANDOFF_TAGS, INSTRUMENTS, spacedCard } from './test-instruments.ts';
import { REFUND_SCRIPTS } from './simulated-refunds.ts';
import { layout, receipt } from './simulator-layout.ts';
import type { Charge } from './simulator-store.ts';

/** The form fields that the buyer has filled in. */
export interface PayPageInput {
  card?: CardForm;
  choice?: Choice;
}

const CHOICE: Choice = { chosen: 'paid', problem: undefined };

const TITLES: Record<Charge['kind'], string> = {
  card: 'Pay by test card',
  wallet: 'Approve in your test wallet',
  local: 'Send a test bank transfer',
};

/** The page of a charge that waits for its buyer. */
export function payPage(charge: Charge, { card = emptyCardForm(), choice = CHOICE }: PayPageInput): Html {
  const faulty = choice.problem !== undefined || Object.keys(card.problems).length > 0;
  const body = html`<div class="columns">
    ${receipt(charge)}
    <section class="panel">
      ${formOf(charge, card, choice)}
      <form class="leave" method="post" action="/simulator/pay/${charge.reference}/cancel">
        <button class="button quiet" type="submit">Cancel and go back to ${charge.merchant}</button>
      </form>
      ${charge.kind === 'card' && testNumbers(card)}
    </section>
  </div>`;
  return layout({ title: `${faulty ? 'Error: ' : ''}${TITLES[charge.kind]}`, body, wide: true });
}

function formOf(charge: Charge, card: CardForm, choice: Choice): Html {
  if (charge.kind === 'card') return cardForm(charge, card);
  return charge.kind === 'wallet' ? walletForm(charge, choice) : bankForm(charge, choice);
}

const CLOSED: Record<Exclude<Charge['status'], 'open'>, [title: string, text: string]> = {
  pending: ['Payment in progress', 'The simulated provider has this payment and is working on it.'],
  paid: ['Payment made', 'This test payment is captured. No money has moved.'],
  failed: ['Payment declined', 'This test payment was declined. You can try again at the merchant.'],
  cancelled: ['Payment cancelled', 'This test payment was cancelled, and nothing was paid.'],
  refunded: ['Payment refunded', 'This test payment was captured and has been given back.'],
};

/** The page of a charge that no longer waits for its buyer. */
export function closedPage({ status, merchant, returnUrl }: Charge): Html {
  const [title, text] = CLOSED[status === 'open' ? 'pending' : status];
  const body = html`<section class="panel">
    <h1>${title}</h1>
    <p class="lead">${text}</p>
    <p><a class="button" href="${returnUrl}">Back to ${merchant}</a></p>
  </section>`;
  return layout({ title, body });
}

/** Sends the buyer to another origin, to which a form must not redirect. */
export function returnPage({ merchant, returnUrl }: Charge): Html {
  const body = html`<section class="panel">
    <h1>Taking you back</h1>
    <p class="lead">You are on your way back to ${merchant}.</p>
    <p><a class="button" href="${returnUrl}">Go on to ${merchant}</a></p>
  </section>`;
  return layout({ title: 'Taking you back', body, refreshTo: returnUrl });
}

export function unknownPage(): Html {
  const body = html`<section class="panel">
    <h1>No such payment</h1>
    <p class="lead">The simulated provider has no payment at this address. Go back to the merchant and start again.</p>
  </section>`;
  return layout({ title: 'No such payment', body });
}

/** The list of test outcomes, for the merchant's developer. */
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
      created.
    </p>
    <ul class="catalogue">
      ${HANDOFF_TAGS.map(({ tag, label, outcome }) =>
        catalogueItem(html`<h3>${label}</h3>`, html`buyer+${tag}<wbr />@example.com`, outcome),
      )}
    </ul>
    <h2>Refunds</h2>
    <p class="lead">The cents of a refund decide what comes of it; with all others it succeeds at once.</p>
    <ul class="catalogue">
      ${REFUND_SCRIPTS.map(({ cents, outcome }) => catalogueItem(undefined, `x.0${cents}`, outcome))}
    </ul>
  </section>`;
  return layout({ title: 'Test outcomes', body, wide: true });
}

function catalogueItem(heading: Html | undefined, digits: string | Html, outcome: string): Html {
  return html`<li>
    ${heading}
    <p class="digits">${digits}</p>
    <p>${outcome}</p>
  </li>`;
}
