import { formatUsd } from '../domain/money.ts';
import type { Session } from '../domain/records.ts';
import { type Html, html } from '../html/html.ts';
import type { Shop } from './checkout-layout.ts';
import {
  type Notice,
  cancelForm,
  heading,
  icon,
  introduction,
  leaveLink,
  renderColumns,
  renderNotice,
  renderSums,
  renderSumsOfMethods,
  stepForm,
} from './checkout-parts.ts';
import type { CurrentAttempt, CheckoutState, FailedAttempt, MethodOption } from './checkout-page-state.ts';

type Choose = Extract<CheckoutState, { name: 'choose' }>;
type NoMethod = Extract<CheckoutState, { name: 'no_method' }>;
type NotTaken = Extract<CheckoutState, { name: 'not_taken' }>;

const NOT_CHARGED = 'You have not been charged.';
const SETBACKS: Record<FailedAttempt['reason'], { title: string; text: string }> = {
  declined: { title: 'That payment did not go through', text: NOT_CHARGED },
  handoff_refused: { title: 'Try again or pay another way', text: NOT_CHARGED },
  // The buyer may have approved the payment at the last moment. The money then counts, and the order is paid.
  abandoned: {
    title: 'Choose another way to pay',
    text: 'We have stopped the earlier payment. If you had approved it already, wait a moment before you pay again.',
  },
  timed_out: { title: 'That payment was not confirmed in time', text: 'We have not received any money.' },
  amount_mismatch: {
    title: 'A different amount has arrived',
    text: 'Ask the merchant about it before you pay again.',
  },
  superseded: { title: 'Choose how to pay', text: '' },
};

/** The payment methods, one of them preselected, and one button. */
export function renderChoose(shop: Shop, session: Session, state: Choose, notice: Notice | null): Html {
  const { methods, setback } = state;
  const content = html`${renderNotice(notice)} ${renderOpening(setback)}
    <form method="post" action="${shop.paths.step(session.id, 'pay')}">
      <fieldset>
        <legend class="${setback ? 'legend' : 'unseen'}">Ways to pay</legend>
        ${methods.map((method, index) => renderMethod(method, index === 0))}
      </fieldset>
      <button class="button">
        <span class="for-any">Continue to pay</span>
        ${methods.map(({ kind, fees }) => html`<span class="for-${kind}">Pay ${formatUsd(fees.total)}</span>`)}
      </button>
      <p class="small center">You confirm in the next step.</p>
    </form>
    ${leaveOrCancel(shop, session)}`;
  return renderColumns(session, renderSumsOfMethods(methods), content);
}

/** The page if no payment method is available. */
export function renderNoMethod(shop: Shop, session: Session, state: NoMethod, notice: Notice | null): Html {
  const before = state.setback && `${setbackText(state.setback)} `;
  const content = html`${renderNotice(notice)}
    ${heading('This payment cannot be taken right now', { icon: 'stop', mood: 'bad' })}
    ${introduction(html`${before}No way to pay is available for this order at the moment${!before && ', and you have not been charged'}.`)}
    <p>Please try again later, or ask <bdi>${shop.merchant}</bdi> for another way to pay.</p>
    ${state.reasons.length > 0 && html`<p class="small">Shown in test mode only: ${state.reasons.join('; ')}.</p>`}
    <p><a class="button" href="${shop.paths.checkout(session.id)}">Check again</a></p>
    ${leaveOrCancel(shop, session)}`;
  return renderColumns(session, null, content);
}

/** The page for a blocked or erased customer, from whom no payment is accepted. It gives no reason. */
export function renderNotTaken(shop: Shop, session: Session, { isUntouched }: NotTaken): Html {
  const content = html`${heading('This payment cannot be taken', { icon: 'stop', mood: 'bad' })}
    ${isUntouched && introduction('You have not been charged.')}
    <p>Please ask <bdi>${shop.merchant}</bdi> about this order.</p>
    ${leaveOrCancel(shop, session)}`;
  return renderColumns(session, null, content);
}

/** After an uncertain payment, no later failure proves that the buyer was not charged. */
function setbackText({ reason, certain }: FailedAttempt): string {
  const { text } = SETBACKS[reason];
  return text === NOT_CHARGED && !certain ? SETBACKS.abandoned.text : text;
}

function renderOpening(setback: FailedAttempt | null): Html {
  if (!setback) return heading('Choose how to pay');
  const { title } = SETBACKS[setback.reason];
  const { triesLeft, minutesLeft } = setback;
  const tries = triesLeft === 1 ? 'once more' : `${triesLeft} more times`;
  const minutes = minutesLeft === 1 ? 'minute' : `${minutesLeft} minutes`;
  return html`${heading(title)}
  ${introduction(`${setbackText(setback)} You can try ${tries} within the next ${minutes}.`)}`;
}

function renderMethod({ kind, label, eta, fees }: MethodOption, chosen: boolean): Html {
  const fee = fees.buyerFee === 0 ? 'no fee' : `${formatUsd(fees.buyerFee)} fee`;
  return html`<label class="way">
      <input type="radio" name="kind" id="way-${kind}" value="${kind}" required ${chosen && html`checked`} />
      ${icon(kind)}
      <span class="what"><span class="name" dir="auto">${label}</span> <span class="small">${eta}</span></span>
      <span class="cost"><span class="name">${formatUsd(fees.total)}</span> <span class="small">${fee}</span></span>
    </label>
    <input type="hidden" name="total_${kind}" value="${fees.total}" />`;
}

