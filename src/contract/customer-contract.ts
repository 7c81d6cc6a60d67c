import { z } from 'zod';
import { CUSTOMER_STATUSES } from '../domain/records.ts';
import { deliveryDetails } from './delivery-contract.ts';
import { discrepancy } from './discrepancy-contract.ts';
import { endpoints, get } from './endpoint.ts';
import { fieldError } from './error-contract.ts';
import { paymentEvent } from './event-contract.ts';
import { text } from './request-fields.ts';
import { anyText, environment as environmentFilter, idOf, list, listQuery, status } from './list-query.ts';
import { invoice, payment } from './payment-contract.ts';
import { refund } from './refund-contract.ts';
import * as field from './resource-fields.ts';
import { named, rendererOf, resource } from './resource.ts';
import { SAMPLE_IDS, SAMPLE_PROVIDER } from './sample-ids.ts';
import { checkoutSession, environment } from './session-contract.ts';

const MAX_REASON = 500;

const customer = resource('Customer', 'customer', {
  id: field.id('cus', 'The customer.'),
  email: field.mail('Email address, as first given.'),
  status: field.choice(
    CUSTOMER_STATUSES,
    'active; blocked: no session can be created or paid; erased: personal data is removed, and email is a placeholder.',
  ),
  statusReason: field.orNull(field.label('Reason given for the block, or null.', 'chargebacks')),
  created: field.time('Creation time.'),
  environment,
});

export const renderCustomer = rendererOf(customer);

const customersQuery = listQuery('cus', {
  customerId: idOf('Only this customer', 'cus'),
  email: anyText('Only the customer with exactly this email address, ignoring case.', 'buyer@example.com'),
  status,
  environment: environmentFilter,
});

const blockRequest = z.strictObject({
  reason: field.optional(
    text(1, MAX_REASON),
    `Reason for your own records, 1 to ${MAX_REASON} characters. The buyer never sees it.`,
    'chargebacks',
  ),
});

const eraseRequest = z.strictObject({
  confirm: field.label('The same customer id again, as confirmation: erasure cannot be undone.', SAMPLE_IDS.cus),
});

const idempotencyKey = (example: string) => field.label('Idempotency key of the request, or null.', example).nullable();

const message = z.strictObject({
  provider: field.label('The sender.', SAMPLE_PROVIDER),
  eventId: field.label("The provider's id of the message.", 'ev_9c1f'),
  sessionId: field.id('chk', 'The checkout session.'),
  status: field.label('The reported status, normalised.', 'paid'),
  outcome: field.label('Effect of the message: applied, ignored, or the reason why it was flagged.', 'applied'),
  body: field.label('The received body, unchanged.', '{"event":"ev_9c1f"}'),
  received: field.time('Arrival time.'),
});
export const renderMessage = rendererOf(message);

const exportedSession = named(
  'ExportedSession',
  checkoutSession.extend({
    idempotencyKey: idempotencyKey('order-A-1001'),
    decisionId: field.label('The routing decision of the quote, or null.', SAMPLE_IDS.dec).nullable(),
  }),
);

const exportedPayment = named(
  'ExportedPayment',
  payment.extend({
    providerReference: field.label("The provider's own id of the payment, or null.", 'sbx_pay_9c1f').nullable(),
    providerUrl: field.label("The provider's page for the buyer, or null.", 'https://pay.example/9c1f').nullable(),
    txHash: field.label('Id of the transaction on a chain or at a bank, or null.', '0x9c1f').nullable(),
    card: field.label('Country, brand and funding of the card, or null.', 'DE visa debit').nullable(),
  }),
);

const exportedRefund = named('ExportedRefund', refund.extend({ idempotencyKey: idempotencyKey('refund-A-1001') }));

const customerExport = named(
  'CustomerExport',
  z.strictObject({
    object: z.literal('customer_export').describe('Always customer_export.'),
    exported: field.time('Time of this export.'),
    customer,
    sessions: z.array(exportedSession).describe('Newest first.'),
    payments: z.array(exportedPayment),
    invoices: z.array(invoice),
    refunds: z.array(exportedRefund),
    events: z.array(paymentEvent),
    deliveries: z.array(deliveryDetails).describe('Webhook deliveries with their attempt logs, including responses.'),
    providerMessages: z.array(message).describe('Provider messages about payments and refunds.'),
    discrepancies: z.array(discrepancy),
  }),
);

const invalid_state = {
  message: `Customer ${SAMPLE_IDS.cus} is erased: nothing can be created for it any more.`,
  suggestion: 'Leave it. A buyer who comes back with the same address is another customer, who can be blocked.',
};

export const CUSTOMER_ENDPOINTS = endpoints('customers', {
  listCustomers: list('/api/gateway/customers', 'List customers', customersQuery, customer),
  getCustomer: get('/api/gateway/customers/{customerId}', 'Get a customer', customer, 'One customer.'),
  blockCustomer: {
    route: 'POST /api/gateway/customers/{customerId}/block',
    summary: 'Block a customer',
    description:
      'Rejects new sessions of the customer, and new payments on existing sessions. Payments in progress continue, and their money is booked. Blocking a blocked customer changes nothing. The body is optional.',
    body: blockRequest,
    requestExample: { reason: 'chargebacks' },
    response: customer,
    errors: ['not_found', 'invalid_state'],
    errorExamples: { invalid_state },
  },
  unblockCustomer: {
    route: 'POST /api/gateway/customers/{customerId}/unblock',
    summary: 'Unblock a customer',
    description: 'Undoes a block. Unblocking an active customer changes nothing. Takes no body.',
    response: customer,
    errors: ['not_found', 'invalid_state'],
    errorExamples: { invalid_state },
  },
  exportCustomer: {
    route: 'GET /api/gateway/customers/{customerId}/export',
    access: 'admin',
    isExport: true,
    summary: 'Export a customer',
    description: 'All stored data about one buyer, in one document.',
    response: customerExport,
  },
  eraseCustomer: {
    route: 'POST /api/gateway/customers/{customerId}/erase',
    access: 'admin',
    summary: 'Erase a customer',
    description:
      'Permanently removes personal data of the buyer: the address, metadata, redirect URLs and references, bodies of provider messages and responses of receivers. Amounts, states, ids and the ledger stay; email becomes a placeholder. Sessions whose payment has not started expire, and idempotency keys stay used.\n\nRejected while a payment or refund is pending or an event is not yet delivered. Erasing the customer again removes data that arrived after the first erasure. A new session with the same address creates a new customer. With SQLite, unused parts of the file can contain the erased text until the service restarts.',
    body: eraseRequest,
    requestExample: { confirm: SAMPLE_IDS.cus },
    response: customer,
    errors: ['not_found', 'invalid_state'],
    errorExamples: {
      invalid_input: fieldError(
        'confirm',
        'invalid_value',
        'is not the id of the customer',
        `Set confirm to "${SAMPLE_IDS.cus}"; then resend.`,
      ),
      invalid_state: {
        message: `Customer ${SAMPLE_IDS.cus} cannot be erased yet: payments are pending (${SAMPLE_IDS.pay}).`,
        suggestion: 'Block the customer, so that nothing new begins, and erase it once these have ended.',
      },
    },
  },
});
