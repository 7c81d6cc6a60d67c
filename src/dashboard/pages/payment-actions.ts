import { CUSTOMER_ENDPOINTS } from '../../contract/customer-contract.ts';
import { DISCREPANCY_ENDPOINTS } from '../../contract/discrepancy-contract.ts';
import { inputReader } from '../../contract/input-problems.ts';
import { type DiscrepancyAction, actionsOf, heldAmount, isBookable } from '../../domain/discrepancy.ts';
import { GatewayError } from '../../domain/gateway-error.ts';
import { formatUsd, usd } from '../../domain/money.ts';
import type { Permission } from '../../domain/permission.ts';
import { isErased } from '../../domain/personal-data.ts';
import type { Discrepancy, Payment, Session } from '../../domain/records.ts';
import { leftOf } from '../../domain/refund-record.ts';
import { type Html, html } from '../../html/html.ts';
import { assertCan } from '../../operations/access/caller.ts';
import { blockCustomer, unblockCustomer } from '../../operations/customers/manage-customers.ts';
import { getDiscrepancy, resolveDiscrepancy } from '../../operations/discrepancies/resolve-discrepancy.ts';
import { expireSession } from '../../operations/expire-session.ts';
import { getSession } from '../../operations/read-records.ts';
import { confirmationPage, field, filledFields } from '../components/action-form.ts';
import { MODES } from '../shell.ts';
import type { PageRoutes, Visit, VisitHandler } from '../visit.ts';
import { discrepancySentence } from './payment-why.ts';

const blockReader = inputReader(CUSTOMER_ENDPOINTS.blockCustomer.body);
const verdictReader = inputReader(DISCREPANCY_ENDPOINTS.resolveDiscrepancy.body);

/** An action on a session or on its buyer. */
interface SessionAction {
  /** Operation id of the API. */
  id: string;
  title: string;
  permission: Permission;
  text(session: Session): Html;
  fields?: Html;
  run(visit: Visit, session: Session): Promise<unknown>;
}

const SESSION_ACTIONS: Record<string, SessionAction> = {
  expire: {
    id: 'expireSession',
    title: 'Expire the checkout',
    permission: 'session.expire',
    text: ({ amount, environment, customerEmail: email }) =>
      html`The checkout of ${formatUsd(amount)} of ${MODES[environment].money} for <bdi>${email}</bdi> then takes no
        payment any more. This cannot be undone.`,
    run: ({ deps }, { id }) => expireSession(deps, id),
  },
  block: {
    id: 'blockCustomer',
    title: 'Block the buyer',
    permission: 'customer.block',
    text: ({ customerEmail: email, environment }) =>
      html`<bdi>${email}</bdi> can then start no payment of ${MODES[environment].money}. Payments in progress continue.`,
    fields: field('reason', 'Reason, for your own records', html`<input id="reason" name="reason" maxlength="500" />`),
    run: ({ deps, form }, { customerId }) =>
      blockCustomer(deps, customerId, blockReader.read(filledFields(form, 'reason')).reason ?? null),
  },
  unblock: {
    id: 'unblockCustomer',
    title: 'Unblock the buyer',
    permission: 'customer.block',
    text: ({ customerEmail, environment }) =>
      html`<bdi>${customerEmail}</bdi> can then pay ${MODES[environment].money} again.`,
    run: ({ deps }, { customerId }) => unblockCustomer(deps, customerId),
  },
};

/** Pages that confirm the actions on a session, on its buyer and on its discrepancies. */
export function paymentActions(routes: PageRoutes): void {
  for (const [name, action] of Object.entries(SESSION_ACTIONS)) {
    routes.get(`/payments/:id/${name}`, (visit) => sessionForm(visit, action));
    routes.post(`/payments/:id/${name}`, action.id, async (visit) => {
      const session = await getSession(visit.deps, visit.param('id'));
      await action.run(visit, session);
      return { goTo: visit.path(`payments/${session.id}?notice=${name}`) };
    });
  }
  routes.get('/discrepancies/:id', discrepancyForm);
  const takeVerdict: VisitHandler = async ({ deps, form, param, path }) => {
    const { action, note = null } = verdictReader.read(filledFields(form, 'action', 'note'));
    // The buttons name an amount, which grows if the buyer pays more.
    const { version } = filledFields(form, 'version');
    const verdict = { action, note, ...(version !== undefined && { version: Number(version) }) };
    const { sessionId } = await resolveDiscrepancy(deps, param('id'), verdict);
    return { goTo: path(`payments/${sessionId}?notice=resolve`) };
  };
  routes.post('/discrepancies/:id', 'resolveDiscrepancy', takeVerdict, discrepancyForm);
}

async function sessionForm(visit: Visit, { permission, title, text, fields }: SessionAction) {
  assertCan(visit.deps, permission);
  const session = await getSession(visit.deps, visit.param('id'));
  return confirmationPage(visit, {
    title,
    text: text(session),
    fields,
    buttons: html`<button class="button" id="confirm">${title}</button>`,
    back: visit.path(`payments/${session.id}`),
  });
}

async function discrepancyForm(visit: Visit) {
  const { deps } = visit;
  assertCan(deps, 'discrepancy.resolve');
  const discrepancy = await getDiscrepancy(deps, visit.param('id'));
  const { session, payments } = (await deps.store.checkout(discrepancy.sessionId))!;
  const note = html`<textarea id="note" name="note" rows="3" maxlength="500">${visit.form.get('note')}</textarea>`;
  const choices = actionsOf(discrepancy).map((action) => choiceOf(action, discrepancy, payments));
  if (choices.length === 0)
    throw new GatewayError('invalid_state', 'There is nothing to decide about this discrepancy.');
  return confirmationPage(visit, {
    title: 'Resolve a discrepancy',
    text: html`<p>${discrepancySentence(discrepancy, payments)}</p>
      <p>Buyer: <bdi>${session.customerEmail}</bdi>, ${MODES[session.environment].money}.</p>
      ${choices.map(({ name, books }) => html`<p><strong>${name}</strong> books ${books}</p>`)}`,
    fields: html`<input type="hidden" name="version" value="${discrepancy.version}" />
      ${!isErased(session) && field('note', isBookable(discrepancy) ? 'Note' : 'Note (required)', note)}`,
    buttons: choices.map(
      ({ action, name }) =>
        html`<button class="button" name="action" value="${action}" id="${action}">${name}</button>`,
    ),
    back: visit.path(`payments/${session.id}`),
  });
}

/** A possible decision about a discrepancy: the text of its button, and what it books. */
function choiceOf(action: DiscrepancyAction, discrepancy: Discrepancy, payments: readonly Payment[]) {
  const payment = payments.find(({ id }) => id === discrepancy.paymentId);
  if (!payment || !isBookable(discrepancy)) {
    return { action, name: 'Close', books: 'nothing. The note says how the money was handled at the provider.' };
  }
  const isSurplus = discrepancy.kind === 'surplus';
  const held = Math.max(0, isSurplus ? leftOf(payment).total : heldAmount(payment, discrepancy));
  const money = formatUsd(held);
  if (action === 'refund') {
    const books = `${money} as owed to the buyer; the provider is then asked to return it.`;
    return { action, name: `Refund ${money} to the buyer`, books };
  }
  const change = `The merchant's share changes by ${usd(held - payment.fees.total)}.`;
  const unpaid = `${money} as payment in full, which makes the checkout paid. ${change}`;
  const books = isSurplus || payment.status === 'paid' ? `${money} more for the merchant.` : unpaid;
  return { action, name: `Accept ${money} for the merchant`, books };
}
