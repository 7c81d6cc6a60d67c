import { z } from 'zod';
import { SAMPLE_IDS } from '../../contract/sample-ids.ts';
import { text } from '../../contract/request-fields.ts';
import { DEFAULT_LIMIT, MAX_LIMIT, listOf } from '../../contract/list-query.ts';
import { refund, refundRequest, renderRefund } from '../../contract/refund-contract.ts';
import { payment, renderPayment } from '../../contract/payment-contract.ts';
import { checkoutSession } from '../../contract/session-contract.ts';
import { PAYMENT_STATUSES } from '../../domain/records.ts';
import { expireSession } from '../expire-session.ts';
import { READ_ONLY, defineOperation } from '../operation.ts';
import { sessionResource } from '../pending-transfer.ts';
import { getPayment, getSession, getRefund } from '../read-records.ts';
import { createRefund } from '../refunds/create-refund.ts';

const sessionInput = z.strictObject({ sessionId: idInput('The session (chk_...).', SAMPLE_IDS.chk, 'chk') });

/** Over REST: `GET /api/gateway/sessions/{sessionId}`. */
export const sessionGet = defineOperation({
  name: 'session.get',
  description: 'Answers one session: what is sold, its status, its checkoutUrl and when it expires.',
  input: sessionInput,
  output: checkoutSession,
  annotations: READ_ONLY,
  access: 'look',
  next: 'Call payment.get with the same id for the payment.',
  run: async (deps, { sessionId }) => ({ result: await sessionResource(deps, await getSession(deps, sessionId)) }),
});

/** Over REST: `POST /api/gateway/sessions/{sessionId}/expire`. */
export const sessionExpire = defineOperation({
  name: 'session.expire',
  action: 'expireSession',
  description:
    'Withdraws a session that no buyer has started: its checkoutUrl takes no payment any more. Irreversible. Repeating the call changes nothing.',
  input: sessionInput,
  output: checkoutSession,
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  access: 'write',
  next: 'Call checkout.create for another one.',
  run: async (deps, { sessionId }) => ({ result: await sessionResource(deps, await expireSession(deps, sessionId)) }),
});

const paymentInput = z.strictObject({
  paymentId: idInput(
    'A payment (pay_...), or a session (chk_...): then the payment that paid it, else its newest attempt.',
    SAMPLE_IDS.chk,
    'pay',
    'chk',
  ),
});

/** Over REST: `GET /api/gateway/payments/{paymentId}`. */
export const paymentGet = defineOperation({
  name: 'payment.get',
  description:
    'Answers one payment, by the id of its session or its own. Use it to learn whether the buyer has paid. It is not_found until the buyer starts to pay, and for good where the session has expired.',
  input: paymentInput,
  output: payment,
  annotations: READ_ONLY,
  access: 'look',
  next: 'Fulfil where status is paid; while it is pending or not yet found, ask again after some seconds. failed is one attempt: the buyer may try again at checkoutUrl until the session ends (webhook payment.failed); do not create another checkout for it.',
  run: async (deps, { paymentId }) => ({ result: renderPayment(await getPayment(deps, paymentId)) }),
});

const paymentListInput = z.strictObject({
  status: z.enum(PAYMENT_STATUSES).optional().describe('Only payments with this status.'),
  customerId: idInput('Only payments of this customer.', SAMPLE_IDS.cus, 'cus').optional(),
  limit: z.int().min(1).max(MAX_LIMIT).default(DEFAULT_LIMIT).describe('Maximum number.'),
  startingAfter: idInput('The last payment of the page before.', SAMPLE_IDS.pay, 'pay').optional(),
});

/** Over REST: `GET /api/gateway/payments`. */
export const paymentList = defineOperation({
  name: 'payment.list',
  description: 'Answers payments, newest first. Use it to find a payment; to follow one, use payment.get.',
  input: paymentListInput,
  output: listOf(payment),
  annotations: READ_ONLY,
  access: 'read',
  next: 'If hasMore is true, ask again with startingAfter set to the last id.',
  run: async ({ store }, { limit, startingAfter, status, customerId }) => {
    const filter = { ...(status && { status }), ...(customerId && { customerId }) };
    const { items, hasMore } = await store.listPayments(filter, { limit, ...(startingAfter && { startingAfter }) });
    return { result: { object: 'list' as const, data: items.map(renderPayment), hasMore } };
  },
});

const refundCreateInput = z.strictObject({
  paymentId: idInput('A payment (pay_...), or its session (chk_...).', SAMPLE_IDS.pay, 'pay', 'chk'),
  ...refundRequest.shape,
});

/** Over REST: `POST /api/gateway/payments/{paymentId}/refunds`. */
export const refundCreate = defineOperation({
  name: 'refund.create',
  action: 'createRefund',
  description:
    'Refunds the whole payment, or the part in amount. Irreversible: money leaves. Use it only if the user asked for this refund. Send a new idempotencyKey for each refund: without one, a resend refunds again.',
  input: refundCreateInput,
  output: refund,
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  access: 'write',
  next: 'It is pending until the provider has paid it out: call refund.get with its id.',
  run: async (deps, { paymentId, ...body }) => {
    const { refund: created, replayed } = await createRefund(deps, paymentId, body);
    return { result: renderRefund(created), replayed };
  },
});

const refundInput = z.strictObject({ refundId: idInput('The refund (ref_...).', SAMPLE_IDS.ref, 'ref') });

/** Over REST: `GET /api/gateway/refunds/{refundId}`. */
export const refundGet = defineOperation({
  name: 'refund.get',
  description:
    'Answers one refund: whether the provider has paid it out (succeeded), not yet (pending) or not (failed).',
  input: refundInput,
  output: refund,
  annotations: READ_ONLY,
  access: 'read',
  next: 'While it is pending, ask again later.',
  run: async (deps, { refundId }) => ({ result: renderRefund(await getRefund(deps, refundId)) }),
});

/** Id of a record as the input of a tool. It checks the prefix; the operation checks that the record exists. */
function idInput(description: string, example: string, ...prefixes: string[]): z.ZodString {
  const known = new RegExp(`^(?:${prefixes.join('|')})_`);
  return text(5, 120)
    .check((context) => {
      if (known.test(context.value)) return;
      const message = `must be an id that starts with ${prefixes.map((prefix) => `${prefix}_`).join(' or ')}`;
      context.issues.push({ code: 'invalid_format', format: 'id', message, input: context.value });
    })
    .describe(description)
    .meta({ examples: [example] });
}
