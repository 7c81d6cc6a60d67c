import { inputReader } from '../../contract/input-problems.ts';
import { refundRequest } from '../../contract/refund-contract.ts';
import { GatewayError, invalidField } from '../../domain/gateway-error.ts';
import { amountFromCents, centsFromText, formatUsd } from '../../domain/money.ts';
import { MERCHANT_REFUND_REASONS, leftOf } from '../../domain/refund-record.ts';
import { html } from '../../html/html.ts';
import { assertCan } from '../../operations/access/caller.ts';
import { getPayment, getSession } from '../../operations/read-records.ts';
import { createRefund } from '../../operations/refunds/create-refund.ts';
import { choicesOf, confirmationPage, field, filledFields, select } from '../components/action-form.ts';
import { MODES } from '../shell.ts';
import type { DashboardPage, PageRoutes, Visit, VisitHandler } from '../visit.ts';
import { isRefundable } from './payment-page.ts';

const refundReader = inputReader(refundRequest);
const KEY_BYTES = 16;
const FIELDS = ['key', 'amount', 'left', 'reason'];

/** Refunds a payment, in full or in part. The form carries an idempotency key, so a form that is sent twice makes one refund. */
export function refundPage(routes: PageRoutes): void {
  routes.get('/payments/:id/refund', refundForm);
  const takeForm: VisitHandler = async ({ deps, form, path, param }) => {
    const { key: idempotencyKey = '', amount: text = '', left, reason } = filledFields(form, ...FIELDS);
    // The amount is always named, so that the refund is never more than the page said.
    const amount = centsFromText(text);
    if (amount === undefined) {
      throw invalidField(
        'amount',
        'invalid_value',
        'is no amount in US dollars',
        'Type an amount such as 20 or 20.50.',
      );
    }
    const body = refundReader.read({ amount: amountFromCents(amount), idempotencyKey, ...(reason && { reason }) });
    // Two people can have the form open for the same request of a buyer.
    const { refund } = await createRefund(deps, param('id'), body, left === undefined ? undefined : Number(left));
    return { goTo: `${path(`payments/${refund.sessionId}`)}?notice=refund#${refund.paymentId}` };
  };
  routes.post('/payments/:id/refund', 'createRefund', takeForm, refundForm);
}

async function refundForm(visit: Visit): Promise<DashboardPage> {
  const { deps, path, form } = visit;
  assertCan(deps, 'refund.create');
  const payment = await getPayment(deps, visit.param('id'));
  if (!isRefundable(payment)) throw new GatewayError('invalid_state', 'Nothing of this payment can be refunded now.');
  const { customerEmail, environment } = await getSession(deps, payment.sessionId);
  const left = leftOf(payment);
  const { money } = MODES[environment];
  // A form that is sent again has the key of the first time, so that it still makes one refund.
  const key = form.get('key') ?? `dashboard-${Buffer.from(deps.randomBytes(KEY_BYTES)).toString('base64url')}`;
  const reason = select('reason', 'no reason', choicesOf(MERCHANT_REFUND_REASONS), form.get('reason'));
  const sum = form.get('amount') ?? amountFromCents(left.total).toFixed(2);
  const amount = html`<input id="amount" name="amount" inputmode="decimal" autocomplete="off" value="${sum}" />`;
  return confirmationPage(visit, {
    title: 'Refund',
    text: html`${formatUsd(left.total)} of ${money} can be refunded to <bdi>${customerEmail}</bdi>.
      ${formatUsd(Math.max(0, left.merchant))} of it is the merchant's share.
      ${payment.surplus && 'This is a second payment of a checkout that another payment has paid.'}`,
    fields: html`<input type="hidden" name="key" value="${key}" />
      <input type="hidden" name="left" value="${left.total}" /> ${field('amount', 'Amount in US dollars', amount)}
      ${field('reason', 'Reason', reason)}`,
    buttons: html`<button class="button" id="confirm">
      Refund this amount of ${money} to <bdi>${customerEmail}</bdi>
    </button>`,
    back: `${path(`payments/${payment.sessionId}`)}#${payment.id}`,
  });
}
