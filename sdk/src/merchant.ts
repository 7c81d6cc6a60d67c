import { isObject, readDelivery, readEvent, readPage, resource } from './answers.ts';
import { callFor, callWith, get, listFor } from './call.ts';
import { EventFeed } from './feed.ts';
import type { TillwayList } from './list.ts';
import type { TillwayPromise } from './promise.ts';
import type { RequestOptions, Transport } from './transport.ts';
import type { BlockParams, CustomerExport, EraseParams } from './types-operator.ts';
import type {
  CheckoutParams,
  CustomerListParams,
  DeliveryListParams,
  EventFeedParams,
  EventListParams,
  InvoiceListParams,
  PaymentListParams,
  SessionListParams,
} from './types-requests.ts';
import type {
  CheckoutSession,
  Customer,
  Delivery,
  DeliveryDetails,
  Invoice,
  Page,
  Payment,
  WebhookEvent,
} from './types.ts';

/** Checkout sessions: create one, and send the buyer to its `checkoutUrl`. */
export class Sessions {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Creates a session. A customer is created where the email address is new. */
  create(params: CheckoutParams, options?: RequestOptions): TillwayPromise<CheckoutSession> {
    return callWith(this.#transport, {
      method: 'POST',
      path: '/api/gateway/sessions',
      body: withKey(this.#transport, params),
      // The key makes a second request answer the first session.
      repeatable: true,
      read: resource<CheckoutSession>('checkout_session'),
      options,
    });
  }

  /** Sessions, newest first. */
  list(params?: SessionListParams, options?: RequestOptions): TillwayList<CheckoutSession> {
    return listFor(this.#transport, { path: '/api/gateway/sessions', options }, params);
  }

  /** One session with its present status. */
  get(sessionId: string, options?: RequestOptions): TillwayPromise<CheckoutSession> {
    return get(this.#transport, {
      path: '/api/gateway/sessions/{sessionId}',
      params: { sessionId },
      read: resource<CheckoutSession>('checkout_session'),
      options,
    });
  }

  /** Withdraws a session that no buyer has started; otherwise refused as `invalid_state`. */
  expire(sessionId: string, options?: RequestOptions): TillwayPromise<CheckoutSession> {
    return callFor(this.#transport, {
      method: 'POST',
      path: '/api/gateway/sessions/{sessionId}/expire',
      params: { sessionId },
      // One that has expired already is answered as it is.
      repeatable: true,
      read: resource<CheckoutSession>('checkout_session'),
      options,
    });
  }
}

/** The parameters of a checkout, with a key of their own where none is given: so that a retry creates nothing twice. */
export function withKey(transport: Transport, params: CheckoutParams): CheckoutParams {
  // What is no object is refused where the call is made: no key may make one of it.
  if (!isObject(params)) return params;
  return { ...params, idempotencyKey: params.idempotencyKey ?? transport.newKey() };
}

export class Customers {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Customers, newest first. */
  list(params?: CustomerListParams, options?: RequestOptions): TillwayList<Customer> {
    return listFor(this.#transport, { path: '/api/gateway/customers', options }, params);
  }

  get(customerId: string, options?: RequestOptions): TillwayPromise<Customer> {
    return get(this.#transport, {
      path: '/api/gateway/customers/{customerId}',
      params: { customerId },
      read: resource<Customer>('customer'),
      options,
    });
  }

  /** No session is created and no payment begun for the customer any more; what is under way goes on. */
  block(customerId: string, params: BlockParams = {}, options?: RequestOptions): TillwayPromise<Customer> {
    return this.#post(customerId, 'block', params, options);
  }

  unblock(customerId: string, options?: RequestOptions): TillwayPromise<Customer> {
    return this.#post(customerId, 'unblock', undefined, options);
  }

  /** Everything that is kept about one buyer. */
  export(customerId: string, options?: RequestOptions): TillwayPromise<CustomerExport> {
    return get(this.#transport, {
      path: '/api/gateway/customers/{customerId}/export',
      params: { customerId },
      read: resource<CustomerExport>('customer_export'),
      options,
    });
  }

  /** Takes away, for good, what can name the buyer; the money records stay. `confirm` is the customer's id once more. */
  erase(customerId: string, params: EraseParams, options?: RequestOptions): TillwayPromise<Customer> {
    return this.#post(customerId, 'erase', params, options);
  }

  #post(customerId: string, verb: string, body: unknown, options?: RequestOptions): TillwayPromise<Customer> {
    return callFor(this.#transport, {
      method: 'POST',
      path: `/api/gateway/customers/{customerId}/${verb}`,
      params: { customerId },
      body,
      // What is done already stays as it is.
      repeatable: true,
      read: resource<Customer>('customer'),
      options,
    });
  }
}

