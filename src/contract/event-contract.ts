import { z } from 'zod';
import { disputeEventId, eventId, refundEventId, sessionOfEvent } from '../domain/event-id.ts';
import type { FeeSplit } from '../domain/fees.ts';
import { type Instant, PROVIDER_STATUSES, type ProviderStatus } from '../domain/records.ts';
import { REFUND_REASONS, type Refund } from '../domain/refund-record.ts';
import { REVERSAL_STATUSES } from '../domain/provider-report.ts';
import type { Reversal } from '../domain/reversal.ts';
import type { PaymentRoute } from '../domain/route.ts';
import { EVERY_TYPE, type EventType } from '../domain/webhook-endpoint.ts';
import { checkedText } from './request-fields.ts';
import { anyText, environment, idOf, listQuery } from './list-query.ts';
import { carrierFields, fees, feesOf } from './payment-contract.ts';
import * as field from './resource-fields.ts';
import { named, rendererFrom } from './resource.ts';
import { SAMPLE_IDS, SAMPLE_TX_HASH } from './sample-ids.ts';
import { currency, metadata } from './session-contract.ts';

/** Status of a payment as the provider reports it. */
export const providerStatus = field.choice(
  PROVIDER_STATUSES,
  'provider_pending: accepted, not confirmed; paid: confirmed, safe to fulfil; failed.',
  'paid',
);

const refundOfEvent = z
  .strictObject({
    id: field.id('ref', 'The refund.'),
    amount: field.dollars('The refunded amount.', 10),
    status: field.choice(
      ['succeeded', 'failed'],
      'failed: the refund had succeeded, and its money was returned later.',
      'succeeded',
    ),
    reason: field.choice(REFUND_REASONS, 'Reason of the refund, or null.', 'requested_by_customer').nullable(),
  })
  .describe('The refund: only in payment.refunded.');

const disputeOfEvent = z
  .strictObject({
    id: field.id('rev', 'The dispute.'),
    status: field.choice(REVERSAL_STATUSES, 'won: the money stays with the merchant; lost: with the buyer.', 'open'),
    amount: field.dollars('The amount that is taken back now.'),
    fee: field.dollars('The fee of the dispute that is charged now.', 15),
    reason: field.label("The provider's own reason, or null.", 'fraudulent').nullable(),
  })
  .describe('The dispute: only in payment.disputed.');

/** Body of every webhook delivery. */
export const webhookEvent = named(
  'WebhookEvent',
  z.strictObject({
    id: field.label('The event: process each id once.', SAMPLE_IDS.evt),
    type: field.choice(EVERY_TYPE, 'Fulfil on payment.paid only.', 'payment.paid'),
    livemode: field.flag('true for production, false for sandbox.', false),
    created: field.time('Time of the state change.'),
    data: z
      .strictObject({
        session_id: field.id('chk', 'The checkout session.'),
        customer_id: field.id('cus', 'The customer.'),
        status: providerStatus,
        amount: field.dollars("The session's amount."),
        currency,
        asset: field.label('Settlement asset of the route.', 'USD'),
        network: field.label('Settlement network of the route.', 'card_network'),
        route: z
          .strictObject({ ...carrierFields, provider: field.label('The provider.', 'sandbox') })
          .describe('The route of the payment.'),
        fees,
        tx_hash: field.label("The provider's transaction reference, or null.", SAMPLE_TX_HASH).nullable(),
        metadata,
        refund: refundOfEvent.optional(),
        dispute: disputeOfEvent.optional(),
      })
      .describe('The payment at that moment.'),
  }),
);
export type WebhookEvent = z.output<typeof webhookEvent>;

/** Data from which a merchant event is rendered. */
export interface EventFacts {
  sessionId: string;
  customerId: string;
  status: ProviderStatus;
  livemode: boolean;
  amount: number;
  fees: FeeSplit;
  route: PaymentRoute;
  txHash: string | null;
  metadata: Record<string, string>;
  created: Instant;
  /** The refund that a `payment.refunded` event reports. */
  refund?: Refund;
  /** The dispute that a `payment.disputed` event reports. */
  dispute?: Reversal;
}

export const renderEvent = rendererFrom(webhookEvent, (facts: EventFacts) => {
  const { sessionId, customerId, route, txHash, refund, dispute } = facts;
  const { asset, network } = route;
  const ids = { session_id: sessionId, customer_id: customerId, tx_hash: txHash };
  const data = {
    ...facts,
    ...ids,
    asset,
    network,
    fees: feesOf(facts.fees),
    refund: refund && { ...refund, status: refund.status === 'failed' ? ('failed' as const) : ('succeeded' as const) },
    dispute: dispute && { ...dispute, amount: dispute.taken },
  };
  return { ...facts, ...identityOf(facts), data };
});

function identityOf({ sessionId, status, refund, dispute }: EventFacts): { id: string; type: EventType } {
  if (refund) return { id: refundEventId(refund), type: 'payment.refunded' };
  if (dispute) return { id: disputeEventId(dispute), type: 'payment.disputed' };
  return { id: eventId(sessionId, status), type: `payment.${status}` };
}

/** List of events as JSON text. Contains each stored body unchanged, so that it has the same bytes as in the deliveries. */
export function eventListText({ items, hasMore }: { items: readonly { body: string }[]; hasMore: boolean }): string {
  return `{"object":"list","data":[${items.map(({ body }) => body).join(',')}],"hasMore":${hasMore}}`;
}

const NOT_OF_THE_FEED = ['sessionId', 'startingAfter', 'endingBefore'] as const;

export const eventsQuery = listQuery('evt', {
  sessionId: idOf('Only events of this session', 'chk'),
  type: anyText('Only events of this type. A type that does not exist matches nothing.', 'payment.paid'),
  environment,
  after: checkedText('id', (value) =>
    value === '' || sessionOfEvent(value) !== undefined
      ? undefined
      : 'must be the id of an event, or empty to begin with the oldest',
  )
    .optional()
    .describe(
      'Reads the feed: returns the events that became visible after the event with this id, oldest first. Empty: from the oldest event. Not together with sessionId, startingAfter or endingBefore.',
    )
    .meta({ examples: [SAMPLE_IDS.evt] }),
}).check((context) => {
  const { value } = context;
  if (value.after === undefined) return;
  for (const path of NOT_OF_THE_FEED) {
    if (value[path] === undefined) continue;
    const params = { issueCode: 'invalid_value', remedy: 'remove' };
    const message = 'must not be given together with after';
    context.issues.push({ code: 'custom', path: [path], message, params, input: value });
  }
});
