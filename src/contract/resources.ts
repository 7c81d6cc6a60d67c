import { z } from 'zod';
import {
  CUSTOMER_STATUSES,
  CURRENCY,
  INVOICE_STATUSES,
  PAYMENT_STATUSES,
  PROVIDER_STATUSES,
  SESSION_STATUSES,
} from '../domain/records.ts';
import { SAMPLE_CHECKOUT_URL, SAMPLE_EXPIRY, dollars, id, label, mail, rate, time, uri } from './described.ts';
import { paymentFailure } from './payment-failure.ts';
import { EVENT_TYPES, SAMPLE_ROUTE_ID, SAMPLE_SESSION_ID, SAMPLE_TX_HASH } from './requests.ts';

const currency = z
  .string()
  .describe('Currency of every amount here: always USD.')
  .meta({ examples: [CURRENCY] });
const environment = z
  .enum(['sandbox', 'production'])
  .describe('`sandbox` moves test money only, `production` real money.');
const kind = z.enum(['card', 'wallet', 'local']).describe('How the buyer pays: card, wallet, or a local bank method.');
const metadata = z
  .record(z.string(), z.string())
  .describe('Your own data as given at creation: values are strings of at most 500 characters.')
  .meta({ examples: [{ orderId: 'A-1001' }] });

export const checkoutSession = z.strictObject({
  id: id('chk', 'The session.'),
  object: z.literal('checkout_session').describe('Always checkout_session.'),
  checkoutUrl: uri('Send the buyer here to pay.', SAMPLE_CHECKOUT_URL),
  status: z
    .enum(SESSION_STATUSES as ['routed', 'pending', 'paid', 'failed', 'expired'])
    .describe(
      'routed: waiting for the buyer; pending: payment under way; paid: confirmed, safe to fulfil; failed; expired.',
    ),
  amount: dollars('What the merchant asks for.'),
  currency,
  redirectUrl: uri('Where the buyer goes afterwards.', 'https://shop.example/thanks'),
  customer: mail("The buyer's email address."),
  metadata,
  environment,
  product: label('What is sold.', 'Field guide'),
  customerId: id('cus', 'The customer.'),
  clientReferenceId: label('Your own id of the order, or null.', 'A-1001').nullable(),
  created: time('When the session was created.'),
  expiresAt: time('When the session expires if no buyer starts to pay.', SAMPLE_EXPIRY),
});
export type CheckoutSessionResource = z.output<typeof checkoutSession>;

export const customer = z.strictObject({
  id: id('cus', 'The customer.'),
  object: z.literal('customer').describe('Always customer.'),
  email: mail('Email address, as first given.'),
  status: z
    .enum(CUSTOMER_STATUSES as ['active', 'blocked', 'erased'])
    .describe(
      'active; blocked: no session can be created or paid; erased: nothing is kept that names the buyer, and email is a placeholder.',
    ),
  statusReason: label('Why it was blocked, as given then, or null.', 'chargebacks')
    .nullable()
    .meta({ examples: [null] }),
  created: time('When the customer was first seen.'),
  environment,
});

const fees = z
  .strictObject({
    buyer_fee: dollars('What the buyer pays on top of the amount.', 0),
    gateway_fee: dollars('What the gateway keeps of the amount.', 1.45),
    merchant_net: dollars('What the merchant gets: amount minus gateway_fee.', 48.54),
    total: dollars('What the buyer pays: amount plus buyer_fee.'),
  })
  .describe('buyer_fee + gateway_fee + merchant_net = total, to the cent.');

const feeSplit = z
  .strictObject({
    buyerFee: dollars('What the buyer pays on top of the amount.', 0),
    gatewayFee: dollars('What the gateway keeps of the amount.', 1.45),
    merchantNet: dollars('What the merchant gets: amount minus gatewayFee.', 48.54),
    total: dollars('What the buyer pays: amount plus buyerFee.'),
  })
  .describe('buyerFee + gatewayFee + merchantNet = total, to the cent.');
export type FeeSplitResource = z.output<typeof feeSplit>;

