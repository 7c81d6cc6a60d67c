import type { Payment, Session } from '../domain/records.ts';
import { type Html, html } from '../html/html.ts';
import type { Shop } from './layout.ts';
import { formatUsd } from './money-text.ts';
import { heading, lede, returnPart } from './parts.ts';
import type { CheckoutState } from './state.ts';
import { renderSummary, renderSums } from './summary.ts';

type Paid = Extract<CheckoutState, { name: 'paid' }>;
type Failed = Extract<CheckoutState, { name: 'failed' }>;

/** The receipt. */
export function renderPaid(shop: Shop, session: Session, { payment, way, surplus }: Paid): Html {
  const refunded = payment.ledgerStatus === 'refunded';
  const total = formatUsd(payment.fees.total);
  const merchant = html`<bdi>${shop.merchant}</bdi>`;
  return html`<div class="narrow panel">
    ${heading(refunded ? 'Payment refunded' : 'Payment received', { icon: 'check', mood: 'good' })}
    ${lede(refunded ? html`${total} is on its way back to you from ${merchant}.` : html`Thank you. You paid ${total} to ${merchant}.`)}
    ${surplus.map(renderSurplus)}
    <dl class="sums">
      <div>
        <dt class="product" dir="auto">${session.product}</dt>
        <dd>${formatUsd(session.amount)}</dd>
      </div>
      ${renderSums(payment.fees)}
    </dl>
    <dl class="facts">
      <div>
        <dt>Paid by</dt>
        <dd><bdi class="email">${session.customerEmail}</bdi></dd>
      </div>
      <div>
        <dt>Paid with</dt>
        <dd><bdi>${way}</bdi></dd>
      </div>
      <div>
        <dt>Reference</dt>
        <dd class="reference">${payment.id}</dd>
      </div>
    </dl>
    ${returnPart(shop, session, !refunded && surplus.length === 0)}
  </div>`;
}

export function renderFailed(shop: Shop, session: Session, { certain }: Failed): Html {
  const text = certain
    ? 'You have not been charged.'
    : 'We have not received any money. If you had approved a payment and it still arrives, it counts: this page then shows it.';
  return renderEnd(shop, session, heading('The payment was not completed', { icon: 'stop', mood: 'bad' }), lede(text));
}

export function renderExpired(shop: Shop, session: Session): Html {
  const text = html`You have not been charged. To buy this, start again at <bdi>${shop.merchant}</bdi>.`;
  return renderEnd(shop, session, heading('This checkout has expired', { icon: 'clock', mood: 'bad' }), lede(text));
}

function renderEnd(shop: Shop, session: Session, title: Html, text: Html): Html {
  return html`<div class="columns">
    ${renderSummary(session, null)}
    <section class="panel" aria-labelledby="heading">${title} ${text} ${returnPart(shop, session, true)}</section>
  </div>`;
}

/** A second real payment of the same order is nobody's to keep. */
function renderSurplus({ fees, ledgerStatus }: Payment): Html {
  const total = formatUsd(fees.total);
  const text =
    ledgerStatus === 'refunded'
      ? `A second payment of ${total} arrived too. It has been refunded in full.`
      : `A second payment of ${total} arrived too. It is being refunded in full; you need not do anything.`;
  return html`<p class="notice calm"><span>${text}</span></p>`;
}
