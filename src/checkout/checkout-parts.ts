import { redirectFault } from '../contract/redirect-url.ts';
import type { Session } from '../domain/records.ts';
import { type Html, html } from '../html/html.ts';
import { type IconName, icon, sign } from './icons.ts';
import type { Shop } from './checkout-layout.ts';
import { NOTICES, type Notice } from './notices.ts';
import type { Step } from './checkout-paths.ts';
import { destinationOf, returnUrl } from './return-url.ts';

/** Delay before the script takes the buyer back to the merchant. */
const RETURN_AFTER_SECONDS = 5;

/** The one heading of a page; the script moves the focus here when the page changes. */
export function heading(text: Html | string, top?: { icon: IconName; mood: 'good' | 'calm' | 'bad' }): Html {
  return html`${top && sign(top.icon, top.mood)}
    <h1 id="heading" tabindex="-1">${text}</h1>`;
}

/** The sentence under the heading, which is announced along with it. */
export function introduction(text: Html | string): Html {
  return html`<p class="lede" data-lede>${text}</p>`;
}

export function renderNotice(notice: Notice | null): Html | null {
  if (notice === null) return null;
  return html`<p class="notice" id="notice" tabindex="-1">${icon('stop')}<span>${NOTICES[notice]}</span></p>`;
}

export function stepForm(shop: Shop, session: Session, step: Step, label: string, look: 'quiet' | 'plain'): Html {
  return html`<form method="post" action="${shop.paths.step(session.id, step)}">
    <input type="hidden" name="attempt" value="${session.attempts}" />
    <button class="${look}">${label}</button>
  </form>`;
}

/** Link back to the merchant before anything was started; the session does not change. */
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

/** The redirectUrl; null if there is none, or if the current settings reject its scheme, which earlier ones may have allowed. */
export function linkableUrl({ redirectSchemes }: Shop, { redirectUrl }: Session): string | null {
  return redirectUrl !== null && redirectFault(redirectUrl, redirectSchemes) === undefined ? redirectUrl : null;
}

function renderReturning(destination: string): Html {
  return html`<div class="returning" data-return="${RETURN_AFTER_SECONDS}" hidden>
    <p>Taking you to <bdi>${destination}</bdi> in <span data-seconds>${RETURN_AFTER_SECONDS}</span> seconds.</p>
    <button type="button" class="plain">Stay on this page</button>
  </div>`;
}
