import { z } from 'zod';
import { SAMPLE_PAYMENT_ID } from '../../contract/sample-ids.ts';
import { jsonSchemaOf, sampleOf } from '../../contract/json-schema.ts';
import { refund, refundRequest, renderRefund } from '../../contract/refund-contract.ts';
import {
  IDEMPOTENCY_CONFLICT,
  INVALID_INPUT,
  INVALID_STATE,
  NOT_FOUND,
  UNAVAILABLE,
  defineOperation,
} from '../operation.ts';
import { createRefund } from '../refunds/create-refund.ts';
import { idInput } from './id-input.ts';

const input = z.strictObject({
  paymentId: idInput('A payment (pay_...), or its session (chk_...).', SAMPLE_PAYMENT_ID, 'pay', 'chk'),
  ...refundRequest.shape,
});

/** Over REST: `POST /api/gateway/payments/{paymentId}/refunds`. */
export const refundCreate = defineOperation({
  name: 'refund.create',
  title: 'Refund a payment',
  description:
    'Refunds the whole payment, or the part in amount. Irreversible: money leaves. Use it only if the user asked for this refund. Send a new idempotencyKey for each refund: without one, a resend refunds again.',
  input,
  output: refund,
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  access: 'write',
  errors: [INVALID_INPUT, NOT_FOUND, INVALID_STATE, IDEMPOTENCY_CONFLICT, UNAVAILABLE],
  next: 'It is pending until the provider has paid it out: call refund.get with its id.',
  example: () => ({
    request: { paymentId: SAMPLE_PAYMENT_ID, amount: 10, reason: 'requested_by_customer' },
    response: sampleOf(jsonSchemaOf(refund, 'output')) as Record<string, unknown>,
  }),
  run: async (deps, { paymentId, ...body }) => {
    const { refund: created, replayed } = await createRefund(deps, paymentId, body);
    return { result: renderRefund(created), replayed };
  },
});