export const payment = z.strictObject({
  id: id('pay', 'The payment.'),
  object: z.literal('payment').describe('Always payment.'),
  customerId: id('cus', 'The customer.'),
  invoiceId: id('inv', 'The invoice of this payment.'),
  sessionId: id('chk', 'The checkout session.'),
  amount: dollars("The session's amount."),
  currency,
  status: z
    .enum(PAYMENT_STATUSES as ['pending', 'paid', 'failed'])
    .describe('pending: not yet confirmed; paid: confirmed, safe to fulfil; failed: failed or rejected.'),
  failure: paymentFailure
    .nullable()
    .describe('The cause of the failure; null unless status is failed.')
    .meta({ examples: [null] }),
  ledgerStatus: z
    .enum(['pending', 'settled', 'refunded'])
    .describe(
      'pending: settlement not yet recorded; settled: paid out to the merchant; refunded: all of it given back.',
    ),
  created: time('When the buyer started this attempt.'),
  route: z
    .strictObject({
      id: label('The route.', SAMPLE_ROUTE_ID),
      kind,
      label: label('Its name.', 'Card, simulated acquirer'),
    })
    .describe('The route that carries the payment.'),
  fees,
  refundedAmount: dollars('What the buyer has back of the total.', 0),
  refundPendingAmount: dollars('What is on its way back to the buyer besides.', 0),
  metadata,
  environment,
});
export type PaymentResource = z.output<typeof payment>;

export const invoice = z.strictObject({
  id: id('inv', 'The invoice.'),
  object: z.literal('invoice').describe('Always invoice.'),
  customerId: id('cus', 'The customer.'),
  paymentId: id('pay', 'The payment.'),
  sessionId: id('chk', 'The checkout session.'),
  amount: dollars("The session's amount."),
  currency,
  status: z
    .enum(INVOICE_STATUSES as ['open', 'paid', 'void'])
    .describe('open: payment not yet received; paid: payment confirmed; void: voided before payment.'),
  metadata,
  created: time('When the invoice was created.'),
  environment,
});

export const hasMore = z
  .boolean()
  .describe('Whether there are more in the direction asked for.')
  .meta({ examples: [false] });

/** The envelope of every list. */
export function listOf<Item extends z.ZodType>(item: Item) {
  return z.strictObject({
    object: z.literal('list').describe('Always list.'),
    data: z.array(item).describe('The records, newest first.'),
    hasMore,
  });
}

export const routeSummary = z
  .strictObject({
    id: label('The route.', SAMPLE_ROUTE_ID),
    label: label('Its name.', 'Card, simulated acquirer'),
    integrationId: label('The provider that carries it.', 'sandbox'),
    integrationLabel: label("The provider's name.", 'Simulated provider'),
    kind,
    network: label('The network it settles on.', 'card_network'),
    asset: label('What it settles in.', 'USD'),
    score: z
      .number()
      .describe('0 to 100 points, higher is better: the expected success now, less cost and wait, without chance.')
      .meta({ examples: [93.1] }),
    health: z
      .enum(['live', 'degraded', 'standby'])
      .describe('live: takes payments; degraded: takes payments, 10 points behind; standby: takes none now.'),
    payerLabel: label('What the buyer reads.', 'Card'),
    eta: label('How long until the payment is confirmed, in words.', 'a few seconds'),
    buyerFeeRate: rate('Fee that the buyer pays on top of the amount.', 0),
    gatewayFeeRate: rate('Fee that the gateway keeps of the amount.', 0.029),
    providerCostRate: rate('What the provider charges the gateway.', 0.019),
    kycPolicy: z
      .enum(['none', 'light', 'full', 'provider'])
      .describe('Identity check of the buyer: none, light, full, or left to the provider.'),
  })
  .describe('A way for money to travel.');
export type RouteSummary = z.output<typeof routeSummary>;

export const checkoutResult = z.strictObject({
  id: id('chk', 'The session; in a preview, the id of a session that does not exist.'),
  merchant: label('The merchant that the buyer sees.', 'Demo merchant'),
  product: label('What is sold.', 'Field guide'),
  amount: dollars('What the merchant asks for.'),
  customer: mail("The buyer's email address."),
  route: routeSummary,
  feeSplit,
  checkoutUrl: uri('Give this to the buyer; in a preview it opens a page that says so.', SAMPLE_CHECKOUT_URL),
  redirectUrl: uri('Where the buyer goes afterwards.', 'https://shop.example/thanks'),
  status: z.literal('routed').describe('Always routed: created, waiting for the buyer.'),
  environment,
  dryRun: z
    .boolean()
    .describe('true for a preview: nothing was written.')
    .meta({ examples: [false] }),
  idempotencyKey: label('The key given.', 'order-A-1001').optional(),
  clientReferenceId: label('The reference given.', 'A-1001').optional(),
});
export type CheckoutResult = z.output<typeof checkoutResult>;

