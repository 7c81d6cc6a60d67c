import type { z } from 'zod';
import type { ErrorCode } from '../domain/errors.ts';
import { delivery, deliveryDetails } from './deliveries.ts';
import { SAMPLE_DELIVERY_ID, SAMPLE_EVENT_ID, SAMPLE_INVOICE_ID, SAMPLE_PAYMENT_ID } from './described.ts';
import { capabilitiesResult, schemaResult } from './discovery.ts';
import {
  customersQuery,
  deliveriesQuery,
  eventsQuery,
  invoicesQuery,
  paymentsQuery,
  routesQuery,
  sessionsQuery,
} from './queries.ts';
import { SAMPLE_CUSTOMER_ID, SAMPLE_SESSION_ID, sessionRequest } from './requests.ts';
import {
  type ActionError,
  checkoutSession,
  customer,
  invoice,
  listOf,
  payment,
  routesListResult,
  webhookEvent,
} from './resources.ts';

export type EndpointTag =
  'sessions' | 'customers' | 'payments' | 'invoices' | 'events' | 'deliveries' | 'routing' | 'test clock' | 'agent';

/** One endpoint of the API, as the server serves it and the OpenAPI document describes it. */
export interface Endpoint {
  operationId: string;
  method: 'GET' | 'POST' | 'PUT';
  /** With `{name}` for path parameters. */
  path: string;
  tag: EndpointTag;
  summary: string;
  description: string;
  /** Description, example and, where the set is closed, values of each path parameter. */
  params?: Record<string, { description: string; example: string; enum?: readonly string[] }>;
  query?: z.ZodType;
  body?: z.ZodType;
  requestExample?: unknown;
  response: z.ZodType;
  /** Left out: made of the examples in `response`. */
  responseExample?: unknown;
  /** What errors carry besides `ok` and `error`: the name of the action or operation. */
  envelope?: 'action' | 'operation';
  errors: readonly ErrorCode[];
  /** What an error looks like here, where the usual example of its code would mislead. */
  errorExamples?: Partial<Record<ErrorCode, Omit<ActionError, 'code'>>>;
}

const sessionId = { sessionId: { description: 'A checkout session: chk_...', example: SAMPLE_SESSION_ID } };

const eventId = {
  eventId: { description: 'An event: evt_, the id of its session, _ and a status.', example: SAMPLE_EVENT_ID },
};

const deliveryId = { deliveryId: { description: 'A delivery: dlv_...', example: SAMPLE_DELIVERY_ID } };

