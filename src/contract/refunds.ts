import { z } from 'zod';
import { amountFromCents } from '../domain/money.ts';
import { CURRENCY } from '../domain/records.ts';
import { REFUND_REASONS, REFUND_STATUSES, type Refund } from '../domain/refund.ts';
import { dollars, id, label, time } from './described.ts';
import { sampleAmount, text } from './fields.ts';
import { environment, idOf, listQuery, status } from './queries.ts';
import { timestamp } from './render.ts';

const GIVEN_REASONS = ['requested_by_customer', 'duplicate', 'fraudulent', 'other'] as const;

/** Body of `POST /api/gateway/payments/{paymentId}/refunds`. */
export const refundRequest = z.strictObject({
  amount: sampleAmount
    .optional()
    .describe('US dollars, not cents: more than 0, at most what is left. Left out: all that is left.')
    .meta({ examples: [10] }),
  reason: z
    .enum(GIVEN_REASONS)
    .optional()
    .describe('Why: for your own records.')
    .meta({ examples: ['requested_by_customer'] }),
  idempotencyKey: text(8, 120)
    .optional()
    .describe('Your key, 8 to 120 characters: a resend answers the same refund. Keys of sessions are others.')
    .meta({ examples: ['your-refund-id'] }),
});
export type RefundRequestBody = z.output<typeof refundRequest>;

export const refundsQuery = listQuery('ref', {
  paymentId: idOf('Only refunds of this payment', 'pay'),
  sessionId: idOf('Only refunds of this session', 'chk'),
  status: status.meta({ examples: ['failed'] }),
  environment,
});

export const refundsOfPaymentQuery = listQuery('ref', { status: status.meta({ examples: ['failed'] }) });

export const refund = z.strictObject({
  id: id('ref', 'The refund.'),
  object: z.literal('refund').describe('Always refund.'),
  paymentId: id('pay', 'The payment.'),
  sessionId: id('chk', 'The checkout session.'),
  environment: z.enum(['sandbox', 'production']).describe('That of the payment.'),
  amount: dollars('What goes back to the buyer.', 10),
  currency: z
    .string()
    .describe('Always USD.')
    .meta({ examples: [CURRENCY] }),
  reason: z
    .enum(REFUND_REASONS as ['requested_by_customer', 'duplicate', 'fraudulent', 'surplus', 'mismatch', 'other'])
    .nullable()
    .describe(
      'As given, or null. surplus and mismatch are given back unasked: a second payment of an order, and money of another amount than asked for.',
    )
    .meta({ examples: ['requested_by_customer'] }),
  status: z
    .enum(REFUND_STATUSES as ['pending', 'succeeded', 'failed'])
    .describe(
      'pending: the provider is still to say; succeeded: it has paid the money out; failed: the buyer does not have it. A bank can send money back days later: succeeded then becomes failed, which is final.',
    )
    .meta({ examples: ['pending'] }),
  failureReason: label('Why it failed, in words, or null.', "the buyer's bank declined the refund")
    .nullable()
    .meta({ examples: [null] }),
  created: time('When it was asked for.'),
  updated: time('When its status last changed.'),
});
export type RefundResource = z.output<typeof refund>;

export function renderRefund(record: Refund): RefundResource {
  return {
    id: record.id,
    object: 'refund',
    paymentId: record.paymentId,
    sessionId: record.sessionId,
    environment: record.environment,
    amount: amountFromCents(record.amount),
    currency: CURRENCY,
    reason: record.reason,
    status: record.status,
    failureReason: record.failureReason,
    created: timestamp(record.created),
    updated: timestamp(record.updated),
  };
}
