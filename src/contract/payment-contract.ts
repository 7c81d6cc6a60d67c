import { z } from 'zod';
import { FAILURE_CODES, FAILURE_SOURCES, failureMessage } from '../domain/failure.ts';
import type { FeeSplit } from '../domain/fees.ts';
import { INVOICE_STATUSES, PAYMENT_STATUSES, type ShownPayment } from '../domain/records.ts';
import { endpoints, get } from './endpoint.ts';
import {
  anyText,
  dollarsText,
  environment as environmentFilter,
  idOf,
  list,
  listOf,
  listQuery,
  status,
} from './list-query.ts';
import { moment } from './request-fields.ts';
import * as field from './resource-fields.ts';
import { kind } from './resource-fields.ts';
import { named, rendererFrom, rendererOf, resource } from './resource.ts';
import { SAMPLE_ROUTE_ID } from './sample-ids.ts';
import { currency, environment, metadata } from './session-contract.ts';

export const fees = named(
  'Fees',
  z
    .strictObject({
      buyer_fee: field.dollars('Fee that the buyer pays on top of the amount.', 0),
      gateway_fee: field.dollars('Fee that the gateway deducts from the amount.', 1.45),
      merchant_net: field.dollars("The merchant's part: amount minus gateway_fee.", 48.54),
      total: field.dollars("The buyer's price: amount plus buyer_fee."),
    })
    .describe('buyer_fee + gateway_fee + merchant_net = total, to the cent.'),
);

export const feeSplit = named(
  'FeeSplit',
  z
    .strictObject({
      buyerFee: field.dollars('Fee that the buyer pays on top of the amount.', 0),
      gatewayFee: field.dollars('Fee that the gateway deducts from the amount.', 1.45),
      merchantNet: field.dollars("The merchant's part: amount minus gatewayFee.", 48.54),
      total: field.dollars("The buyer's price: amount plus buyerFee."),
    })
    .describe('buyerFee + gatewayFee + merchantNet = total, to the cent.'),
);
export type FeeSplitResource = z.output<typeof feeSplit>;

export const renderFeeSplit = rendererOf(feeSplit);

/** Converts a fee split to the snake_case field names that payments and events use. */
export function feesOf({ buyerFee, gatewayFee, merchantNet, total }: FeeSplit) {
  return { buyer_fee: buyerFee, gateway_fee: gatewayFee, merchant_net: merchantNet, total };
}

/** Fields that describe the route in payments and events. */
export const routeFields = {
  id: field.label('The route.', SAMPLE_ROUTE_ID),
  kind,
  label: field.label('Name of the route.', 'Card, simulated acquirer'),
};

const paymentFailure = z
  .strictObject({
    code: field.choice(
      FAILURE_CODES,
      'Machine-readable cause. Later versions can add codes: treat an unknown code as declined.',
      'insufficient_funds',
    ),
    source: field.choice(
      FAILURE_SOURCES,
      "buyer: the buyer or the buyer's data; issuer: the buyer's bank or wallet; route: the provider; gateway: this service.",
      'buyer',
    ),
    reason: field
      .label("The provider's own reason, at most 200 characters; null if it gave none.", 'insufficient_funds')
      .nullable(),
    message: field.label('The cause as a sentence for a person.', "The buyer's account did not have enough funds."),
  })
  .describe('The cause of a payment failure.');

export const payment = resource('Payment', 'payment', {
  id: field.id('pay', 'The payment.'),
  customerId: field.id('cus', 'The customer.'),
  invoiceId: field.id('inv', 'The invoice of this payment.'),
  sessionId: field.id('chk', 'The checkout session.'),
  amount: field.dollars("The session's amount."),
  currency,
  status: field.choice(
    PAYMENT_STATUSES,
    'pending: not yet confirmed; paid: confirmed, safe to fulfil; failed: failed or rejected.',
  ),
  failure: field.orNull(paymentFailure).describe('The cause of the failure; null unless status is failed.'),
  ledgerStatus: field.choice(
    ['pending', 'settled', 'refunded'],
    'pending: settlement not yet recorded; settled: paid out to the merchant; refunded: fully refunded.',
  ),
  created: field.time('Start of this attempt by the buyer.'),
  route: z.strictObject(routeFields).describe('The route of the payment.'),
  fees,
  refundedAmount: field.dollars('The refunded part of the total.', 0),
  refundPendingAmount: field.dollars('The part of the total whose refund is pending.', 0),
  metadata,
  environment,
});
export type PaymentResource = z.output<typeof payment>;

