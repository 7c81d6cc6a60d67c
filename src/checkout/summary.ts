import type { FeeSplit } from '../domain/fees.ts';
import type { Session } from '../domain/records.ts';
import type { RouteKind } from '../domain/route.ts';
import { type Html, html } from '../html/html.ts';
import { icon } from './icons.ts';
import { formatUsd } from './money-text.ts';
import type { Method } from './checkout-page-state.ts';

/** Product, price and buyer. */
function renderSummary(session: Session, rows: Html | null): Html {
  return html`<section class="summary" aria-label="Order summary">
    <dl class="sums">${renderProduct(session)} ${rows}</dl>
    <p class="small">For <bdi class="email">${session.customerEmail}</bdi></p>
    ${
      rows !== null &&
      html`<p class="small trust">
        ${icon('lock')}<span>You pay on the page of a payment provider. This page never asks for card numbers.</span>
      </p>`
    }
  </section>`;
}

/** Page with the order summary beside its content. `rows` is null if the buyer cannot pay. */
export function renderColumns(session: Session, rows: Html | null, content: Html): Html {
  return html`<div class="columns">
    ${renderSummary(session, rows)}
    <section class="panel" aria-labelledby="heading">${content}</section>
  </div>`;
}

export function renderProduct({ product, amount }: Session): Html {
  return html`<div>
    <dt class="product" dir="auto">${product}</dt>
    <dd>${formatUsd(amount)}</dd>
  </div>`;
}

/** Fee and total of one payment. */
export function renderSums(fees: FeeSplit): Html {
  return html`${renderFee(fees)}${renderTotal(formatUsd(fees.total))}`;
}

/** Fee and total of every payment method. The style sheet shows those of the chosen method, without a script. */
export function renderSumsOfMethods(methods: readonly Method[]): Html {
  const fees = methods.map(({ kind, fees: split }) => renderFee(split, `for-${kind}`));
  const totals = methods.map(({ kind, fees: { total } }) => html`<span class="for-${kind}">${formatUsd(total)}</span>`);
  return html`${fees} ${renderTotal(html`<span class="for-any">see below</span>${totals}`)}`;
}

/** Row with the fee; null if the buyer pays none. */
function renderFee({ buyerFee }: FeeSplit, shownFor?: `for-${RouteKind}`): Html | null {
  if (buyerFee === 0) return null;
  return html`<div ${shownFor && html`class="${shownFor}"`}>
    <dt>Payment fee</dt>
    <dd>${formatUsd(buyerFee)}</dd>
  </div>`;
}

function renderTotal(total: Html | string): Html {
  return html`<div class="total">
    <dt>Total <span class="currency">USD</span></dt>
    <dd>${total}</dd>
  </div>`;
}