/** Payments: one for each attempt of a buyer. */
export class Payments {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Payments, newest first. */
  list(params?: PaymentListParams, options?: RequestOptions): TillwayList<Payment> {
    return listFor(this.#transport, { path: '/api/gateway/payments', options }, params);
  }

  /** One payment by its own id (`pay_...`), or that of a session (`chk_...`): the one that paid it, else the newest. */
  get(paymentId: string, options?: RequestOptions): TillwayPromise<Payment> {
    return get(this.#transport, {
      path: '/api/gateway/payments/{paymentId}',
      params: { paymentId },
      read: resource<Payment>('payment'),
      options,
    });
  }
}

export class Invoices {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Invoices, newest first. */
  list(params?: InvoiceListParams, options?: RequestOptions): TillwayList<Invoice> {
    return listFor(this.#transport, { path: '/api/gateway/invoices', options }, params);
  }

  get(invoiceId: string, options?: RequestOptions): TillwayPromise<Invoice> {
    return get(this.#transport, {
      path: '/api/gateway/invoices/{invoiceId}',
      params: { invoiceId },
      read: resource<Invoice>('invoice'),
      options,
    });
  }
}

/** What has happened: the same events as webhooks deliver. */
export class Events {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Events, newest first by the time of the decision. One can appear a moment later below another that you have read:
   * to follow what happens take webhooks, or the `feed`.
   */
  list(params?: EventListParams, options?: RequestOptions): TillwayList<WebhookEvent> {
    return listFor(this.#transport, { path: '/api/gateway/events', options }, params);
  }

  /**
   * What has happened since the event `after`, oldest first, without gaps: for living without webhooks, or for what they
   * have missed. Left out, from the beginning.
   */
  feed({ after = '', ...params }: EventFeedParams = {}, options?: RequestOptions): EventFeed {
    const fetchPage = (position: string) =>
      this.#transport.send({
        method: 'GET',
        path: '/api/gateway/events',
        query: { ...params, after: position },
        repeatable: true,
        read: readPage<WebhookEvent>,
        options,
      });
    return new EventFeed(fetchPage, after);
  }

  get(eventId: string, options?: RequestOptions): TillwayPromise<WebhookEvent> {
    return get(this.#transport, {
      path: '/api/gateway/events/{eventId}',
      params: { eventId },
      read: readEvent,
      options,
    });
  }

  /** Sends an event once more to every active endpoint of its environment; answers its deliveries. */
  resend(eventId: string, options?: RequestOptions): TillwayPromise<Page<Delivery>> {
    return callFor(this.#transport, {
      method: 'POST',
      path: '/api/gateway/events/{eventId}/resend',
      params: { eventId },
      // It may have been sent and acknowledged although its answer was lost: asked again, it would be sent twice.
      repeatable: false,
      read: readPage<Delivery>,
      options,
    });
  }
}

/** Webhook deliveries: each event on its way to each endpoint. */
export class Deliveries {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Deliveries, newest first. */
  list(params?: DeliveryListParams, options?: RequestOptions): TillwayList<Delivery> {
    return listFor(this.#transport, { path: '/api/gateway/deliveries', options }, params);
  }

  /** One delivery with the log of its attempts and the event as sent. */
  get(deliveryId: string, options?: RequestOptions): TillwayPromise<DeliveryDetails> {
    return get(this.#transport, {
      path: '/api/gateway/deliveries/{deliveryId}',
      params: { deliveryId },
      read: readDelivery,
      options,
    });
  }

  /** Sends it again: the same bytes and event id, at once, and with the whole retry schedule before it. */
  replay(deliveryId: string, options?: RequestOptions): TillwayPromise<Delivery> {
    return callFor(this.#transport, {
      method: 'POST',
      path: '/api/gateway/deliveries/{deliveryId}/replay',
      params: { deliveryId },
      // As with the resending of an event.
      repeatable: false,
      read: resource<Delivery>('delivery'),
      options,
    });
  }
}