export const renderPayment = rendererFrom(payment, (record: ShownPayment) => ({
  ...record,
  failure: renderFailure(record),
  fees: feesOf(record.fees),
  refundedAmount: record.refunded,
  refundPendingAmount: record.refundPending,
}));

/** Renders the failure of a payment; null unless the payment failed. */
export function renderFailure({
  failureCode: code,
  failureSource,
  failureReason: reason,
}: ShownPayment): PaymentResource['failure'] {
  if (code === null) return null;
  const source = failureSource ?? 'route';
  return { code, source, reason, message: failureMessage({ code, source }) };
}

export const invoice = resource('Invoice', 'invoice', {
  id: field.id('inv', 'The invoice.'),
  customerId: field.id('cus', 'The customer.'),
  paymentId: field.id('pay', 'The payment.'),
  sessionId: field.id('chk', 'The checkout session.'),
  amount: field.dollars("The session's amount."),
  currency,
  status: field.choice(
    INVOICE_STATUSES,
    'open: payment not yet received; paid: payment confirmed; void: voided before payment.',
  ),
  metadata,
  created: field.time('Creation time.'),
  environment,
});

export const renderInvoice = rendererOf(invoice);

export const paymentsQuery = listQuery('pay', {
  customerId: idOf('Only payments of this customer', 'cus'),
  invoiceId: idOf('Only the payment of this invoice', 'inv'),
  paymentId: idOf('Only this payment, or only payments of this session', 'pay', 'chk'),
  status,
  from: z.optional(moment('Only payments created at or after this time: ISO 8601.')),
  until: z.optional(moment('Only payments created before this time: ISO 8601.')),
  route: anyText('Only payments of this route.', SAMPLE_ROUTE_ID),
  reason: z.optional(field.choice(FAILURE_CODES, 'Only failed payments with this failure code.')),
  amountFrom: dollarsText('Only payments of at least this amount', 10),
  amountTo: dollarsText('Only payments of at most this amount', 49.99),
  environment: environmentFilter,
});

const invoicesQuery = listQuery('inv', {
  customerId: idOf('Only invoices of this customer', 'cus'),
  paymentId: idOf('Only the invoice of this payment', 'pay'),
  invoiceId: idOf('Only this invoice', 'inv'),
  status,
  environment: environmentFilter,
});

export const PAYMENT_ENDPOINTS = endpoints('payments', {
  listPayments: {
    ...list(
      '/api/gateway/payments',
      'List payments',
      paymentsQuery,
      payment,
      'Newest first. paymentId accepts a payment id or a session id. With route, reason, amountFrom or amountTo, one request examines at most 20,000 payments: if it stops before the page is full, hasMore is true, the page can be empty, and searchedTo is the cursor of the next request.',
    ),
    response: listOf(payment).extend({
      searchedTo: field
        .id('pay', 'The last payment that the request examined; only if it stopped before the page was full.')
        .optional(),
    }),
  },
  getPayment: {
    route: 'GET /api/gateway/payments/{paymentId}',
    access: 'look',
    summary: 'Get a payment',
    description:
      'One payment by payment id or session id. For a session, returns its paid payment, otherwise the newest payment.',
    response: payment,
  },
});

export const INVOICE_ENDPOINTS = endpoints('invoices', {
  listInvoices: list('/api/gateway/invoices', 'List invoices', invoicesQuery, invoice),
  getInvoice: get('/api/gateway/invoices/{invoiceId}', 'Get an invoice', invoice, 'One invoice.'),
});
