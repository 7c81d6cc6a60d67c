import { z } from 'zod';
import { isId } from '../domain/id.ts';
import { SESSION_STATUSES, type Session } from '../domain/records.ts';
import { endpoints } from './endpoint.ts';
import * as request from './request-fields.ts';
import { checkedText, evenWithProblems, text } from './request-fields.ts';
import { anyText, environment as environmentFilter, list, listQuery, status } from './list-query.ts';
import { isPlainHttp, redirectUrlField } from './redirect-url.ts';
import * as field from './resource-fields.ts';
import { named, rendererFrom, resource } from './resource.ts';
import { SAMPLE_CHECKOUT_URL } from './sample-ids.ts';
import { type PendingTransfer, transferField, transferFields } from './transfer-contract.ts';

// Fields shared by sessions, payments, invoices and refunds.
export const currency = field.currency('Currency of all amounts of this record: always USD.');
export const environment = named(
  'Environment',
  field.environmentOf('`sandbox` moves test money only, `production` real money.'),
);
export const metadata = named(
  'Metadata',
  z
    .record(z.string(), z.string())
    .describe('Your own data from the creation request: values are strings of at most 500 characters.')
    .meta({ examples: [{ orderId: 'A-1001' }] }),
);

export const checkoutSession = resource('CheckoutSession', 'checkout_session', {
  id: field.id('chk', 'The session.'),
  checkoutUrl: field.uri('URL of the checkout page for the buyer.', SAMPLE_CHECKOUT_URL),
  status: field.choice(
    SESSION_STATUSES,
    'routed: waiting for the buyer; pending: payment in progress; paid: confirmed, safe to fulfil; failed; expired.',
  ),
  amount: field.dollars("The merchant's price."),
  currency,
  redirectUrl: field.uri('Return URL of the buyer.', 'https://shop.example/thanks'),
  customer: field.mail("The buyer's email address."),
  metadata,
  environment,
  product: field.label('The product.', 'Field guide'),
  customerId: field.id('cus', 'The customer.'),
  clientReferenceId: field.label('Your own id of the order, or null.', 'A-1001').nullable(),
  created: field.time('Creation time.'),
  expiresAt: field.time('Expiry time if no buyer starts to pay.', '2026-01-16T09:30:00.000Z'),
  transfer: transferField(
    "The transfer from the buyer's own wallet that the pending payment waits for, or null. Lists and exports omit it.",
  ).optional(),
});

/** Public URLs of the service, without trailing slash: `base` for programs, `checkout` for buyers. */
export interface Urls {
  base: string;
  checkout: string;
}

export function checkoutUrl(urls: Urls, sessionId: string): string {
  return `${urls.checkout}/checkout/${sessionId}`;
}

/** URL to which a provider instance sends its callbacks. */
export function callbackUrl(urls: Urls, provider: string): string {
  return `${urls.base}/api/providers/${provider}/callbacks`;
}

/** Return URL of the buyer: the session's `redirectUrl`, or the status page of this service. */
export function redirectUrlOf(urls: Urls, session: Pick<Session, 'id' | 'redirectUrl'>): string {
  return session.redirectUrl ?? `${checkoutUrl(urls, session.id)}/complete`;
}

/** Without `transfer`, the rendering for lists. */
export const renderSession = rendererFrom(
  checkoutSession,
  (session: Session, urls: Urls, transfer?: PendingTransfer | null) => ({
    ...session,
    transfer: transfer && transferFields(transfer),
    checkoutUrl: checkoutUrl(urls, session.id),
    redirectUrl: redirectUrlOf(urls, session),
    customer: session.customerEmail,
  }),
);

/** Body of requests that create or preview a session. `appSchemes` are app schemes that the operator allows in `redirectUrl`. */
export function sessionRequestWith(appSchemes: readonly string[]) {
  return z
    .strictObject({
      product: field.described(text(1, 120), 'The product, 1 to 120 characters.', 'Field guide'),
      amount: request.amount,
      customer: request.email.describe("The buyer's email address, at most 254 characters."),
      preferredRoute: request.routeKind.optional().describe('Preferred payment method; local is a bank method.'),
      redirectUrl: redirectUrlField(appSchemes)
        .optional()
        .describe(
          'Return URL of the buyer: https, http in sandbox, or an app scheme with a dot; at most 2048 characters.',
        ),
      metadata: request.metadata,
      idempotencyKey: field.optional(
        text(8, 120),
        'Unique key, 8 to 120 characters: a repeated request returns the same session.',
        'your-order-id',
      ),
      clientReferenceId: field.optional(text(3, 120), 'Your id of the order, 3 to 120 characters.', 'your-order-id'),
      environment: request.environment,
    })
    .refine(
      (body: { environment?: unknown; redirectUrl?: unknown }) =>
        body.environment !== 'production' || typeof body.redirectUrl !== 'string' || !isPlainHttp(body.redirectUrl),
      {
        path: ['redirectUrl'],
        message: 'must use https in production',
        params: { issueCode: 'invalid_format' },
        when: evenWithProblems,
      },
    );
}

/** Request body without additional app schemes, for the OpenAPI document: the JSON Schema does not depend on the schemes. */
export const sessionRequest = named('SessionRequest', sessionRequestWith([]), 'input');
export type SessionRequest = z.output<typeof sessionRequest>;

const sessionsQuery = listQuery('chk', {
  customer: checkedText('customer', (value) =>
    value.includes('@') || isId(value, 'cus') ? undefined : 'must be an email address or an id that starts with cus_',
  )
    .optional()
    .describe('Only sessions of this customer: an email address, ignoring case, or an id that starts with cus_.')
    .meta({ examples: ['buyer@example.com'] }),
  status,
  clientReferenceId: anyText('Only sessions with this clientReferenceId.', 'A-1001'),
  environment: environmentFilter,
});

export const SESSION_ENDPOINTS = endpoints('sessions', {
  createSession: {
    route: 'POST /api/gateway/sessions',
    access: 'create',
    summary: 'Create a checkout session',
    description:
      'Creates a session and returns its checkoutUrl, to which you redirect the buyer. A new email address creates a customer.\n\nAfterwards the buyer returns to redirectUrl with session_id and status added to the query, or sees a status page. If no route of the preferredRoute method is usable, the best other route is used.\n\nWith an idempotencyKey, the request can be repeated safely: it returns the first session, with the header Idempotent-Replayed: true; the same key with another body is rejected.',
    body: sessionRequest,
    requestExample: { product: 'Field guide', amount: 49.99, customer: 'buyer@example.com' },
    response: checkoutSession,
    errors: ['forbidden', 'idempotency_conflict', 'no_eligible_route', 'spend_limit_exceeded'],
  },
  listSessions: list('/api/gateway/sessions', 'List checkout sessions', sessionsQuery, checkoutSession),
  getSession: {
    route: 'GET /api/gateway/sessions/{sessionId}',
    access: 'look',
    summary: 'Get a checkout session',
    description: 'One session with its current status.',
    response: checkoutSession,
  },
  expireSession: {
    route: 'POST /api/gateway/sessions/{sessionId}/expire',
    summary: 'Expire a checkout session',
    description:
      'Expires a session whose payment has not started. If the session is already expired, returns it unchanged. Takes no body.',
    response: checkoutSession,
    errors: ['invalid_state'],
  },
});