export const feesEstimateResult = z.strictObject({ environment, route: routeSummary, feeSplit });

const providerStatus = z
  .enum(PROVIDER_STATUSES as ['provider_pending', 'paid', 'failed'])
  .describe('provider_pending: accepted, not confirmed; paid: confirmed, safe to fulfil; failed.')
  .meta({ examples: ['paid'] });

/** What a merchant receives: the body of every webhook delivery. */
export const webhookEvent = z.strictObject({
  id: label('The event: process each id once.', `evt_${SAMPLE_SESSION_ID}_paid`),
  type: z
    .enum(EVENT_TYPES)
    .describe('Fulfil on payment.paid only.')
    .meta({ examples: ['payment.paid'] }),
  livemode: z
    .boolean()
    .describe('true exactly for production.')
    .meta({ examples: [false] }),
  created: time('When the state changed.'),
  data: z
    .strictObject({
      session_id: id('chk', 'The checkout session.'),
      customer_id: id('cus', 'The customer.'),
      status: providerStatus,
      amount: dollars("The session's amount."),
      currency,
      asset: label('What the route settles in.', 'USD'),
      network: label('The network it settles on.', 'card_network'),
      route: z
        .strictObject({
          id: label('The route.', SAMPLE_ROUTE_ID),
          kind,
          label: label('Its name.', 'Card, simulated acquirer'),
          provider: label('The provider.', 'sandbox'),
        })
        .describe('The route that carries the payment.'),
      fees,
      tx_hash: label("The provider's transaction reference, or null.", SAMPLE_TX_HASH).nullable(),
      metadata,
    })
    .describe('The payment at that moment.'),
});
export type WebhookEvent = z.output<typeof webhookEvent>;

export const webhookExampleResult = z.strictObject({
  headers: z
    .record(z.string(), z.string())
    .describe('Headers of the delivery, signed with the sample webhook secret.')
    .meta({ examples: [{ 'x-gateway-event': `evt_${SAMPLE_SESSION_ID}_paid` }] }),
  payload: webhookEvent.describe('Body of the delivery: the signature is over its compact JSON.'),
});

export const verifySampleResult = z.strictObject({
  accepted: z.literal(true).describe('Always true: what is not accepted is an error.'),
  provider: label('The provider given.', 'sandbox'),
  eventId: label("The provider's id of the callback.", 'evt_provider_1'),
  sessionId: label('The session given.', SAMPLE_SESSION_ID),
  status: providerStatus,
  merchantWebhookQueued: z
    .boolean()
    .describe('true only where a verified sample of an existing sandbox session really queued a merchant event.')
    .meta({ examples: [false] }),
  signatureVerified: z
    .boolean()
    .describe('true where a signature was given and is right; false where it was a placeholder or absent.')
    .meta({ examples: [true] }),
});

export const actionError = z.strictObject({
  code: label('What went wrong, for a program.', 'invalid_input'),
  message: label('What went wrong, in one sentence.', 'customer must be an email address.'),
  field: label('The first faulty field.', 'customer').optional(),
  suggestion: label('What to do next, in one sentence.', 'Set customer to an email address, then resend.').optional(),
  issues: z
    .array(
      z.strictObject({
        path: label('The field, dotted.', 'customer'),
        code: label('The kind of problem.', 'invalid_format'),
        message: label('The problem in words.', 'must be an email address'),
      }),
    )
    .describe('Every problem found, one a field.')
    .meta({ examples: [[{ path: 'customer', code: 'invalid_format', message: 'must be an email address' }]] })
    .optional(),
});
export type ActionError = z.output<typeof actionError>;

export const routesListResult = z.strictObject({
  ok: z.literal(true).describe('Always true.'),
  routes: z.array(routeSummary).describe('The routes, best first.'),
});
