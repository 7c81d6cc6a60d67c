import { z } from 'zod';
import { MERCHANT_REFUND_REASONS, REFUND_REASONS, REFUND_STATUSES } from '../domain/refund-record.ts';
import { endpoints, get } from './endpoint.ts';
import { fieldError } from './error-contract.ts';
import { checkedText, largeAmount, text } from './request-fields.ts';
import { environment, idOf, list, listQuery, status as statusFilter } from './list-query.ts';
import * as field from './resource-fields.ts';
import { rendererOf, resource } from './resource.ts';
import { SAMPLE_IDS } from './sample-ids.ts';

const status = statusFilter.meta({ examples: ['failed'] });

export const refundRequest = z.strictObject({
  amount: field.optional(
    largeAmount,
    'US dollars, not cents: more than 0, at most the remaining amount of the payment. Default: the remaining amount.',
    10,
  ),
  reason: field.choice(MERCHANT_REFUND_REASONS, 'Reason for your own records.', 'requested_by_customer').optional(),
  idempotencyKey: field.optional(
    text(8, 120),
    'Unique key, 8 to 120 characters: a repeated request returns the same refund. Keys of sessions are separate.',
    'your-refund-id',
  ),
});
export type RefundRequestBody = z.output<typeof refundRequest>;

const SAMPLE_TRANSACTION = `0x${'5f2b8c1d9e7a4036'.repeat(4)}`;
const MAX_REASON = 200;

const refundPaidRequest = z.strictObject({
  txHash: checkedText('transaction_hash', (value) =>
    /^0x[0-9a-f]{64}$/i.test(value) ? undefined : 'must be the hash of a transaction: 0x and 64 hexadecimal digits',
  )
    .transform((value) => value.toLowerCase())
    .describe('Hash of the transaction that sent the money to the buyer: 0x and 64 hexadecimal digits, in any case.')
    .meta({ pattern: '^0[xX][0-9a-fA-F]{64}$', examples: [SAMPLE_TRANSACTION] }),
});

const refundFailedRequest = z.strictObject({
  reason: text(1, MAX_REASON)
    .describe(`Why the buyer did not get the money, 1 to ${MAX_REASON} characters.`)
    .meta({ examples: ['the buyer names no address'] }),
});

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
      'requested_by_customer',
    )
    .nullable(),
  status: field.choice(
    REFUND_STATUSES,
    'pending: the provider has not reported an outcome, or an operator has not sent the money yet; succeeded: the provider paid the money out; failed: the buyer did not get the money. If a bank returns the money days later, succeeded becomes failed, which is final.',
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
  markRefundPaid: {
    route: 'POST /api/gateway/refunds/{refundId}/paid',
    summary: 'Confirm a refund that was sent by hand',
    description:
      'For refunds of payments whose provider cannot refund, such as USDC on a chain: the operator sends the money from a wallet, then names the transaction. The service verifies the transaction on the chain: it is final, transfers the right token, at least the amount of the refund, to an address that is not an address of this service, and has proved no other refund. The refund then is succeeded. A repeated request returns the refund.\n\ninvalid_input: the transaction does not pay the refund, or is not final yet. unavailable: the nodes of the chain do not answer or disagree; nothing was changed.',
    body: refundPaidRequest,
    requestExample: { txHash: SAMPLE_TRANSACTION },
    response: refund,
    errors: ['invalid_state'],
    errorExamples: {
      invalid_input: fieldError('txHash', 'invalid_value', 'is not final yet', 'Try again in 15 minutes.'),
      invalid_state: {
        message: `Refund ${SAMPLE_IDS.ref} was paid by the transaction ${SAMPLE_TRANSACTION}.`,
        suggestion: 'Leave it. If the money was sent twice, the second transfer is not part of the books.',
      },
    },
  },
  markRefundFailed: {
    route: 'POST /api/gateway/refunds/{refundId}/failed',
    summary: 'Give up a refund that was to be sent by hand',
    description:
      'For a pending refund of a payment whose provider cannot refund, and whose money the operator has not sent and will not send. The refund then is failed, which is final, and its amount can be refunded again. A repeated request returns the refund.',
    body: refundFailedRequest,
    requestExample: { reason: 'the buyer names no address' },
    response: refund,
    errors: ['invalid_state'],
    errorExamples: {
      invalid_input: fieldError(
        'reason',
        'too_small',
        'needs 1 or more',
        'Set reason to 1 or more characters; then resend.',
      ),
      invalid_state: {
        message: `The service itself requests refund ${SAMPLE_IDS.ref} from the provider stripe.`,
        suggestion: 'Wait for the answer of the provider: read the refund again.',
      },
    },
  },
});
