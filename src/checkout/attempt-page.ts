import type { Session } from '../domain/records.ts';
import { type Html, html } from '../html/html.ts';
import type { Shop } from './checkout-layout.ts';
import { formatUsd } from './money-text.ts';
import type { Notice } from './notices.ts';
import { heading, introduction, renderNotice, stepForm } from './checkout-parts.ts';
import type { Attempt, CheckoutState } from './checkout-page-state.ts';
import { renderColumns, renderSums } from './summary.ts';

type InProgress = Extract<CheckoutState, { name: 'waiting' | 'confirming' }>;

const REFRESH_SECONDS = 15;

/** The page of a payment in progress, which waits for the provider's report. */
export function renderAttempt(shop: Shop, session: Session, state: InProgress, notice: Notice | null): Html {
  const { attempt } = state;
  const provider = html`<bdi>${attempt.provider}</bdi>`;
  const usually = attempt.eta !== null && html` This usually takes ${attempt.eta}.`;
  const opening =
    state.name === 'waiting'
      ? html`${heading('Waiting for your payment', { icon: 'clock', mood: 'calm' })}
        ${introduction(html`Finish paying at ${provider}. Already done? Then stay here.${usually}`)}`
      : html`${heading('We are confirming with the provider', { icon: 'clock', mood: 'calm' })}
        ${introduction(html`${provider} has not confirmed this payment yet. There is nothing you need to do.${usually}`)}`;
  const content = html`${renderNotice(notice)} ${opening} ${renderLiveLine(shop, session)}
  ${state.name === 'waiting' && html`<p><a class="button" href="${state.url}" rel="noreferrer">Continue at ${provider}</a></p>`}
  ${renderWaysOut(shop, session, attempt)}`;
  return renderColumns(session, renderSums(attempt.payment.fees), content);
}

/** Reloads the page in browsers without JavaScript. */
export const REFRESH_HEAD = html`<noscript><meta http-equiv="refresh" content="${REFRESH_SECONDS}" /></noscript>`;

/** Redirects to the provider from a page, because `form-action` also restricts redirects after a form. */
export function renderContinue(attempt: Attempt, url: string): Html {
  return html`<div class="narrow panel">
    ${heading(html`Taking you to <bdi>${attempt.provider}</bdi>`)}
    ${introduction(`You pay ${formatUsd(attempt.payment.fees.total)} there and come back here afterwards.`)}
    <p>
      <a class="button" href="${url}" rel="noreferrer">Continue to <bdi>${attempt.provider}</bdi></a>
    </p>
  </div>`;
}

function renderLiveLine(shop: Shop, session: Session): Html {
  return html`<p class="live">
    <span class="pulse" aria-hidden="true"></span>
    <span data-live>Not confirmed yet.</span>
    <a data-again href="${shop.paths.checkout(session.id)}">Check again</a>
  </p>`;
}

function renderWaysOut(shop: Shop, session: Session, attempt: Attempt): Html {
  const other = stepForm(shop, session, 'switch', 'Choose another way to pay', 'quiet');
  return html`<div class="ways-out">
    ${attempt.canSwitch && other} ${stepForm(shop, session, 'cancel', 'Cancel this payment', 'plain')}
  </div>`;
}
