import { z } from 'zod';
import { deliveryDetails } from './deliveries.ts';
import { id, label, time } from './described.ts';
import { discrepancy } from './discrepancies.ts';
import type { Endpoint } from './endpoint.ts';
import { text } from './fields.ts';
import { refund } from './refunds.ts';
import { SAMPLE_CUSTOMER_ID, SAMPLE_PROVIDER } from './requests.ts';
import { checkoutSession, customer, invoice, payment, webhookEvent } from './resources.ts';

const MAX_REASON = 500;
const customerId = { customerId: { description: 'A customer: cus_...', example: SAMPLE_CUSTOMER_ID } };

/** Body of `POST /api/gateway/customers/{customerId}/block`. */
export const blockRequest = z.strictObject({
  reason: text(1, MAX_REASON)
    .optional()
    .describe(`Why, for your own records: 1 to ${MAX_REASON} characters. The buyer never sees it.`)
    .meta({ examples: ['chargebacks'] }),
});

/** Body of `POST /api/gateway/customers/{customerId}/erase`. */
export const eraseRequest = z.strictObject({
  confirm: z
    .string()
    .describe('The id of the customer once more: nothing brings back what is erased.')
    .meta({ examples: [SAMPLE_CUSTOMER_ID] }),
});

const message = z.strictObject({
  provider: label('Who sent it.', SAMPLE_PROVIDER),
  eventId: label("The provider's id of it.", 'ev_9c1f'),
  sessionId: id('chk', 'The checkout session.'),
  status: label('What it said, normalised.', 'paid'),
  outcome: label('What it did: applied, ignored, or why it was flagged.', 'applied'),
  body: label('As it came.', '{"event":"ev_9c1f"}'),
  received: time('When it came.'),
});

export const customerExport = z.strictObject({
  object: z.literal('customer_export').describe('Always customer_export.'),
  exported: time('When this was read.'),
  customer,
  sessions: z
    .array(
      checkoutSession.extend({
        idempotencyKey: label('As given when it was created, or null.', 'order-A-1001').nullable(),
        decisionId: label(
          'The routing decision behind its offer, or null.',
          'dec_01m7x0e9zb4c7r2k5v8q1w3n6t0y9f2d4h7j',
        ).nullable(),
      }),
    )
    .describe('Newest first.'),
  payments: z.array(
    payment.extend({
      providerReference: label("The provider's own id of it, or null.", 'sbx_pay_9c1f').nullable(),
      providerUrl: label(
        "The provider's page that the buyer was taken to, or null.",
        'https://pay.example/9c1f',
      ).nullable(),
      txHash: label('The transaction on a blockchain or at a bank, or null.', '0x9c1f').nullable(),
    }),
  ),
  invoices: z.array(invoice),
  refunds: z.array(
    refund.extend({ idempotencyKey: label('As given when it was asked for, or null.', 'refund-A-1001').nullable() }),
  ),
  events: z.array(webhookEvent),
  deliveries: z.array(deliveryDetails).describe('With the log of their attempts: what receivers answered is kept too.'),
  providerMessages: z.array(message).describe('What providers said of payments and refunds.'),
  discrepancies: z.array(discrepancy),
});
export type CustomerExport = z.output<typeof customerExport>;

const erased = {
  message: `Customer ${SAMPLE_CUSTOMER_ID} is erased: nothing can be created for it any more.`,
  suggestion: 'Leave it. A buyer who comes back with the same address is another customer, who can be blocked.',
};

/** What is done with customers; they are listed and read by the endpoints of sales. */
export const CUSTOMER_ENDPOINTS = {
  blockCustomer: {
    operationId: 'blockCustomer',
    method: 'POST',
    access: 'write',
    path: '/api/gateway/customers/{customerId}/block',
    tag: 'customers',
    summary: 'Block a customer',
    description:
      'From now on no session is created for the customer, and no payment begun on those there are. What is under way goes on, and money that comes counts: it is real. One that is blocked stays so. The body is optional.',
    params: customerId,
    body: blockRequest,
    requestExample: { reason: 'chargebacks' },
    response: customer,
    errors: ['not_found', 'invalid_state'],
    errorExamples: { invalid_state: erased },
  },
  unblockCustomer: {
    operationId: 'unblockCustomer',
    method: 'POST',
    access: 'write',
    path: '/api/gateway/customers/{customerId}/unblock',
    tag: 'customers',
    summary: 'Unblock a customer',
    description: 'Undoes a block; one that is active stays so. Takes no body.',
    params: customerId,
    response: customer,
    errors: ['not_found', 'invalid_state'],
    errorExamples: { invalid_state: erased },
  },
  exportCustomer: {
    operationId: 'exportCustomer',
    method: 'GET',
    access: 'admin',
    path: '/api/gateway/customers/{customerId}/export',
    tag: 'customers',
    summary: 'Export a customer',
    description: 'Everything that is kept about one buyer, in one document.',
    params: customerId,
    response: customerExport,
    errors: ['not_found'],
  },
  eraseCustomer: {
    operationId: 'eraseCustomer',
    method: 'POST',
    access: 'admin',
    path: '/api/gateway/customers/{customerId}/erase',
    tag: 'customers',
    summary: 'Erase a customer',
    description:
      'Takes away, for good, what can name the buyer: the address, metadata, redirect URLs and references, the bodies of provider messages and what receivers answered. Amounts, states, ids and the books stay; email becomes a placeholder. Sessions that no buyer has started expire, and idempotency keys stay used.\n\nRefused while a payment is pending, a refund under way or an event still to be delivered. Erasing once more takes away what has come since. The same address is a new customer afterwards. With SQLite, remnants of the old text can lie in unused parts of the file until the service is started again.',
    params: customerId,
    body: eraseRequest,
    requestExample: { confirm: SAMPLE_CUSTOMER_ID },
    response: customer,
    errors: ['not_found', 'invalid_state'],
    errorExamples: {
      invalid_input: {
        message: 'confirm: is not the id of the customer',
        field: 'confirm',
        suggestion: `Set confirm to "${SAMPLE_CUSTOMER_ID}"; then resend.`,
        issues: [{ path: 'confirm', code: 'invalid_value', message: 'is not the id of the customer' }],
      },
      invalid_state: {
        message: `Customer ${SAMPLE_CUSTOMER_ID} cannot be erased yet: payments are pending (pay_01m7x0e9zb4c7r2k5v8q1w3n6t0y9f2d4h7j).`,
        suggestion: 'Block the customer, so that nothing new begins, and erase it once these have ended.',
      },
    },
  },
} as const satisfies Record<string, Endpoint>;
