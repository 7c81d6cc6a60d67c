import { z } from 'zod';
import { SAMPLE_CUSTOMER_ID, SAMPLE_PAYMENT_ID } from '../../contract/sample-ids.ts';
import { jsonSchemaOf, sampleOf } from '../../contract/json-schema.ts';
import { DEFAULT_LIMIT, MAX_LIMIT, listOf } from '../../contract/list-query.ts';
import { payment, renderPayment } from '../../contract/payment-contract.ts';
import { PAYMENT_STATUSES } from '../../domain/records.ts';
import { INVALID_INPUT, READ_ONLY, UNAVAILABLE, defineOperation } from '../operation.ts';
import { idInput } from './id-input.ts';

const input = z.strictObject({
  status: z
    .enum(PAYMENT_STATUSES as ['pending', 'paid', 'failed'])
    .optional()
    .describe('Only payments with this status.'),
  customerId: idInput('Only payments of this customer.', SAMPLE_CUSTOMER_ID, 'cus').optional(),
  limit: z.int().min(1).max(MAX_LIMIT).default(DEFAULT_LIMIT).describe('How many at most.'),
  startingAfter: idInput('The last payment of the page before.', SAMPLE_PAYMENT_ID, 'pay').optional(),
});
const output = listOf(payment);

/** Over REST: `GET /api/gateway/payments`. */
export const paymentList = defineOperation({
  name: 'payment.list',
  title: 'List payments',
  description: 'Answers payments, newest first. Use it to find a payment; to follow one, use payment.get.',
  input,
  output,
  annotations: READ_ONLY,
  access: 'read',
  errors: [INVALID_INPUT, UNAVAILABLE],
  next: 'Where hasMore is true, ask again with startingAfter set to the last id.',
  example: () => ({
    request: { status: 'paid' },
    response: sampleOf(jsonSchemaOf(output, 'output')) as Record<string, unknown>,
  }),
  run: async ({ store }, { limit, startingAfter, status, customerId }) => {
    const filter = {
      ...(status && { status }),
      ...(customerId && { customerId }),
    };
    const { items, hasMore } = await store.listPayments(filter, { limit, ...(startingAfter && { startingAfter }) });
    return { result: { object: 'list' as const, data: items.map(renderPayment), hasMore } };
  },
});
