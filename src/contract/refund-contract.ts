import { z } from 'zod';
import { MERCHANT_REFUND_REASONS, REFUND_REASONS, REFUND_STATUSES } from '../domain/refund-record.ts';
import { endpoints, get } from './endpoint.ts';
import { fieldError } from './error-contract.ts';
import { sampleAmount, text } from './request-fields.ts';
import { environment, idOf, list, listQuery, status as statusFilter } from './list-query.ts';
import * as field from './resource-fields.ts';
import { rendererOf, resource } from './resource.ts';
import { SAMPLE_IDS } from './sample-ids.ts';

const status = statusFilter.meta({ examples: ['failed'] });

export const refundRequest = z.strictObject({
  amount: field.optional(
    sampleAmount,
    'US dollars, not cents: more than 0, at most the remaining amount of the payment. Default: the remaining amount.',
    10,
  ),
  reason: z
    .optional(field.choice(MERCHANT_REFUND_REASONS, 'Reason for your own records.'))
    .meta({ examples: ['requested_by_customer'] }),
  idempotencyKey: field.optional(
    text(8, 120),
    'Unique key, 8 to 120 characters: a repeated request returns the same refund. Keys of sessions are separate.',
    'your-refund-id',
  ),
});
export type RefundRequestBody = z.output<typeof refundRequest>;

const refundsQuery = listQuery('ref', {
  paymentId: idOf('Only refunds of this payment', 'pay'),
  sessionId: idOf('Only refunds of this session', 'chk'),
  status,
  environment,
});

const refundsOfPaymentQuery = listQuery('ref', { status });

export const refund = resource('Refund', 'refund', {
  id: field.id('ref', 'The refund.'),
  paymentId: field.id('pay', 'The payment.'),
  sessionId: field.id('chk', 'The checkout session.'),
  environment: field.environmentOf('Environment of the payment.'),
  amount: field.dollars('The refunded amount.', 10),
  currency: field.currency(),
  reason: field
    .choice(
      REFUND_REASONS,
      'Reason from the request, or null. The service itself refunds surplus (a second payment for a session) and mismatch (a wrong amount).',
    )
    .nullable()
    .meta({ examples: ['requested_by_customer'] }),
  status: field.choice(
    REFUND_STATUSES,
    'pending: the provider has not reported an outcome; succeeded: the provider paid the money out; failed: the buyer did not get the money. If a bank returns the money days later, succeeded becomes failed, which is final.',
    'pending',
  ),
  failureReason: field.orNull(
    field.label('Reason of the failure as text, or null.', "the buyer's bank declined the refund"),
  ),
  created: field.time('Request time.'),
  updated: field.time('Time of the last status change.'),
});

export const renderRefund = rendererOf(refund);

export const REFUND_ENDPOINTS = endpoints('refunds', {
  createRefund: {
    route: 'POST /api/gateway/payments/{paymentId}/refunds',
    summary: 'Refund a payment',
    description:
      "Refunds a payment to its buyer, fully or in part. Several partial refunds are possible, up to the total including the buyer's fee. Fees and costs are refunded in proportion. The refund is pending until the provider reports its outcome: get the refund again, or check refundedAmount of the payment.\n\nWith an idempotencyKey, the request can be repeated safely: it returns the first refund, with the header Idempotent-Replayed: true; the same key with another body or payment is rejected. All fields are optional, and so is the body.",
    body: refundRequest,
    requestExample: { amount: 10, reason: 'requested_by_customer' },
    response: refund,
    errors: ['invalid_state', 'idempotency_conflict'],
    errorExamples: {
      invalid_input: fieldError(
        'amount',
        'too_big',
        'is more than the 39.99 USD that is left of the payment',
        'Set amount to at most 39.99, or leave it out to refund all that is left.',
      ),
      invalid_state: {
        message: `Payment ${SAMPLE_IDS.pay} is pending: only a paid one is refunded.`,
        suggestion: 'Read the payment, and refund it once its status is paid.',
      },
      idempotency_conflict: {
        message: 'This idempotencyKey was used for another refund.',
        field: 'idempotencyKey',
        suggestion:
          'Resend the first body to the first payment to get its refund again, or set idempotencyKey to a new key.',
        issues: [{ path: 'idempotencyKey', code: 'idempotency_conflict', message: 'was used for another refund' }],
      },
    },
  },
  listRefundsOfPayment: list(
    '/api/gateway/payments/{paymentId}/refunds',
    'List the refunds of a payment',
    refundsOfPaymentQuery,
    refund,
  ),
  listRefunds: list(
    '/api/gateway/refunds',
    'List refunds',
    refundsQuery,
    refund,
    'Newest first. status=failed lists refunds that did not reach the buyer.',
  ),
  getRefund: get('/api/gateway/refunds/{refundId}', 'Get a refund', refund, 'One refund with its current status.'),
});
