import { formatUsd } from '../domain/money.ts';
import type { Payment, Session } from '../domain/records.ts';
import { type Html, html } from '../html/html.ts';
import type { Shop } from './checkout-layout.ts';
import {
  heading,
  introduction,
  linkableUrl,
  renderColumns,
  renderProduct,
  renderSums,
  returnPart,
} from './checkout-parts.ts';
import type { CheckoutState } from './checkout-page-state.ts';

type Paid = Extract<CheckoutState, { name: 'paid' }>;
type Failed = Extract<CheckoutState, { name: 'failed' }>;

export function renderPaid(shop: Shop, session: Session, { payment, method, surplus }: Paid): Html {
  const refunded = payment.ledgerStatus === 'refunded';
  const total = formatUsd(payment.fees.total);
  const merchant = html`<bdi>${shop.merchant}</bdi>`;
  return html`<div class="narrow panel">
    ${heading(refunded ? 'Payment refunded' : 'Payment received', { icon: 'check', mood: 'good' })}
    ${introduction(refunded ? html`${total} is on its way back to you from ${merchant}.` : html`Thank you. You paid ${total} to ${merchant}.`)}
    ${surplus.map(renderSurplus)}
    <dl class="sums">${renderProduct(session)} ${renderSums(payment.fees)}</dl>
    <dl class="facts">
      ${fact('Paid by', html`<bdi class="email">${session.customerEmail}</bdi>`)}
      ${fact('Paid with', html`<bdi>${method}</bdi>`)} ${fact('Reference', payment.id, true)}
    </dl>
    ${returnPart(shop, session, !refunded && surplus.length === 0)}
  </div>`;
}

export function renderFailed(shop: Shop, session: Session, { certain }: Failed): Html {
  const merchant = html`<bdi>${shop.merchant}</bdi>`;
  return renderEnd(shop, session, {
    title: heading('The payment was not completed', { icon: 'stop', mood: 'bad' }),
    text: certain
      ? 'You have not been charged.'
      : 'We have not received any money. If you had approved a payment and it still arrives, it counts: this page then shows it.',
    next: certain
      ? html`This checkout is closed. To buy this, order it again at ${merchant}.`
      : html`This checkout is closed. Before you order it again at ${merchant}, check here once more.`,
    mayStillBePaid: !certain,
  });
}

export function renderExpired(shop: Shop, session: Session): Html {
  return renderEnd(shop, session, {
    title: heading('This checkout has expired', { icon: 'clock', mood: 'bad' }),
    text: 'You have not been charged.',
    next: html`To buy this, order it again at <bdi>${shop.merchant}</bdi>.`,
    mayStillBePaid: false,
  });
}

interface Ending {
  title: Html;
  text: string;
  next: Html;
  mayStillBePaid: boolean;
}

function renderEnd(shop: Shop, session: Session, { title, text, next, mayStillBePaid }: Ending): Html {
  const again = html`<p><a class="button" href="${shop.paths.checkout(session.id)}">Check again</a></p>`;
  const isLinked = linkableUrl(shop, session) !== null;
  const nextStep = isLinked
    ? returnPart(shop, session, true)
    : html`${mayStillBePaid && again} ${renderContact(shop, session)}`;
  return renderColumns(
    session,
    null,
    html`${title} ${introduction(text)}
      <p>${next}</p>
      ${nextStep}`,
  );
}

/** References by which the merchant finds the order, for a buyer without a link back to the merchant. */
function renderContact({ merchant }: Shop, { id, clientReferenceId }: Session): Html {
  return html`<p>If you have a question, contact <bdi>${merchant}</bdi> and give this reference:</p>
    <dl class="facts">
      ${clientReferenceId !== null && fact('Order', html`<bdi>${clientReferenceId}</bdi>`, true)}
      ${fact('Checkout', id, true)}
    </dl>`;
}

function fact(term: string, detail: Html | string, isReference = false): Html {
  return html`<div>
    <dt>${term}</dt>
    <dd ${isReference && html`class="reference"`}>${detail}</dd>
  </div>`;
}

/** Notice about a second real payment of the same order, which is always refunded. */
function renderSurplus({ fees, ledgerStatus }: Payment): Html {
  const total = formatUsd(fees.total);
  const text =
    ledgerStatus === 'refunded'
      ? `A second payment of ${total} arrived too. It has been refunded in full.`
      : `A second payment of ${total} arrived too. It is being refunded in full; you need not do anything.`;
  return html`<p class="notice calm"><span>${text}</span></p>`;
}