/** The merchant's endpoints. */
export const GATEWAY_ENDPOINTS = {
  createSession: {
    operationId: 'createSession',
    method: 'POST',
    path: '/api/gateway/sessions',
    tag: 'sessions',
    summary: 'Create a checkout session',
    description:
      'Creates a session and answers with the checkoutUrl to which the buyer is redirected. A customer is created where the email address is new.\n\nThe buyer returns to redirectUrl with session_id and status added to its query, or stays on a status page where none is given. A preferredRoute without a usable route is replaced by the best other.\n\nWith an idempotencyKey, the same request can be sent again safely: it answers the first session, with the header Idempotent-Replayed: true; the same key with another body is refused.',
    body: sessionRequest,
    requestExample: {
      product: 'Field guide',
      amount: 49.99,
      customer: 'buyer@example.com',
    },
    response: checkoutSession,
    errors: [
      'invalid_input',
      'invalid_json',
      'forbidden',
      'payload_too_large',
      'unsupported_media_type',
      'idempotency_conflict',
      'no_eligible_route',
      'unavailable',
    ],
  },
  listSessions: {
    operationId: 'listSessions',
    method: 'GET',
    path: '/api/gateway/sessions',
    tag: 'sessions',
    summary: 'List checkout sessions',
    description: 'Newest first.',
    query: sessionsQuery,
    response: listOf(checkoutSession),
    errors: ['invalid_input', 'unavailable'],
  },
  getSession: {
    operationId: 'getSession',
    method: 'GET',
    path: '/api/gateway/sessions/{sessionId}',
    tag: 'sessions',
    summary: 'Get a checkout session',
    description: 'One session with its present status.',
    params: sessionId,
    response: checkoutSession,
    errors: ['not_found', 'unavailable'],
  },
  expireSession: {
    operationId: 'expireSession',
    method: 'POST',
    path: '/api/gateway/sessions/{sessionId}/expire',
    tag: 'sessions',
    summary: 'Expire a checkout session',
    description:
      'Withdraws a session that no buyer has started; one that has expired already is answered as it is. Takes no body.',
    params: sessionId,
    response: checkoutSession,
    errors: ['not_found', 'invalid_state', 'unavailable'],
  },
  listCustomers: {
    operationId: 'listCustomers',
    method: 'GET',
    path: '/api/gateway/customers',
    tag: 'customers',
    summary: 'List customers',
    description: 'Newest first.',
    query: customersQuery,
    response: listOf(customer),
    errors: ['invalid_input', 'unavailable'],
  },
  getCustomer: {
    operationId: 'getCustomer',
    method: 'GET',
    path: '/api/gateway/customers/{customerId}',
    tag: 'customers',
    summary: 'Get a customer',
    description: 'One customer.',
    params: { customerId: { description: 'A customer: cus_...', example: SAMPLE_CUSTOMER_ID } },
    response: customer,
    errors: ['not_found', 'unavailable'],
  },
  listPayments: {
    operationId: 'listPayments',
    method: 'GET',
    path: '/api/gateway/payments',
    tag: 'payments',
    summary: 'List payments',
    description: 'Newest first. paymentId takes a payment or a session.',
    query: paymentsQuery,
    response: listOf(payment),
    errors: ['invalid_input', 'unavailable'],
  },
  getPayment: {
    operationId: 'getPayment',
    method: 'GET',
    path: '/api/gateway/payments/{paymentId}',
    tag: 'payments',
    summary: 'Get a payment',
    description:
      'One payment, by its own id or by that of its session: then the payment that paid it, else the newest attempt.',
    params: { paymentId: { description: 'A payment (pay_...) or a session (chk_...).', example: SAMPLE_PAYMENT_ID } },
    response: payment,
    errors: ['not_found', 'unavailable'],
  },
  listInvoices: {
    operationId: 'listInvoices',
    method: 'GET',
    path: '/api/gateway/invoices',
    tag: 'invoices',
    summary: 'List invoices',
    description: 'Newest first.',
    query: invoicesQuery,
    response: listOf(invoice),
    errors: ['invalid_input', 'unavailable'],
  },
  getInvoice: {
    operationId: 'getInvoice',
    method: 'GET',
    path: '/api/gateway/invoices/{invoiceId}',
    tag: 'invoices',
    summary: 'Get an invoice',
    description: 'One invoice.',
    params: { invoiceId: { description: 'An invoice: inv_...', example: SAMPLE_INVOICE_ID } },
    response: invoice,
    errors: ['not_found', 'unavailable'],
  },
  listEvents: {
    operationId: 'listEvents',
    method: 'GET',
    path: '/api/gateway/events',
    tag: 'events',
    summary: 'List events',
    description:
      'Newest first, whether or not a webhook endpoint is registered. Every item is the JSON text of its deliveries, byte for byte.\n\nTo follow events, read pages until one is older, by created, than a minute before the newest that you knew, and skip the ids that you know: an event can be read once its commit is durable, which can be some seconds after its created and after newer ones. endingBefore alone can miss it.',
    query: eventsQuery,
    response: listOf(webhookEvent),
    errors: ['invalid_input', 'unavailable'],
  },
  getEvent: {
    operationId: 'getEvent',
    method: 'GET',
    path: '/api/gateway/events/{eventId}',
    tag: 'events',
    summary: 'Get an event',
    description: 'One event: the JSON text that its deliveries send, byte for byte.',
    params: eventId,
    response: webhookEvent,
    errors: ['not_found', 'unavailable'],
  },
  resendEvent: {
    operationId: 'resendEvent',
    method: 'POST',
    path: '/api/gateway/events/{eventId}/resend',
    tag: 'events',
    summary: 'Resend an event',
    description:
      'Sends the event again to every active webhook endpoint of its environment, and answers with the deliveries. Where it has a delivery to the endpoint, that is replayed; an endpoint that was registered later gets one now. Takes no body.',
    params: eventId,
    response: listOf(delivery),
    errors: ['not_found', 'invalid_state', 'unavailable'],
  },
  listDeliveries: {
    operationId: 'listDeliveries',
    method: 'GET',
    path: '/api/gateway/deliveries',
    tag: 'deliveries',
    summary: 'List webhook deliveries',
    description: 'Newest first. status=dead lists what was given up after its last attempt.',
    query: deliveriesQuery,
    response: listOf(delivery),
    errors: ['invalid_input', 'unavailable'],
  },
  getDelivery: {
    operationId: 'getDelivery',
    method: 'GET',
    path: '/api/gateway/deliveries/{deliveryId}',
    tag: 'deliveries',
    summary: 'Get a webhook delivery',
    description: 'One delivery with the log of its attempts and the event as sent.',
    params: deliveryId,
    response: deliveryDetails,
    errors: ['not_found', 'unavailable'],
  },
  replayDelivery: {
    operationId: 'replayDelivery',
    method: 'POST',
    path: '/api/gateway/deliveries/{deliveryId}/replay',
    tag: 'deliveries',
    summary: 'Replay a webhook delivery',
    description:
      'Sends the event again. A dead or delivered delivery becomes pending, due now, with the whole retry schedule before it; a pending one does not wait for its next attempt, and keeps its schedule. The attempt log is kept.\n\nThe bytes and the event id are those of the first attempt: a receiver that has processed the event will know it. Later events of the session that are still pending wait for it. Takes no body.',
    params: deliveryId,
    response: delivery,
    errors: ['not_found', 'invalid_state', 'unavailable'],
  },
} as const satisfies Record<string, Endpoint>;

/** The agent endpoints that take no action; those of the actions follow from the operation registry. */
export const AGENT_ENDPOINTS = {
  capabilities: {
    operationId: 'capabilities',
    method: 'GET',
    path: '/api/agent/capabilities',
    tag: 'agent',
    summary: 'Discover everything',
    description: 'Entry points, actions with their schemas and examples, routes and webhook events.',
    response: capabilitiesResult,
    errors: [],
  },
  listRoutes: {
    operationId: 'listRoutes',
    method: 'GET',
    path: '/api/agent/routes',
    tag: 'agent',
    summary: 'List payment routes',
    description: 'Best first. Rates are fractions (0.029 is 2.9 %), score is 0 to 100.',
    query: routesQuery,
    response: routesListResult,
    errors: ['invalid_input'],
  },
  getSchema: {
    operationId: 'getSchema',
    method: 'GET',
    path: '/api/agent/schema/{operation}',
    tag: 'agent',
    summary: 'Get the schemas of an operation',
    description:
      'Input and output of one operation as JSON Schema, draft 2020-12: the source of truth for required fields, enums and limits.',
    params: { operation: { description: 'Name of an operation.', example: 'checkout.create' } },
    response: schemaResult,
    envelope: 'operation',
    errors: ['unknown_operation'],
  },
} as const satisfies Record<string, Endpoint>;
