import { z } from 'zod';
import { SAMPLE_PAYMENT_ID, SAMPLE_SESSION_ID } from '../../contract/sample-ids.ts';
import { jsonSchemaOf, sampleOf } from '../../contract/json-schema.ts';
import { payment, renderPayment } from '../../contract/payment-contract.ts';
import { INVALID_INPUT, NOT_FOUND, READ_ONLY, UNAVAILABLE, defineOperation } from '../operation.ts';
import { getPayment } from '../read-records.ts';
import { idInput } from './id-input.ts';

const input = z.strictObject({
  paymentId: idInput(
    'A payment (pay_...), or a session (chk_...): then the payment that paid it, else its newest attempt.',
    SAMPLE_SESSION_ID,
    'pay',
    'chk',
  ),
});

/** For agents that have no REST API at hand; there it is `GET /api/gateway/payments/{paymentId}`. */
export const paymentGet = defineOperation({
  name: 'payment.get',
  title: 'Get a payment',
  description:
    'Answers one payment, by the id of its session or its own. Use it to learn whether the buyer has paid. It is not_found until the buyer starts to pay, and for good where the session has expired.',
  input,
  output: payment,
  annotations: READ_ONLY,
  access: 'look',
  errors: [INVALID_INPUT, NOT_FOUND, UNAVAILABLE],
  next: 'Fulfil where status is paid; while it is pending or not yet found, ask again after some seconds. failed is one attempt: the buyer may try again at checkoutUrl until the session ends (webhook payment.failed); do not create another checkout for it.',
  example: () => ({
    request: { paymentId: SAMPLE_PAYMENT_ID },
    response: sampleOf(jsonSchemaOf(payment, 'output')) as Record<string, unknown>,
  }),
  run: async (deps, { paymentId }) => ({ result: renderPayment(await getPayment(deps, paymentId)) }),
});
