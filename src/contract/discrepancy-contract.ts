import { z } from 'zod';
import { actionsOf } from '../domain/discrepancy.ts';
import { DISCREPANCY_KINDS, DISCREPANCY_STATUSES, type Discrepancy, RESOLUTIONS } from '../domain/records.ts';
import { endpoints } from './endpoint.ts';
import { fieldError } from './error-contract.ts';
import { text } from './request-fields.ts';
import { environment, idOf, list, listQuery } from './list-query.ts';
import * as field from './resource-fields.ts';
import { rendererFrom, resource } from './resource.ts';
import { SAMPLE_IDS, SAMPLE_PROVIDER } from './sample-ids.ts';

const ACTIONS = ['refund', 'accept'] as const;
const MAX_NOTE = 500;

const resolveRequest = z.strictObject({
  action: field.choice(
    ACTIONS,
    'refund: the buyer gets the money back; accept: the merchant keeps the money. Must be in the actions of the discrepancy.',
    'refund',
  ),
  note: field.optional(
    text(1, MAX_NOTE),
    `Your note, 1 to ${MAX_NOTE} characters. Required for accept if the money cannot be booked; rejected if the buyer was erased.`,
    'agreed with the buyer by phone',
  ),
});

const discrepanciesQuery = listQuery('dis', {
  kind: z.optional(field.choice(DISCREPANCY_KINDS, 'Only discrepancies of this kind.')),
  status: z.optional(field.choice(DISCREPANCY_STATUSES, 'Only open, or only resolved discrepancies.')),
  sessionId: idOf('Only discrepancies of this session', 'chk'),
  environment,
});

export const discrepancy = resource('Discrepancy', 'discrepancy', {
  id: field.id('dis', 'The discrepancy.'),
  kind: field.choice(
    DISCREPANCY_KINDS,
    'surplus: a second payment for a paid session. reversal: money that the provider has taken back, or may take back, which is booked. All other kinds are provider messages that were not booked. amount_mismatch, currency_mismatch: the amount or currency is wrong; refund_excess: a refund made at the provider exceeds the rest of the payment; environment_mismatch, provider_mismatch: the message refers to a payment of the other environment or of another provider; event_conflict: an event id was reused with different content; unknown_payment: the payment does not belong to the session.',
    'amount_mismatch',
  ),
  status: field.choice(DISCREPANCY_STATUSES, 'open until the money is refunded or accepted, then resolved.', 'open'),
  environment: field.environmentOf('Environment of the session.'),
  sessionId: field.id('chk', 'The checkout session.'),
  customerId: field.id('cus', 'The customer.'),
  paymentId: field.id('pay', 'The payment, or null if it is unknown.').nullable(),
  provider: field.label('The provider that has the money, or null if it is unknown.', SAMPLE_PROVIDER).nullable(),
  providerEventId: field.label("Id of the provider's message that reported the money, or null.", 'ev_9c1f').nullable(),
  expected: field.dollars(
    "The expected amount, without the buyer's fee. 0 if no more money was expected: for surplus, for event_conflict, and for money that arrived after an earlier resolution.",
    49.99,
  ),
  received: field.dollars(
    "The received amount, without the buyer's fee; if expected is 0, all unexpected money.",
    48.99,
  ),
  currency: field.label('Currency of the received money, or null if it is unknown.', 'USD').nullable(),
  actions: z
    .array(z.enum(ACTIONS))
    .describe('The actions that are possible now; empty while a refund is in progress and after the resolution.')
    .meta({ examples: [['refund', 'accept']] }),
  refundId: field.orNull(field.id('ref', 'The newest refund of the discrepancy, or null.')),
  resolution: field.orNull(
    field.choice(RESOLUTIONS, 'The resolution, or null. paid_in_full: later money completed the right amount.'),
  ),
  note: field.orNull(field.label('The note of the resolution, or null.', 'agreed with the buyer by phone')),
  created: field.time('Time of detection.'),
  resolvedAt: field.orNull(field.time('Time of the resolution, or null.')),
});

export const renderDiscrepancy = rendererFrom(discrepancy, (record: Discrepancy) => ({
  ...record,
  providerEventId: record.eventId,
  actions: actionsOf(record),
}));

export const DISCREPANCY_ENDPOINTS = endpoints('discrepancies', {
  listDiscrepancies: list(
    '/api/gateway/discrepancies',
    'List discrepancies',
    discrepanciesQuery,
    discrepancy,
    'Newest first. status=open lists unresolved discrepancies.',
  ),
  getDiscrepancy: {
    route: 'GET /api/gateway/discrepancies/{discrepancyId}',
    summary: 'Get a discrepancy',
    description: 'One discrepancy, with the actions that are possible.',
    response: discrepancy,
  },
  resolveDiscrepancy: {
    route: 'POST /api/gateway/discrepancies/{discrepancyId}/resolve',
    summary: 'Resolve a discrepancy',
    description:
      'refund returns the money to the buyer. The discrepancy stays open until the refund succeeds, and can be resolved again if the refund fails. The service itself refunds a surplus; use refund for it only if that has failed.\n\naccept of an amount_mismatch treats the received amount as payment in full: the session becomes paid, its event is sent, and the merchant bears the difference. accept of a surplus lets the merchant keep the money. Money of all other kinds cannot be booked: ask the provider to return it, then use accept with a note about it.',
    body: resolveRequest,
    requestExample: { action: 'refund' },
    response: discrepancy,
    errors: ['invalid_state'],
    errorExamples: {
      invalid_input: fieldError(
        'action',
        'invalid_value',
        'must be one of "refund", "accept"',
        'Set action to "refund" or "accept"; then resend.',
      ),
      invalid_state: {
        message: `Discrepancy ${SAMPLE_IDS.dis} is resolved already: accepted.`,
        suggestion: 'Leave it: a decision is final.',
      },
    },
  },
});