function leaveOrCancel(shop: Shop, session: Session): Html | null {
  return session.status === 'pending' ? cancelForm(shop, session) : leaveLink(shop, session);
}

type Processing = Extract<CheckoutState, { name: 'processing' }>;
type Mismatched = Extract<CheckoutState, { name: 'mismatched' }>;
type InProgress = Extract<CheckoutState, { name: 'waiting' | 'confirming' }>;

/** The page of a payment in progress, which waits for the provider's report. */
export function renderAttempt(shop: Shop, session: Session, state: InProgress, notice: Notice | null): Html {
  const { attempt } = state;
  const provider = html`<bdi>${attempt.provider}</bdi>`;
  const usually = attempt.eta !== null && html` This usually takes ${attempt.eta}.`;
  const opening =
    state.name === 'waiting'
      ? html`${heading('Waiting for your payment', { icon: 'clock', mood: 'calm' })}
        ${introduction(renderNextStep(attempt, provider, usually))}`
      : html`${heading('We are confirming with the provider', { icon: 'clock', mood: 'calm' })}
        ${introduction(html`${provider} has not confirmed this payment yet. There is nothing you need to do.${usually}`)}`;
  const content = html`${renderNotice(notice)} ${opening} ${renderLiveLine(shop, session)}
  ${state.name === 'waiting' && html`<p><a class="button" href="${state.url}" rel="noreferrer">Continue at ${provider}</a></p>`}
  ${renderWaysOut(shop, session, attempt)}`;
  return renderColumns(session, renderSums(attempt.payment.fees), content);
}

/** Next step of the buyer. After a decline at the provider, the buyer can choose another card or account there. */
function renderNextStep({ payment }: CurrentAttempt, provider: Html, usually: Html | false): Html {
  if (payment.decline === null) return html`Finish paying at ${provider}. Already done? Then stay here.${usually}`;
  return html`${provider} has reported a declined try. If you have not paid since, try again there, for example with
  another card or account.`;
}

/** The page of a payment whose money is on its way. The buyer can neither cancel it nor choose another payment method. */
export function renderProcessing(shop: Shop, session: Session, { attempt }: Processing): Html {
  const usually = attempt.eta !== null && html` This usually takes ${attempt.eta}.`;
  const content = html`${heading('Your payment is in progress', { icon: 'clock', mood: 'calm' })}
    ${introduction(html`You have done your part. <bdi>${attempt.provider}</bdi> tells us when the money has arrived.${usually}`)}
    <p>You can close this page, and open it again at any time to see the state of your payment.</p>
    ${renderLiveLine(shop, session)}`;
  return renderColumns(session, renderSums(attempt.payment.fees), content);
}

/** The page of a payment for which a wrong amount has arrived. The provider takes no second payment for the same attempt. */
export function renderMismatched(shop: Shop, session: Session, state: Mismatched, notice: Notice | null): Html {
  const { attempt, wrongMoney } = state;
  const merchant = html`<bdi>${shop.merchant}</bdi>`;
  const again = attempt.canSwitch
    ? 'You can pay again, or choose another way to pay.'
    : html`Ask ${merchant} about this order.`;
  const content =
    wrongMoney === 'held'
      ? html`${heading('A different amount has arrived', { icon: 'stop', mood: 'calm' })}
        ${introduction(html`Ask ${merchant} about it before you pay again.`)} ${renderLiveLine(shop, session)}`
      : html`${renderNotice(notice)} ${heading('A different amount was refunded', { icon: 'clock', mood: 'calm' })}
        ${introduction(html`${merchant} has refunded the amount that arrived. ${again}`)}
        ${renderLiveLine(shop, session)} ${renderWaysOut(shop, session, attempt, 'Pay again or choose another way')}`;
  return renderColumns(session, renderSums(attempt.payment.fees), content);
}

/** Reloads the page in browsers without JavaScript. */
export function refreshHead(seconds: number): Html {
  return html`<noscript><meta http-equiv="refresh" content="${seconds}" /></noscript>`;
}

/** Page that redirects to the provider. The policy `form-action` would block a direct redirect after the form. */
export function renderContinue(attempt: CurrentAttempt, url: string): Html {
  return html`<div class="narrow panel">
    ${heading(html`Taking you to <bdi>${attempt.provider}</bdi>`)}
    ${introduction(`You pay ${formatUsd(attempt.payment.fees.total)} there and come back here afterwards.`)}
    <p>
      <a class="button" href="${url}" rel="noreferrer">Continue to <bdi>${attempt.provider}</bdi></a>
    </p>
  </div>`;
}

export function renderLiveLine(shop: Shop, session: Session): Html {
  return html`<p class="live">
    <span class="pulse" aria-hidden="true"></span>
    <span data-live>Not confirmed yet.</span>
    <a data-again href="${shop.paths.checkout(session.id)}">Check again</a>
  </p>`;
}

export function renderWaysOut(
  shop: Shop,
  session: Session,
  attempt: CurrentAttempt,
  label = 'Choose another way to pay',
): Html {
  const other = stepForm(shop, session, 'switch', label);
  return html`<div class="ways-out">${attempt.canSwitch && other} ${cancelForm(shop, session)}</div>`;
}
