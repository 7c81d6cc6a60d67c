import { inputReader } from '../../contract/input-problems.ts';
import { refundRequest } from '../../contract/refund-contract.ts';
import { type GatewayError, invalidField } from '../../domain/gateway-error.ts';
import { type Cents, amountFromCents, centsFromText, formatUsd } from '../../domain/money.ts';
import { MERCHANT_REFUND_REASONS, leftOf } from '../../domain/refund-record.ts';
import { type Html, html } from '../../html/html.ts';
import { assertCan } from '../../operations/access/caller.ts';
import { getPayment, getSession } from '../../operations/read-records.ts';
import { createRefund } from '../../operations/refunds/create-refund.ts';
import { confirmationPage, field, filledFields, formRoutes, renderProblem } from '../components/action-form.ts';
import { words } from '../components/figures.ts';
import type { DashboardPage, PageRoutes, Visit } from '../visit.ts';
import { MONEY } from './payment-actions.ts';
import { isRefundable } from './payment-page.ts';

const refundReader = inputReader(refundRequest);
const KEY_BYTES = 16;

/**
 * Refunds a payment, in full or in part. The first page creates the idempotency key that all its forms carry, so a form that is
 * sent twice makes one refund.
 */
export function refundPage(routes: PageRoutes): void {
  formRoutes(routes, '/payments/:id/refund', 'createRefund', { page: refundForm, run: refund });
}

async function refund({ deps, form, path, param }: Visit): Promise<string> {
  const { key: idempotencyKey, amount: text = '', reason } = filledFields(form, 'key', 'amount', 'reason');
  // The amount is always named, so that the refund is never more than the page said.
  const amount = amountFromCents(centsFromText(text) ?? 0);
  const body = refundReader.read({ amount, idempotencyKey: idempotencyKey ?? '', ...(reason && { reason }) });
  const { refund } = await createRefund(deps, param('id'), body);
  return `${path(`payments/${refund.sessionId}`)}?notice=refund#${refund.paymentId}`;
}

async function refundForm(visit: Visit, problem?: GatewayError): Promise<DashboardPage> {
  const { deps, path } = visit;
  const fields = problem ? visit.form : visit.query;
  assertCan(deps, 'refund.create');
  const payment = await getPayment(deps, visit.param('id'));
  const { customerEmail, environment } = await getSession(deps, payment.sessionId);
  const left = leftOf(payment);
  const back = `${path(`payments/${payment.sessionId}`)}#${payment.id}`;
  const action = path(`payments/${payment.id}/refund`);
  if (!isRefundable(payment)) {
    const main = html`${renderProblem(problem)}
      <p class="lead">Nothing of this payment can be refunded now. <a href="${back}">Back to the payment</a></p>`;
    return { title: 'Refund', main, status: 409 };
  }
  const asked = fields.get('amount');
  const wrong = problem ?? (asked === null ? undefined : amountProblem(asked, left.total));
  const part = asked === null || wrong ? undefined : centsFromText(asked);
  const cents = part ?? left.total;
  const given = fields.get('key');
  // A key that another refund has used is replaced.
  const isUsed = given === null || problem?.code === 'idempotency_conflict';
  const key = isUsed ? `dashboard-${Buffer.from(deps.randomBytes(KEY_BYTES)).toString('base64url')}` : given;
  const page = confirmationPage(visit, {
    title: part === undefined ? 'Refund' : 'Refund a part',
    text: `${formatUsd(left.total)} can be refunded. ${formatUsd(Math.max(0, left.merchant))} of it is the merchant's share.`,
    fields: html`<input type="hidden" name="key" value="${key}" />
      <input type="hidden" name="amount" value="${amountFromCents(cents).toFixed(2)}" />
      ${field('reason', 'Reason', reasonSelect(fields.get('reason')))}`,
    buttons: html`<button class="button" id="confirm">
      ${part === undefined ? 'Refund all:' : 'Refund'} ${formatUsd(cents)} of ${MONEY[environment]} to
      <bdi>${customerEmail}</bdi>
    </button>`,
    below: part === undefined && partForm(action, key, asked),
    action,
    back,
    problem: wrong,
  });
  return { ...page, ...(wrong && { status: 400 }) };
}

/** The form for a part. It leads to the confirmation and changes nothing, so its method is GET. */
function partForm(action: string, key: string, asked: string | null): Html {
  const input = html`<input id="amount" name="amount" inputmode="decimal" autocomplete="off" value="${asked}" />`;
  return html`<form class="panel" action="${action}">
    <input type="hidden" name="key" value="${key}" />
    ${field('amount', 'Or only a part, in US dollars', input)}
    <button class="small-button" id="continue">Continue with this part</button>
  </form>`;
}

function reasonSelect(chosen: string | null): Html {
  const options = MERCHANT_REFUND_REASONS.map(
    (one) => html`<option value="${one}" ${one === chosen && html`selected`}>${words(one)}</option>`,
  );
  return html`<select id="reason" name="reason">
    <option value="">no reason</option>
    ${options}
  </select>`;
}

function amountProblem(asked: string, total: Cents): GatewayError | undefined {
  const cents = centsFromText(asked);
  const advice = `Enter an amount of US dollars from 0.01 to ${amountFromCents(total).toFixed(2)}.`;
  if (!cents) return invalidField('amount', 'invalid_value', 'is not an amount', advice);
  return cents > total ? invalidField('amount', 'too_big', `is more than ${formatUsd(total)}`, advice) : undefined;
}
