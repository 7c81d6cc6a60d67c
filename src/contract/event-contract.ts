import { z } from 'zod';
import { disputeEventId, eventId, healthEventId, refundEventId, sourceOfEvent } from '../domain/event-id.ts';
import type { FeeSplit } from '../domain/fees.ts';
import { type Instant, PROVIDER_STATUSES, type ProviderStatus } from '../domain/records.ts';
import { REFUND_REASONS, type Refund } from '../domain/refund-record.ts';
import { REVERSAL_STATUSES } from '../domain/provider-report.ts';
import type { Reversal } from '../domain/reversal.ts';
import type { PaymentRoute, Route, RouteHealth } from '../domain/route.ts';
import { PAYMENT_TYPES, type PaymentEventType } from '../domain/webhook-endpoint.ts';
import { checkedText, notTogether } from './request-fields.ts';
import { anyText, environment, idOf, listQuery } from './list-query.ts';
import { routeFields, fees, feesOf } from './payment-contract.ts';
import * as field from './resource-fields.ts';
import { named, rendererFrom } from './resource.ts';
import { routeHealth } from './route-contract.ts';
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

const routeOfEvent = z.strictObject({ ...routeFields, provider: field.label('The provider.', 'sandbox') });

/** Body of a webhook delivery about a payment. */
export const paymentEvent = named(
  'PaymentEvent',
  z.strictObject({
    id: field.label('The event: process each id once.', SAMPLE_IDS.evt),
    type: field.choice(PAYMENT_TYPES, 'Fulfil on payment.paid only.', 'payment.paid'),
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
        route: routeOfEvent.describe('The route of the payment.'),
        fees,
        tx_hash: field.label("The provider's transaction reference, or null.", SAMPLE_TX_HASH).nullable(),
        metadata,
        refund: refundOfEvent.optional(),
        dispute: disputeOfEvent.optional(),
      })
      .describe('The payment at that moment.'),
  }),
);
export type PaymentEvent = z.output<typeof paymentEvent>;

/** Body of a webhook delivery about the health of a route. */
export const routeHealthEvent = named(
  'RouteHealthEvent',
  z.strictObject({
    id: field.label('The event: process each id once.', healthEventId(SAMPLE_IDS.rtr)),
    type: field.choice(['route.health_changed'], 'Sent only if the endpoint lists this type.', 'route.health_changed'),
    livemode: field.flag('true for production, false for sandbox.', false),
    created: field.time('Time of the change.'),
    data: z
      .strictObject({
        route: routeOfEvent.describe('The route.'),
        from: routeHealth('Before.'),
        to: routeHealth('After.'),
        cause: field.label('Machine-readable cause.', 'handoff_errors_in_a_row'),
        words: field.label('The new health and its cause, as text.', 'standby: 3 handoff errors in a row'),
      })
      .describe('The change of the health.'),
  }),
);

/** Body of every webhook delivery. */
export const webhookEvent = named('WebhookEvent', z.union([paymentEvent, routeHealthEvent]));

/** A change of a route's health, from which its event is rendered. */
interface HealthFacts {
  id: string;
  from: RouteHealth;
  to: RouteHealth;
  cause: string;
  words: string;
  created: Instant;
}

export const renderHealthEvent = rendererFrom(routeHealthEvent, (route: Route, transition: HealthFacts) => ({
  id: healthEventId(transition.id),
  type: 'route.health_changed' as const,
  livemode: route.environment === 'production',
  created: transition.created,
  data: { ...transition, route: { ...route, provider: route.integrationId } },
}));

/** Data from which an event about a payment is rendered. */
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

export const renderEvent = rendererFrom(paymentEvent, (facts: EventFacts) => {
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

function identityOf({ sessionId, status, refund, dispute }: EventFacts): { id: string; type: PaymentEventType } {
  if (refund) return { id: refundEventId(refund), type: 'payment.refunded' };
  if (dispute) return { id: disputeEventId(dispute), type: 'payment.disputed' };
  return { id: eventId(sessionId, status), type: `payment.${status}` };
}

/** List of events as JSON text. Contains each stored body unchanged, so that it has the same bytes as in the deliveries. */
export function eventListText({ items, hasMore }: { items: readonly { body: string }[]; hasMore: boolean }): string {
  return `{"object":"list","data":[${items.map(({ body }) => body).join(',')}],"hasMore":${hasMore}}`;
}

export const eventsQuery = listQuery('evt', {
  sessionId: idOf('Only events of this session', 'chk'),
  type: anyText('Only events of this type. A type that does not exist matches nothing.', 'payment.paid'),
  environment,
  after: checkedText('id', (value) =>
    value === '' || sourceOfEvent(value) !== undefined
      ? undefined
      : 'must be the id of an event, or empty to begin with the oldest',
  )
    .optional()
    .describe(
      'Reads the feed: returns the events that became visible after the event with this id, oldest first. Empty: from the oldest event. Not together with sessionId, startingAfter or endingBefore.',
    )
    .meta({ examples: [SAMPLE_IDS.evt] }),
})
  .refine(({ after, sessionId }) => after === undefined || sessionId === undefined, notTogether('sessionId', 'after'))
  .refine(
    ({ after, startingAfter }) => after === undefined || startingAfter === undefined,
    notTogether('startingAfter', 'after'),
  )
  .refine(
    ({ after, endingBefore }) => after === undefined || endingBefore === undefined,
    notTogether('endingBefore', 'after'),
  );
