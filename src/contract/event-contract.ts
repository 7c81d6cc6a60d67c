import { z } from 'zod';
import type { FeeSplit } from '../domain/fees.ts';
import { type Instant, PROVIDER_STATUSES, type ProviderStatus, eventId, sessionOfEvent } from '../domain/records.ts';
import type { PaymentRoute } from '../domain/route.ts';
import { EVERY_TYPE } from '../domain/webhook-endpoint.ts';
import { checkedText } from './request-fields.ts';
import { anyText, environment, idOf, listQuery } from './list-query.ts';
import { carrierFields, fees, feesOf } from './payment-contract.ts';
import * as field from './resource-fields.ts';
import { named, rendererFrom } from './resource.ts';
import { SAMPLE_IDS, SAMPLE_TX_HASH } from './sample-ids.ts';
import { currency, metadata } from './session-contract.ts';

export const providerStatus = field.choice(
  PROVIDER_STATUSES,
  'provider_pending: accepted, not confirmed; paid: confirmed, safe to fulfil; failed.',
  'paid',
);

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
      })
      .describe('The payment at that moment.'),
  }),
);
export type WebhookEvent = z.output<typeof webhookEvent>;

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
}

export const renderEvent = rendererFrom(webhookEvent, (facts: EventFacts) => {
  const { sessionId, customerId, status, route, txHash } = facts;
  const { asset, network } = route;
  const ids = { session_id: sessionId, customer_id: customerId, tx_hash: txHash };
  const data = { ...facts, ...ids, asset, network, fees: feesOf(facts.fees) };
  return { ...facts, id: eventId(sessionId, status), type: `payment.${status}` as const, data };
});

/** The list envelope as JSON text, in which every event has the same bytes as in its deliveries. */
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
      'Id of an event, for the feed: the events that became visible after it, oldest first. Empty: from the beginning. Not together with sessionId, startingAfter or endingBefore.',
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
