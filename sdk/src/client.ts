import { fieldsOf } from './answers.ts';
import { call } from './call.ts';
import { EventsWithFeed, WaitingTestClock, WebhookHelpers } from './client-resources.ts';
import {
  ApiKeysResource,
  CheckoutResource,
  CustomersResource,
  DeliveriesResource,
  DiscrepanciesResource,
  FeesResource,
  InvoicesResource,
  LedgerResource,
  PaymentsResource,
  RefundsResource,
  RoutesResource,
  RoutingResource,
  SessionsResource,
  SettlementsResource,
  WebhookEndpointsResource,
} from './generated/resources.ts';
import type { Capabilities, OperationSchema } from './generated/types.ts';
import { TillwayPromise } from './promise.ts';
import {
  type Call,
  type QueryValue,
  type RequestOptions,
  type TillwayOptions,
  type Transport,
  createTransport,
} from './transport.ts';

/** A request to an endpoint that has no method of its own. */
export interface RawRequest extends RequestOptions {
  method: Call<unknown>['method'];
  /** Path from the root of the service, for example `/api/gateway/sessions`. Values in it must be encoded. */
  path: string;
  query?: Record<string, QueryValue> | undefined;
  /** Sent as JSON. */
  body?: unknown;
  /** Added to the body as `idempotencyKey`. A POST with a key is sent again after a failure, as a GET is. */
  idempotencyKey?: string | undefined;
}

/**
 * A client of one Tillway service.
 *
 * ```ts
 * const tillway = new Tillway({ baseUrl: 'https://pay.example' });
 * const session = await tillway.sessions.create({ product: 'Field guide', amount: 49.99, customer: 'buyer@example.com' });
 * ```
 *
 * Failed calls reject with a `TillwayError`. Temporary failures are retried if that is safe.
 */
export class Tillway {
  readonly #transport: Transport;
  readonly sessions: SessionsResource;
  readonly customers: CustomersResource;
  readonly payments: PaymentsResource;
  readonly refunds: RefundsResource;
  readonly discrepancies: DiscrepanciesResource;
  readonly settlements: SettlementsResource;
  readonly ledger: LedgerResource;
  readonly invoices: InvoicesResource;
  readonly events: EventsWithFeed;
  readonly deliveries: DeliveriesResource;
  readonly checkout: CheckoutResource;
  readonly fees: FeesResource;
  readonly routes: RoutesResource;
  readonly routing: RoutingResource;
  readonly webhooks: WebhookHelpers;
  readonly webhookEndpoints: WebhookEndpointsResource;
  readonly testClock: WaitingTestClock;
  readonly apiKeys: ApiKeysResource;

  /** Throws TypeError for invalid options. */
  constructor(options: TillwayOptions = {}) {
    const transport = createTransport(options);
    this.#transport = transport;
    this.sessions = new SessionsResource(transport);
    this.customers = new CustomersResource(transport);
    this.payments = new PaymentsResource(transport);
    this.refunds = new RefundsResource(transport);
    this.discrepancies = new DiscrepanciesResource(transport);
    this.settlements = new SettlementsResource(transport);
    this.ledger = new LedgerResource(transport);
    this.invoices = new InvoicesResource(transport);
    this.events = new EventsWithFeed(transport);
    this.deliveries = new DeliveriesResource(transport);
    this.checkout = new CheckoutResource(transport);
    this.fees = new FeesResource(transport);
    this.routes = new RoutesResource(transport);
    this.routing = new RoutingResource(transport);
    this.webhooks = new WebhookHelpers(transport);
    this.webhookEndpoints = new WebhookEndpointsResource(transport);
    this.testClock = new WaitingTestClock(transport);
    this.apiKeys = new ApiKeysResource(transport);
  }

  /** The input and output schemas of one operation, for example `checkout.create`. */
  schema(operation: string, options?: RequestOptions): TillwayPromise<OperationSchema> {
    return call(this.#transport, {
      method: 'GET',
      path: '/api/agent/schema/{operation}',
      params: { operation },
      repeatable: true,
      read: fieldsOf('ok', 'inputSchema', 'outputSchema'),
      options,
    });
  }

  /** The description of the whole service for a program. */
  capabilities(options?: RequestOptions): TillwayPromise<Capabilities> {
    return call(this.#transport, {
      method: 'GET',
      path: '/api/agent/capabilities',
      repeatable: true,
      read: fieldsOf('entrypoints', 'actions'),
      options,
    });
  }

  /**
   * Sends any request, with the errors, timeouts and retries of all others. It resolves with the body, unchecked: any JSON
   * except an error of the service.
   */
  request<Data = unknown>(request: RawRequest): TillwayPromise<Data> {
    const { method, path, query = {}, body, idempotencyKey, ...options } = request;
    const answered = this.#transport.send<Data>({
      method,
      path,
      query,
      body: idempotencyKey === undefined ? body : { ...(body as object | undefined), idempotencyKey },
      // HTTP defines all other methods as idempotent.
      repeatable: (method !== 'POST' && method !== 'PATCH') || idempotencyKey !== undefined,
      read: (answer) => answer as Data,
      options,
    });
    return new TillwayPromise(() => answered);
  }
}
