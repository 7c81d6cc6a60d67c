import { checkoutUrl } from '../../contract/session-contract.ts';
import { leadingPayment } from '../../domain/checkout-state.ts';
import { actionsOf } from '../../domain/discrepancy.ts';
import { isId } from '../../domain/id.ts';
import { formatUsd } from '../../domain/money.ts';
import { type Permission, can } from '../../domain/permission.ts';
import type { CustomerStatus, Discrepancy, Payment } from '../../domain/records.ts';
import { leftOf } from '../../domain/refund-record.ts';
import { type Html, html } from '../../html/html.ts';
import { getPayment } from '../../operations/read-records.ts';
import { resendEvent } from '../../operations/redeliver.ts';
import { type Timeline, readTimeline } from '../../operations/timeline.ts';
import { breakable, facts, idWithCopy, status } from '../components/parts.ts';
import { zonedTime } from '../components/time.ts';
import type { DashboardPage, PageRoutes, Visit } from '../visit.ts';
import { renderChoice, renderFees } from './payment-decision.ts';
import { renderTimeline } from './payment-timeline.ts';
import { discrepancySentence, whyOf } from './payment-why.ts';

/** Sentences about an action that has just been done, by the code in the address. */
const NOTICES: Record<string, string> = {
  refund: 'The refund was requested. It is sent to the provider in a moment.',
  resend: 'The event is being sent again.',
  expire: 'The checkout was expired: its link takes no payment any more.',
  block: 'The buyer was blocked.',
  unblock: 'The buyer was unblocked.',
  resolve: 'The decision about the discrepancy was booked.',
};

/** The page of a session with all its payments. The id of a payment leads to its place there. */
export function paymentPage(routes: PageRoutes): void {
  routes.get('/payments/:id', async (visit) => {
    const id = visit.param('id');
    if (!isId(id, 'pay')) return pageOf(visit, await readTimeline(visit.deps, id));
    const { sessionId } = await getPayment(visit.deps, id);
    return { goTo: `${visit.path(`payments/${sessionId}`)}#${id}` };
  });
  routes.post('/payments/:id/resend', 'resendEvent', async ({ deps, form, param, path }) => {
    await resendEvent(deps, form.get('event') ?? '');
    return { goTo: path(`payments/${param('id')}?notice=resend`) };
  });
}

function pageOf(visit: Visit, timeline: Timeline): DashboardPage {
  const { reportingZone: zone } = visit.deps;
  const code = visit.query.get('notice') ?? '';
  const notice = Object.hasOwn(NOTICES, code) ? NOTICES[code] : undefined;
  const { word, mood, sentences } = whyOf(timeline, zone);
  const leading = leadingPayment(timeline);
  const open = timeline.discrepancies.filter(({ status }) => status === 'open');
  const newest = timeline.replays.at(-1);
  const main = html`${notice !== undefined && html`<p class="panel good" role="status">${notice}</p>`}
    <section class="panel why ${mood}" aria-label="State">
      ${status(word, mood)}
      <p class="lead">${sentences.map((sentence) => html`${sentence} `)}</p>
    </section>
    ${open.map((one) => renderDiscrepancy(visit, one, timeline))} ${renderActions(visit, timeline)}
    <div class="payment">
      <div>
        ${renderFacts(timeline, leading, zone)}
        <h2 id="timeline">Timeline</h2>
        ${renderTimeline(visit, timeline)}
      </div>
      <div>${leading && renderFees(leading)} ${newest && renderChoice(newest)}</div>
    </div>`;
  const title = `Payment of ${formatUsd(leading?.fees.total ?? timeline.session.amount)}`;
  return { title, main, isLive: true };
}

function renderFacts({ session, payments, customers, isMasked }: Timeline, leading: Payment | undefined, zone: string) {
  const { product, customerEmail, clientReferenceId, customerId, metadata, id, created } = session;
  const pairs = Object.entries(metadata).map(
    ([name, value]) => html`<div><bdi>${name}</bdi>: <bdi>${value}</bdi></div>`,
  );
  const blocked = customers.find((one) => one.status === 'blocked');
  const mark = blocked && html`${status('Blocked', 'bad')} <bdi>${blocked.statusReason}</bdi>`;
  return html`<section class="panel" aria-label="Payment">
    ${facts([
      ['Product', html`<bdi>${product}</bdi>`],
      ['Buyer', html`${breakable(customerEmail)} ${mark}`],
      ['Order', clientReferenceId !== null && html`<bdi>${clientReferenceId}</bdi>`],
      ['Metadata', isMasked ? 'hidden from your role' : pairs.length > 0 && pairs],
      ['Created', zonedTime(created, zone)],
      ['Checkout', idWithCopy(id)],
      ...payments.map((one): [string, Html] => [`Payment, ${one.status}`, idWithCopy(one.id)]),
      ['Customer', idWithCopy(customerId)],
      ["Provider's id", leading?.providerReference && idWithCopy(leading.providerReference)],
      ['Transaction', leading?.txHash && idWithCopy(leading.txHash)],
    ])}
  </section>`;
}

function renderActions(visit: Visit, { session, payments, customers, isMasked }: Timeline): Html {
  const isBuyer = (wanted: CustomerStatus) => customers.some(({ status }) => status === wanted);
  const page = `payments/${session.id}`;
  const url = checkoutUrl(visit.deps.urls, session.id);
  // The checkout page shows the address of the buyer.
  const checkout =
    !isMasked &&
    html`<a class="small-button" id="checkout-page" href="${url}">Checkout page</a>
      <button class="copy" type="button" id="copy-link" data-copy="${url}">Copy its link</button>`;
  return html`<div class="actions">
    ${payments.filter(isRefundable).map(({ id, surplus }) => {
      const name = surplus ? 'Refund the second payment' : 'Refund';
      return linkTo(visit, `payments/${id}/refund`, name, 'refund.create');
    })}
    ${session.status === 'routed' && linkTo(visit, `${page}/expire`, 'Expire', 'session.expire')}
    ${isBuyer('active') && linkTo(visit, `${page}/block`, 'Block the buyer', 'customer.block')}
    ${isBuyer('blocked') && linkTo(visit, `${page}/unblock`, 'Unblock the buyer', 'customer.block')} ${checkout}
  </div>`;
}

/** True if a part of a payment can be refunded. */
export function isRefundable(payment: Payment): boolean {
  return payment.status === 'paid' && leftOf(payment).total > 0;
}

function renderDiscrepancy(visit: Visit, one: Discrepancy, { payments }: Timeline): Html {
  const canDecide = actionsOf(one).length > 0;
  return html`<section class="panel bad" aria-label="Discrepancy" id="${one.id}">
    ${status(canDecide ? 'Needs a decision' : 'Its refund is in progress', canDecide ? 'bad' : 'waiting')}
    <p>${discrepancySentence(one, payments)}</p>
    ${canDecide && linkTo(visit, `discrepancies/${one.id}`, 'Resolve', 'discrepancy.resolve')}
  </section>`;
}

/** A link to the page of an action, if the visitor may do it. */
function linkTo({ visitor, path }: Visit, page: string, name: string, permission: Permission): Html | false {
  if (!can(visitor.principal, permission)) return false;
  return html`<a class="small-button" id="to-${page}" href="${path(page)}">${name}</a>`;
}
