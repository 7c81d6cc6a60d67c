import type { Session } from '../domain/records.ts';
import { type Html, html } from '../html/html.ts';
import type { Shop } from './layout.ts';
import { formatUsd } from './money-text.ts';
import type { Notice } from './notices.ts';
import { heading, lede, renderNotice, stepForm } from './parts.ts';
import type { Attempt, CheckoutState } from './state.ts';
import { renderSummary, renderSums } from './summary.ts';

type UnderWay = Extract<CheckoutState, { name: 'waiting' | 'confirming' }>;

const REFRESH_SECONDS = 15;

/** A payment is at its provider: the page waits for its word. */
export function renderAttempt(shop: Shop, session: Session, state: UnderWay, notice: Notice | null): Html {
  const { attempt } = state;
  const provider = html`<bdi>${attempt.provider}</bdi>`;
  const usually = attempt.eta !== null && html` This usually takes ${attempt.eta}.`;
  const opening =
    state.name === 'waiting'
      ? html`${heading('Waiting for your payment', { icon: 'clock', mood: 'calm' })}
        ${lede(html`Finish paying at ${provider}. Already done? Then stay here.${usually}`)}`
      : html`${heading('We are confirming with the provider', { icon: 'clock', mood: 'calm' })}
        ${lede(html`${provider} has not confirmed this payment yet. There is nothing you need to do.${usually}`)}`;
  return html`<div class="columns">
    ${renderSummary(session, renderSums(attempt.payment.fees))}
    <section class="panel" aria-labelledby="heading">
      ${renderNotice(notice)} ${opening} ${renderLiveLine(shop, session)}
      ${state.name === 'waiting' && html`<p><a class="button" href="${state.url}" rel="noreferrer">Continue at ${provider}</a></p>`}
      ${renderWaysOut(shop, session, attempt)}
    </section>
  </div>`;
}

/** For browsers without a script. */
export function refreshHead(): Html {
  return html`<noscript><meta http-equiv="refresh" content="${REFRESH_SECONDS}" /></noscript>`;
}

/** Sends the browser on to the provider: a page of ours, since `form-action` holds for redirects after a form too. */
export function renderContinue(attempt: Attempt, url: string): Html {
  return html`<div class="narrow panel">
    ${heading(html`Taking you to <bdi>${attempt.provider}</bdi>`)}
    ${lede(`You pay ${formatUsd(attempt.payment.fees.total)} there and come back here afterwards.`)}
    <p>
      <a class="button" href="${url}" rel="noreferrer">Continue to <bdi>${attempt.provider}</bdi></a>
    </p>
  </div>`;
}

export function continueHead(url: string): Html {
  return html`<meta http-equiv="refresh" content="0;url=${url}" />`;
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
