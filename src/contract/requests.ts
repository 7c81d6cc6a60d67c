import { z } from 'zod';
import { PROVIDER_STATUSES } from '../domain/records.ts';
import { amount, email, environment, metadata, routeKind, sampleAmount, sampleMetadata, text } from './fields.ts';
import { isPlainHttp, redirectUrlField } from './redirect-url.ts';

export const EVENT_TYPES = ['payment.provider_pending', 'payment.paid', 'payment.failed'] as const;
/** The adapter that samples stand for. */
export const SAMPLE_PROVIDER = 'sandbox';
export const SAMPLE_SESSION_ID = 'chk_01m7x0e4kq3v8n5c2t9y6w1r4b7d0f3h5j8m';
export const SAMPLE_CUSTOMER_ID = 'cus_01m7x0e4kp6z2s8d4g1k7n0q3v9x5b2f8h4c';
export const SAMPLE_ROUTE_ID = 'sandbox_card_acquirer';
export const SAMPLE_TX_HASH = 'sim_5f2b8c1d9e';
const SAMPLE_AMOUNT = 49.99;

/**
 * Body of `POST /api/gateway/sessions`, `checkout.preview` and `checkout.create`. `appSchemes` are the schemes that the
 * operator allows in `redirectUrl` in addition to the default ones.
 */
export function sessionRequestWith(appSchemes: readonly string[]) {
  return z
    .strictObject({
      product: text(1, 120)
        .describe('What is sold, 1 to 120 characters.')
        .meta({ examples: ['Field guide'] }),
      amount,
      customer: email.describe("The buyer's email address, at most 254 characters."),
      preferredRoute: routeKind.optional().describe('Way to pay to prefer; local is by bank.'),
      redirectUrl: redirectUrlField(appSchemes)
        .optional()
        .describe(
          'Where the buyer returns: https, http in sandbox, or an app scheme with a dot; at most 2048 characters.',
        ),
      metadata,
      idempotencyKey: text(8, 120)
        .optional()
        .describe('Your key, 8 to 120 characters: a resend answers the same session.')
        .meta({ examples: ['your-order-id'] }),
      clientReferenceId: text(3, 120)
        .optional()
        .describe('Your id of the order, 3 to 120 characters.')
        .meta({ examples: ['your-order-id'] }),
      environment,
    })
    .refine(
      ({ environment, redirectUrl: uri }: { environment?: unknown; redirectUrl?: unknown }) =>
        environment !== 'production' || typeof uri !== 'string' || !isPlainHttp(uri),
      {
        path: ['redirectUrl'],
        message: 'must use https in production',
        params: { issueCode: 'invalid_format' },
        // Along with the problems of other fields, not after them.
        when: ({ value }) => typeof value === 'object' && value !== null,
      },
    );
}

/** The body without additional app schemes. Its JSON Schema does not depend on them. */
export const sessionRequest = sessionRequestWith([]);
export type SessionRequest = z.output<typeof sessionRequest>;

/** Body of `fees.estimate`. */
export const feesEstimateRequest = z.strictObject({
  amount,
  preferredRoute: routeKind.optional().describe('Way to pay to prefer; local is by bank.'),
  routeId: text(3, 120)
    .optional()
    .describe('Exactly this route, 3 to 120 characters.')
    .meta({ examples: [SAMPLE_ROUTE_ID] }),
  environment,
});
export type FeesEstimateRequest = z.output<typeof feesEstimateRequest>;

const sampleText = (what: string, value: string) =>
  text(1, 120).default(value).describe(`${what} 1 to 120 characters.`);

/** Body of `webhook.example`. */
export const webhookExampleRequest = z.strictObject({
  event: z.enum(EVENT_TYPES).default('payment.paid').describe('Which event to show.'),
  provider: sampleText('Provider it names.', SAMPLE_PROVIDER),
  sessionId: sampleText('Session it names.', SAMPLE_SESSION_ID),
  customerId: sampleText('Customer it names.', SAMPLE_CUSTOMER_ID),
  amount: sampleAmount
    .default(SAMPLE_AMOUNT)
    .describe('US dollars, not cents: more than 0, at most 1000000, at most two decimals.'),
  routeId: sampleText('Route it names.', SAMPLE_ROUTE_ID),
  txHash: text(1, 200)
    .nullable()
    .default(SAMPLE_TX_HASH)
    .describe("Provider's reference, 1 to 200 characters, or null."),
  livemode: z.boolean().default(false).describe('true: as in production.'),
  metadata: sampleMetadata,
});
export type WebhookExampleRequest = z.output<typeof webhookExampleRequest>;

/** Body of `webhook.verify_sample`. */
export const verifySampleRequest = z.strictObject({
  provider: sampleText('Provider that calls.', SAMPLE_PROVIDER),
  signature: text(0, 500)
    .optional()
    .describe('At most 500 characters. t=<unix>,v1=<64 hex> is verified; else a placeholder.')
    .meta({ examples: ['placeholder'] }),
  payload: z
    .strictObject({
      eventId: text(1, 200)
        .describe("Provider's id of it, 1 to 200 characters; applied once.")
        .meta({ examples: ['your-event-id'] }),
      sessionId: text(1, 120)
        .describe('The checkout session, 1 to 120 characters.')
        .meta({ examples: [SAMPLE_SESSION_ID] }),
      status: z
        .enum(PROVIDER_STATUSES as ['provider_pending', 'paid', 'failed'])
        .describe('provider_pending: accepted; paid: confirmed; failed: the session ends unpaid.'),
      amount: sampleAmount
        .meta({ examples: [SAMPLE_AMOUNT] })
        .describe('US dollars, not cents: more than 0, at most 1000000, at most two decimals.'),
      txHash: text(1, 200)
        .optional()
        .describe("Provider's reference, 1 to 200 characters.")
        .meta({ examples: [SAMPLE_TX_HASH] }),
    })
    .describe('The callback.'),
});
export type VerifySampleRequest = z.output<typeof verifySampleRequest>;

/** Operations that take no input. */
export const noInput = z.strictObject({});
