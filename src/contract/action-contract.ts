import { z } from 'zod';
import { PROVIDER_STATUSES } from '../domain/records.ts';
import { STATUS_TYPES } from '../domain/webhook-endpoint.ts';
import { paymentEvent, providerStatus } from './event-contract.ts';
import * as request from './request-fields.ts';
import { text } from './request-fields.ts';
import { feeSplit } from './payment-contract.ts';
import * as field from './resource-fields.ts';
import { named } from './resource.ts';
import { routeSummary } from './route-contract.ts';
import { SAMPLE_CHECKOUT_URL, SAMPLE_IDS, SAMPLE_PROVIDER, SAMPLE_ROUTE_ID, SAMPLE_TX_HASH } from './sample-ids.ts';
import { environment } from './session-contract.ts';
import { transferField } from './transfer-contract.ts';

// Inputs and results of the actions of the agent API.

const SAMPLE_AMOUNT = 49.99;

export const feesEstimateRequest = z.strictObject({
  amount: request.amount,
  preferredRoute: request.routeKind.optional().describe('Preferred payment method; local is a bank method.'),
  routeId: field.optional(text(3, 120), 'Id of the route to calculate for, 3 to 120 characters.', SAMPLE_ROUTE_ID),
  environment: request.environment,
});
export type FeesEstimateRequest = z.output<typeof feesEstimateRequest>;

const sampleText = (what: string, value: string) =>
  text(1, 120).default(value).describe(`${what}, 1 to 120 characters.`);

export const webhookExampleRequest = z.strictObject({
  event: field.choice(STATUS_TYPES, 'Event type of the sample.').default('payment.paid'),
  provider: sampleText('Provider', SAMPLE_PROVIDER),
  sessionId: sampleText('Session', SAMPLE_IDS.chk),
  customerId: sampleText('Customer', SAMPLE_IDS.cus),
  amount: request.largeAmount.default(SAMPLE_AMOUNT),
  routeId: sampleText('Route', SAMPLE_ROUTE_ID),
  txHash: text(1, 200)
    .nullable()
    .default(SAMPLE_TX_HASH)
    .describe("Provider's reference, 1 to 200 characters, or null."),
  livemode: z.boolean().default(false).describe('true for production.'),
  metadata: request.sampleMetadata,
});
export type WebhookExampleRequest = z.output<typeof webhookExampleRequest>;

export const verifySampleRequest = named(
  'VerifySampleRequest',
  z.strictObject({
    provider: sampleText('Provider', SAMPLE_PROVIDER),
    signature: field.optional(
      text(0, 500),
      'At most 500 characters. t=<unix>,v1=<64 hex> is verified; any other text is a placeholder.',
      'placeholder',
    ),
    payload: z
      .strictObject({
        eventId: field.described(
          text(1, 200),
          'Event id of the provider, 1 to 200 characters; each id is applied once.',
          'your-event-id',
        ),
        sessionId: field.described(text(1, 120), 'The checkout session, 1 to 120 characters.', SAMPLE_IDS.chk),
        status: field.choice(
          PROVIDER_STATUSES,
          'provider_pending: accepted; paid: confirmed; failed: the session ends unpaid.',
        ),
        amount: request.largeAmount.meta({ examples: [SAMPLE_AMOUNT] }),
        txHash: field.optional(text(1, 200), "Provider's reference, 1 to 200 characters.", SAMPLE_TX_HASH),
      })
      .describe('The callback.'),
  }),
  'input',
);
export type VerifySampleRequest = z.output<typeof verifySampleRequest>;

/** Input of an action without parameters. */
export const noInput = z.strictObject({});

export const checkoutResult = named(
  'CheckoutResult',
  z.strictObject({
    id: field.id('chk', 'The session; in a preview, a sample id without a session.'),
    merchant: field.label('The merchant that the buyer sees.', 'Demo merchant'),
    product: field.label('The product.', 'Field guide'),
    amount: field.dollars("The merchant's price."),
    customer: field.mail("The buyer's email address."),
    route: routeSummary,
    feeSplit,
    checkoutUrl: field.uri(
      'URL of the checkout page for the buyer. In a preview, the page only says that it is a preview.',
      SAMPLE_CHECKOUT_URL,
    ),
    redirectUrl: field.uri('Return URL of the buyer.', 'https://shop.example/thanks'),
    status: z.literal('routed').describe('Always routed: created, waiting for the buyer.'),
    environment,
    dryRun: field.flag('true for a preview: nothing was written.', false),
    idempotencyKey: field.label('Idempotency key of the request.', 'order-A-1001').optional(),
    clientReferenceId: field.label('Client reference id of the request.', 'A-1001').optional(),
    transfer: transferField(
      "The transfer from the buyer's own wallet that the payment waits for. Null before the buyer has chosen that method, so only a repeated request can have it.",
    ),
  }),
);
export type CheckoutResult = z.output<typeof checkoutResult>;

export const feesEstimateResult = named('FeesEstimate', z.strictObject({ environment, route: routeSummary, feeSplit }));

export const webhookExampleResult = named(
  'WebhookExample',
  z.strictObject({
    headers: z
      .record(z.string(), z.string())
      .describe('Headers of the delivery, signed with the sample webhook secret.')
      .meta({ examples: [{ 'x-gateway-event': SAMPLE_IDS.evt }] }),
    payload: paymentEvent.describe('Body of the delivery; the signature covers its compact JSON.'),
  }),
);

export const verifySampleResult = named(
  'VerifySampleResult',
  z.strictObject({
    accepted: z.literal(true).describe('Always true: a rejected sample is an error.'),
    provider: field.label('Provider of the request.', 'sandbox'),
    eventId: field.label("The provider's id of the callback.", 'evt_provider_1'),
    sessionId: field.label('Session of the request.', SAMPLE_IDS.chk),
    status: providerStatus,
    merchantWebhookQueued: field.flag(
      'true if the callback was verified and applied to a sandbox session, and an event was queued for the merchant.',
      false,
    ),
    signatureVerified: field.flag('true for a valid signature; false for a placeholder or no signature.', true),
  }),
);
