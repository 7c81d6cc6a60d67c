import { z } from 'zod';
import { actionsOf } from '../domain/discrepancy.ts';
import { amountFromCents } from '../domain/money.ts';
import { DISCREPANCY_KINDS, DISCREPANCY_STATUSES, type Discrepancy, RESOLUTIONS } from '../domain/records.ts';
import { dollars, id, label, time } from './described.ts';
import { text } from './fields.ts';
import { SAMPLE_PROVIDER } from './requests.ts';
import { environment, idOf, listQuery } from './queries.ts';
import { timestamp } from './render.ts';

const actions = ['refund', 'accept'] as const;
const MAX_NOTE = 500;

/** Body of `POST /api/gateway/discrepancies/{discrepancyId}/resolve`. */
export const resolveRequest = z.strictObject({
  action: z
    .enum(actions)
    .describe('refund: the buyer gets the money back; accept: it is taken as it is. One of the actions of the record.')
    .meta({ examples: ['refund'] }),
  note: text(1, MAX_NOTE)
    .optional()
    .describe(
      `Your words on it, 1 to ${MAX_NOTE} characters. Needed where nothing can be booked; refused where the buyer was erased.`,
    )
    .meta({ examples: ['agreed with the buyer by phone'] }),
});

export const discrepanciesQuery = listQuery('dis', {
  kind: z.enum(DISCREPANCY_KINDS).optional().describe('Only discrepancies of this kind.'),
  status: z.enum(DISCREPANCY_STATUSES).optional().describe('Only open, or only resolved ones.'),
  sessionId: idOf('Only discrepancies of this session', 'chk'),
  environment,
});

export const discrepancy = z.strictObject({
  id: id('dis', 'The discrepancy.'),
  object: z.literal('discrepancy').describe('Always discrepancy.'),
  kind: z
    .enum(DISCREPANCY_KINDS)
    .describe(
      'surplus: a second payment for a paid session. The other kinds are provider messages that were not booked. amount_mismatch, currency_mismatch: a wrong amount or currency; environment_mismatch, provider_mismatch: about a payment of the other environment, or of another provider; event_conflict: a reused event id with different content; unknown_payment: money for a payment that is not one of the session.',
    )
    .meta({ examples: ['amount_mismatch'] }),
  status: z
    .enum(DISCREPANCY_STATUSES)
    .describe('open, until the money is where it should be.')
    .meta({ examples: ['open'] }),
  environment: z.enum(['sandbox', 'production']).describe('That of the session.'),
  sessionId: id('chk', 'The checkout session.'),
  customerId: id('cus', 'The customer.'),
  paymentId: id('pay', 'The payment that it is about, or null where there is none of ours.').nullable(),
  provider: label('Who has the money, or null where nobody wrote it down.', SAMPLE_PROVIDER).nullable(),
  providerEventId: label("The provider's message that told of it, or null.", 'ev_9c1f').nullable(),
  expected: dollars(
    "The expected part of the session's amount, without the buyer's fee. 0 if no more money was expected: for a surplus, for an event_conflict, and for money beyond an earlier decision.",
    49.99,
  ),
  received: dollars('What came of that; where nothing more was to come, all that came beyond.', 48.99),
  currency: label('The currency of what came, or null where nobody wrote it down.', 'USD').nullable(),
  actions: z
    .array(z.enum(actions))
    .describe('What can be done about it now; none while a refund is under way, and none once it is resolved.')
    .meta({ examples: [['refund', 'accept']] }),
  refundId: id('ref', 'The newest refund of it, or null.')
    .nullable()
    .meta({ examples: [null] }),
  resolution: z
    .enum(RESOLUTIONS)
    .nullable()
    .describe('What became of it, or null. paid_in_full: the right amount came after all, and this is part of it.')
    .meta({ examples: [null] }),
  note: label('What was noted when it was resolved, or null.', 'agreed with the buyer by phone')
    .nullable()
    .meta({ examples: [null] }),
  created: time('When it was found.'),
  resolvedAt: time('When it was resolved, or null.')
    .nullable()
    .meta({ examples: [null] }),
});
export type DiscrepancyResource = z.output<typeof discrepancy>;

export function renderDiscrepancy(record: Discrepancy): DiscrepancyResource {
  return {
    id: record.id,
    object: 'discrepancy',
    kind: record.kind,
    status: record.status,
    environment: record.environment,
    sessionId: record.sessionId,
    customerId: record.customerId,
    paymentId: record.paymentId,
    provider: record.provider,
    providerEventId: record.eventId,
    expected: amountFromCents(record.expected),
    received: amountFromCents(record.received),
    currency: record.currency,
    actions: actionsOf(record),
    refundId: record.refundId,
    resolution: record.resolution,
    note: record.note,
    created: timestamp(record.created),
    resolvedAt: record.resolvedAt === null ? null : timestamp(record.resolvedAt),
  };
}
