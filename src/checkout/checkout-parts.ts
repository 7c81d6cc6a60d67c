import { redirectFault } from '../contract/redirect-url.ts';
import type { FeeSplit } from '../domain/fees.ts';
import { formatUsd } from '../domain/money.ts';
import type { Session } from '../domain/records.ts';
import type { RouteKind } from '../domain/route.ts';
import { Html, html } from '../html/html.ts';
import type { PageStep, Shop } from './checkout-layout.ts';
import type { MethodOption } from './checkout-page-state.ts';
import { destinationOf, returnUrl } from './return-url.ts';

/** Messages about the step that led to a page, by the code in `?notice=`. */
const NOTICES = {
  no_route: 'This way to pay is not available any more. You have not been charged: please choose another one.',
  fee_changed: 'The fee has changed since you opened this page. You have not been charged: please check the new total.',
  refused: 'The payment could not be started. You have not been charged.',
  closed: 'This checkout takes no further payment. You have not been charged.',
  not_stopped: 'This payment cannot be stopped right now. Please try again in a moment.',
  kept_open: 'Nothing was charged. You can still pay here, or simply close this page.',
} as const;

export type Notice = keyof typeof NOTICES;

/** The notice of a code; null for an unknown code. */
export function readNotice(code: unknown): Notice | null {
  return typeof code === 'string' && Object.hasOwn(NOTICES, code) ? (code as Notice) : null;
}

// Icons on a 24 by 24 grid, in the colour of the text. Each icon has a text next to it, so screen readers skip the icon.
const DRAWINGS = {
  card: '<rect x="3" y="5.5" width="18" height="13" rx="2.5"/><path d="M3 10h18M6.5 14.5h4"/>',
  wallet:
    '<path d="M17.5 8V5H6a2.5 2.5 0 0 0-2.5 2.5A.5.5 0 0 0 4 8M3.5 7.5V17A2.5 2.5 0 0 0 6 19.5h14.5V8H4"/><path d="M16.5 13.75h.01"/>',
  local: '<path d="M3.5 10 12 4.5l8.5 5.5zM5 19.5h14M7 10v6.5M12 10v6.5M17 10v6.5"/>',
  check: '<path d="m6 12.5 4 4 8-9"/>',
  clock: '<circle cx="12" cy="12" r="8"/><path d="M12 7.5V12l3 2"/>',
  stop: '<path d="M12 5.5v8.5M12 18.5h.01"/>',
  lock: '<rect x="5.5" y="10.5" width="13" height="9" rx="2"/><path d="M8.5 10.5V8a3.5 3.5 0 0 1 7 0v2.5"/>',
} as const satisfies Record<RouteKind | 'check' | 'clock' | 'stop' | 'lock', string>;

type IconName = keyof typeof DRAWINGS;

export function icon(name: IconName): Html {
  return new Html(`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">${DRAWINGS[name]}</svg>`);
}

/** A large icon over a heading. */
function sign(name: IconName, mood: 'good' | 'calm' | 'bad'): Html {
  return new Html(`<span class="sign ${mood}">${icon(name).markup}</span>`);
}

/** Delay before the script takes the buyer back to the merchant. */
const RETURN_AFTER_SECONDS = 5;

/** The only heading of a page; the script moves the focus here when the page changes. */
export function heading(text: Html | string, top?: { icon: IconName; mood: 'good' | 'calm' | 'bad' }): Html {
  return html`${top && sign(top.icon, top.mood)}
    <h1 id="heading" tabindex="-1">${text}</h1>`;
}

/** The sentence under the heading, which screen readers announce together with the heading. */
export function introduction(text: Html | string): Html {
  return html`<p class="lede" data-lede>${text}</p>`;
}

export function renderNotice(notice: Notice | null): Html | null {
  if (notice === null) return null;
  return html`<p class="notice" id="notice" tabindex="-1">${icon('stop')}<span>${NOTICES[notice]}</span></p>`;
}

/** Form with one button for a step of the buyer, such as `cancel`. It sends the number of the shown attempt. */
export function stepForm(shop: Shop, session: Session, step: PageStep, label: string): Html {
  return html`<form method="post" action="${shop.paths.step(session.id, step)}">
    <input type="hidden" name="attempt" value="${session.attempts}" />
    <button class="quiet">${label}</button>
  </form>`;
}

/** Button that cancels the checkout. It asks first, because a cancelled checkout takes no payment any more. */
export function cancelForm(shop: Shop, session: Session): Html {
  return html`<details>
    <summary class="center">Cancel this payment</summary>
    <p class="small center">
      This closes the checkout. To buy this later, order it again at <bdi>${shop.merchant}</bdi>.
    </p>
    ${stepForm(shop, session, 'cancel', 'Cancel and close')}
  </details>`;
}

/** Link back to the merchant before a payment was started; the session does not change. */
export function leaveLink(shop: Shop, session: Session): Html | null {
  const redirectUrl = linkableUrl(shop, session);
  if (redirectUrl === null) return null;
  const href = returnUrl(redirectUrl, session.id, session.status);
  return html`<p class="leave">
    <a class="plain" href="${href}" rel="noreferrer">Cancel and return to <bdi>${shop.merchant}</bdi></a>
  </p>`;
}

/** Link back to the merchant from a final state. With `automatic`, the script follows it after a countdown that the buyer can stop. */
export function returnPart(shop: Shop, session: Session, automatic: boolean): Html {
  const redirectUrl = linkableUrl(shop, session);
  if (redirectUrl === null) return html`<p class="small">You can close this page now.</p>`;
  const href = returnUrl(redirectUrl, session.id, session.status);
  const destination = destinationOf(redirectUrl);
  return html`<p>
      <a class="button" data-return-link href="${href}" rel="noreferrer">Return to <bdi>${shop.merchant}</bdi></a>
    </p>
    <p class="small center destination">Leads to <bdi>${destination}</bdi></p>
    ${automatic && renderReturning(destination)}`;
}

/** The redirectUrl; null if there is none, or if its scheme is no longer allowed by the settings. */
export function linkableUrl({ redirectSchemes }: Shop, { redirectUrl }: Session): string | null {
  return redirectUrl !== null && redirectFault(redirectUrl, redirectSchemes) === undefined ? redirectUrl : null;
}

function renderReturning(destination: string): Html {
  return html`<div class="returning" data-return="${RETURN_AFTER_SECONDS}" hidden>
    <p>Taking you to <bdi>${destination}</bdi> in <span data-seconds>${RETURN_AFTER_SECONDS}</span> seconds.</p>
    <button type="button" class="plain">Stay on this page</button>
  </div>`;
}

function renderSummary(session: Session, rows: Html | null): Html {
  return html`<section class="summary" aria-label="Order summary">
    <dl class="sums">${renderProduct(session)} ${rows}</dl>
    <p class="small">For <bdi class="email">${session.customerEmail}</bdi></p>
    ${
      rows !== null &&
      html`<p class="small trust">
        ${icon('lock')}<span>This page never asks for card numbers, passwords or the keys of a wallet.</span>
      </p>`
    }
  </section>`;
}

/** Page with the order summary next to its content. `rows` are the fee and the total; null if the buyer cannot pay. */
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

export function renderSums(fees: FeeSplit): Html {
  return html`${renderFee(fees)}${renderTotal(formatUsd(fees.total))}`;
}

/** Fee and total of every payment method. The style sheet shows only the rows of the chosen method, without a script. */
export function renderSumsOfMethods(methods: readonly MethodOption[]): Html {
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
