import { SAMPLE_PAYMENT_ID, SAMPLE_REFUND_ID } from './described.ts';
import type { Endpoint } from './endpoint.ts';
import { refund, refundRequest, refundsOfPaymentQuery, refundsQuery } from './refunds.ts';
import { listOf } from './resources.ts';

const paymentId = {
  paymentId: { description: 'A payment (pay_...) or a session (chk_...).', example: SAMPLE_PAYMENT_ID },
};

/** Money that goes back to buyers. */
export const REFUND_ENDPOINTS = {
  createRefund: {
    operationId: 'createRefund',
    method: 'POST',
    access: 'write',
    path: '/api/gateway/payments/{paymentId}/refunds',
    tag: 'refunds',
    summary: 'Refund a payment',
    description:
      "Gives back what the buyer paid, or a part of it, as often as something is left: the total, with the buyer's fee. Fees and costs are given back in proportion. The refund is pending until the provider says what became of it: read it again, or look at the payment's refundedAmount.\n\nWith an idempotencyKey, the same request can be sent again safely: it answers the first refund, with the header Idempotent-Replayed: true; the same key with another body or payment is refused. All fields are optional, and so is the body.",
    params: paymentId,
    body: refundRequest,
    requestExample: { amount: 10, reason: 'requested_by_customer' },
    response: refund,
    errors: ['not_found', 'invalid_state', 'idempotency_conflict'],
    errorExamples: {
      invalid_input: {
        message: 'amount: is more than the 39.99 USD that is left of the payment',
        field: 'amount',
        suggestion: 'Set amount to at most 39.99, or leave it out to refund all that is left.',
        issues: [
          { path: 'amount', code: 'too_big', message: 'is more than the 39.99 USD that is left of the payment' },
        ],
      },
      invalid_state: {
        message: `Payment ${SAMPLE_PAYMENT_ID} is pending: only a paid one is refunded.`,
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
  listRefundsOfPayment: {
    operationId: 'listRefundsOfPayment',
    method: 'GET',
    access: 'read',
    path: '/api/gateway/payments/{paymentId}/refunds',
    tag: 'refunds',
    summary: 'List the refunds of a payment',
    description: 'Newest first.',
    params: paymentId,
    query: refundsOfPaymentQuery,
    response: listOf(refund),
    errors: ['not_found'],
  },
  listRefunds: {
    operationId: 'listRefunds',
    method: 'GET',
    access: 'read',
    path: '/api/gateway/refunds',
    tag: 'refunds',
    summary: 'List refunds',
    description: 'Newest first. status=failed lists those whose money the buyer does not have.',
    query: refundsQuery,
    response: listOf(refund),
    errors: [],
  },
  getRefund: {
    operationId: 'getRefund',
    method: 'GET',
    access: 'read',
    path: '/api/gateway/refunds/{refundId}',
    tag: 'refunds',
    summary: 'Get a refund',
    description: 'One refund with its present status.',
    params: { refundId: { description: 'A refund: ref_...', example: SAMPLE_REFUND_ID } },
    response: refund,
    errors: ['not_found'],
  },
} as const satisfies Record<string, Endpoint>;
