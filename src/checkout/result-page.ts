import type { WrongMoney } from '../domain/discrepancy.ts';
import { type Cents, formatUsd } from '../domain/money.ts';
import type { Session } from '../domain/records.ts';
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

export function renderPaid(shop: Shop, session: Session, { payment, method, surplus, excess, wrongMoney }: Paid): Html {
  const refunded = payment.ledgerStatus === 'refunded';
  const total = formatUsd(payment.fees.total);
  const merchant = html`<bdi>${shop.merchant}</bdi>`;
  return html`<div class="narrow panel">
    ${heading(refunded ? 'Payment refunded' : 'Payment received', { icon: 'check', mood: 'good' })}
    ${introduction(refunded ? html`${total} is on its way back to you from ${merchant}.` : html`Thank you. You paid ${total} to ${merchant}.`)}
    ${surplus.map((one) => renderSurplus(one, merchant))} ${excess > 0 && renderExcess(excess, merchant)}
    ${wrongMoney !== null && renderWrongMoney(wrongMoney, merchant)}
    <dl class="sums">${renderProduct(session)} ${renderSums(payment.fees)}</dl>
    <dl class="facts">
      ${fact('Paid by', html`<bdi class="email">${session.customerEmail}</bdi>`)}
      ${fact('Paid with', html`<bdi>${method}</bdi>`)} ${fact('Reference', payment.id, true)}
    </dl>
    ${returnPart(shop, session, !refunded && surplus.length === 0 && excess === 0 && wrongMoney === null)}
  </div>`;
}

export function renderFailed(shop: Shop, session: Session, { certain, wrongMoney }: Failed): Html {
  const merchant = html`<bdi>${shop.merchant}</bdi>`;
  return renderEnd(shop, session, {
    title: heading('The payment was not completed', { icon: 'stop', mood: 'bad' }),
    text: textOfFailed({ certain, wrongMoney }, merchant),
    next: certain
      ? html`This checkout is closed. To buy this, order it again at ${merchant}.`
      : html`This checkout is closed. Before you order it again at ${merchant}, check here once more.`,
    mayStillBePaid: !certain,
  });
}

function textOfFailed({ certain, wrongMoney }: Omit<Failed, 'name'>, merchant: Html): Html | string {
  if (wrongMoney === 'held') return html`A different amount has arrived. Ask ${merchant} about it.`;
  if (wrongMoney === 'refunded') return html`A different amount arrived, and ${merchant} has refunded it.`;
  if (certain) return 'You have not been charged.';
  return 'We have not received any money. If you had approved a payment and it still arrives, it counts: this page then shows it.';
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
  text: Html | string;
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

/** Notice about a second real payment of the same order, which is always refunded, but not always by the provider. */
function renderSurplus({ payment: { fees, ledgerStatus }, isManual }: Paid['surplus'][number], merchant: Html): Html {
  const refund = isManual
    ? html`Ask ${merchant} to send it back: this does not happen automatically.`
    : 'It is being refunded in full; you need not do anything.';
  return notice(
    html`A second payment of ${formatUsd(fees.total)} arrived too.
    ${ledgerStatus === 'refunded' ? 'It has been refunded in full.' : refund}`,
  );
}

/** Notice about money above the total, about which the merchant decides. */
function renderExcess(excess: Cents, merchant: Html): Html {
  return notice(html`${formatUsd(excess)} more than the total arrived. Ask ${merchant} to send it back.`);
}

/** Notice about a wrong amount that arrived for an earlier or a later payment of the same order. */
function renderWrongMoney(wrongMoney: WrongMoney, merchant: Html): Html {
  const next = wrongMoney === 'held' ? html`Ask ${merchant} to send it back.` : html`${merchant} has refunded it.`;
  return notice(html`Another payment arrived with a different amount. ${next}`);
}

function notice(text: Html): Html {
  return html`<p class="notice calm"><span>${text}</span></p>`;
}
