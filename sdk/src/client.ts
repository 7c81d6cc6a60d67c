import { ApiKeys } from './api-keys.ts';
import { Checkout, FeesActions, Routes, TestClockActions, WebhookActions } from './actions.ts';
import { readCapabilities, readSchema } from './answers.ts';
import { callFor, get } from './call.ts';
import { Customers, Deliveries, Events, Invoices, Payments, Sessions } from './merchant.ts';
import type { TillwayPromise } from './promise.ts';
import { Ledger } from './ledger.ts';
import { Discrepancies } from './discrepancies.ts';
import { Refunds } from './refunds.ts';
import { Settlements } from './settlements.ts';
import { Routing } from './routing.ts';
import { WebhookEndpoints } from './webhook-endpoints.ts';
import {
  type Call,
  type QueryValue,
  type RequestOptions,
  type TillwayOptions,
  type Transport,
  createTransport,
} from './transport.ts';
import type { Capabilities, OperationSchema } from './types-agent.ts';

/** A request to an endpoint that has no method of its own. */
export interface RawRequest extends RequestOptions {
  method: Call<unknown>['method'];
  /** From the root of the service, for example `/api/gateway/sessions`; what is put into it has to be encoded. */
  path: string;
  query?: Record<string, QueryValue> | undefined;
  /** Sent as JSON. */
  body?: unknown;
  /** Put into the body as `idempotencyKey`; a POST with one is sent again after a failure, as reads are. */
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
 * What fails rejects with a `TillwayError`. Failures that may pass are tried again, where that does no harm.
 */
export class Tillway {
  readonly #transport: Transport;
  readonly sessions: Sessions;
  readonly customers: Customers;
  readonly payments: Payments;
  readonly refunds: Refunds;
  readonly discrepancies: Discrepancies;
  readonly settlements: Settlements;
  readonly ledger: Ledger;
  readonly invoices: Invoices;
  readonly events: Events;
  readonly deliveries: Deliveries;
  readonly checkout: Checkout;
  readonly fees: FeesActions;
  readonly routes: Routes;
  readonly routing: Routing;
  readonly webhooks: WebhookActions;
  readonly webhookEndpoints: WebhookEndpoints;
  readonly testClock: TestClockActions;
  readonly apiKeys: ApiKeys;

  /** Throws TypeError for settings that cannot be meant. */
  constructor(options: TillwayOptions = {}) {
    const transport = createTransport(options);
    this.#transport = transport;
    this.sessions = new Sessions(transport);
    this.customers = new Customers(transport);
    this.payments = new Payments(transport);
    this.refunds = new Refunds(transport);
    this.discrepancies = new Discrepancies(transport);
    this.settlements = new Settlements(transport);
    this.ledger = new Ledger(transport);
    this.invoices = new Invoices(transport);
    this.events = new Events(transport);
    this.deliveries = new Deliveries(transport);
    this.checkout = new Checkout(transport);
    this.fees = new FeesActions(transport);
    this.routes = new Routes(transport);
    this.routing = new Routing(transport);
    this.webhooks = new WebhookActions(transport);
    this.webhookEndpoints = new WebhookEndpoints(transport);
    this.testClock = new TestClockActions(transport);
    this.apiKeys = new ApiKeys(transport);
  }

  /** The input and output schemas of one operation, for example `checkout.create`. */
  schema(operation: string, options?: RequestOptions): TillwayPromise<OperationSchema> {
    return get(this.#transport, {
      path: '/api/agent/schema/{operation}',
      params: { operation },
      read: readSchema,
      options,
    });
  }

  /** Everything that the service can do, as it describes itself. */
  capabilities(options?: RequestOptions): TillwayPromise<Capabilities> {
    return get(this.#transport, { path: '/api/agent/capabilities', read: readCapabilities, options });
  }

  /**
   * Sends any request, with the errors, timeouts and retries of all others. It answers the body as it is: any JSON but
   * an error of the service, so that what it holds is yours to check.
   */
  request<Data = unknown>(request: RawRequest): TillwayPromise<Data> {
    const { method, path, query = {}, body, idempotencyKey, ...options } = request;
    return callFor<Data>(this.#transport, {
      method,
      path,
      query,
      body: idempotencyKey === undefined ? body : { ...(body as object | undefined), idempotencyKey },
      // HTTP says so of all but POST and PATCH.
      repeatable: (method !== 'POST' && method !== 'PATCH') || idempotencyKey !== undefined,
      // What an endpoint holds that this version does not know cannot be checked.
      read: (answer) => answer as Data,
      options,
    });
  }
}
