import { sessionRequest } from '../../contract/session-contract.ts';
import { checkoutResult as checkoutResultSchema } from '../../contract/action-contract.ts';
import { checkoutResult, createCheckout } from '../create-checkout.ts';
import {
  BLOCKED,
  IDEMPOTENCY_CONFLICT,
  INVALID_INPUT,
  INVALID_JSON,
  NO_ROUTE,
  SPEND_LIMIT,
  UNAVAILABLE,
  defineAction,
} from '../operation.ts';
import { checkoutExample, checkoutOptions } from './checkout-preview.ts';

export const checkoutCreate = defineAction({
  name: 'checkout.create',
  title: 'Create a checkout',
  description:
    'Creates a session, at whose checkoutUrl the buyer pays. Use it once per order, with an idempotencyKey to make a resend safe; not to look at prices: that is checkout.preview. Charges nobody.',
  input: sessionRequest,
  reader: ({ sessionReader }) => sessionReader,
  output: checkoutResultSchema,
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  access: 'create',
  errors: [INVALID_INPUT, INVALID_JSON, IDEMPOTENCY_CONFLICT, BLOCKED, NO_ROUTE, SPEND_LIMIT, UNAVAILABLE],
  next: 'Give checkoutUrl to the buyer; await webhook payment.paid or poll getPayment with id.',
  command: (input) => ['checkout', 'create', ...checkoutOptions(input)],
  // No idempotencyKey: all orders made from this example would share it.
  example: checkoutExample,
  run: async (deps, input) => {
    const { session, replayed } = await createCheckout(deps, input);
    return { result: checkoutResult(deps, session, false), replayed };
  },
});
