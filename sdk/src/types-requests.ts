import type { AnswerClass } from './types-deliveries.ts';
import type {
  CustomerStatus,
  DeliveryStatus,
  Environment,
  InvoiceStatus,
  Metadata,
  PaymentStatus,
  ProviderStatus,
  RouteKind,
  SessionStatus,
  WebhookEventType,
} from './types.ts';

/** A checkout to create or preview. */
export interface CheckoutParams {
  /** What is sold, 1 to 120 characters. */
  product: string;
  /** US dollars, not cents: 49.99 is $49.99. More than 0, at most 10000, at most two decimals. */
  amount: number;
  /** The buyer's email address, at most 254 characters. */
  customer: string;
  /** Way to pay to prefer; the best other is used where it is not available. */
  preferredRoute?: RouteKind | undefined;
  /** Where the buyer returns: an absolute URI of at most 2048 characters; https in production. */
  redirectUrl?: string | undefined;
  /** Your own data: at most 10 pairs, keys of 1 to 500 and values of at most 500 characters. */
  metadata?: Metadata | undefined;
  /**
   * Your key of this order, 8 to 120 characters: a resend with the same key answers the same session. Left out, one
   * is made for each call, which makes the retries of that call safe, but not a second call.
   */
  idempotencyKey?: string | undefined;
  /** Your own id of the order, 3 to 120 characters. */
  clientReferenceId?: string | undefined;
  /** Default `sandbox`: test money. */
  environment?: Environment | undefined;
}

/** What to estimate fees for. */
export interface FeesEstimateParams {
  /** US dollars, not cents: more than 0, at most 10000, at most two decimals. */
  amount: number;
  /** Way to pay to prefer. */
  preferredRoute?: RouteKind | undefined;
  /** Exactly this route, 3 to 120 characters. */
  routeId?: string | undefined;
  /** Default `sandbox`. */
  environment?: Environment | undefined;
}

/** What the sample delivery is to say. Everything has a default. */
export interface WebhookExampleParams {
  /** Default `payment.paid`. */
  event?: WebhookEventType | undefined;
  /** Provider it names, 1 to 120 characters. */
  provider?: string | undefined;
  /** Session it names, 1 to 120 characters. */
  sessionId?: string | undefined;
  /** Customer it names, 1 to 120 characters. */
  customerId?: string | undefined;
  /** US dollars, not cents: more than 0, at most 1000000, at most two decimals. Default 49.99. */
  amount?: number | undefined;
  /** Route it names: one that the service has. */
  routeId?: string | undefined;
  /** The provider's reference, 1 to 200 characters, or null. */
  txHash?: string | null | undefined;
  /** true: as in production. Default false. */
  livemode?: boolean | undefined;
  metadata?: Metadata | undefined;
}

/** A callback of a provider, to be checked. */
export interface VerifySampleParams {
  /** Provider that calls, 1 to 120 characters. Default `sandbox`. */
  provider?: string | undefined;
  /** `t=<unix seconds>,v1=<64 hex>` is verified; anything else, of at most 500 characters, is a placeholder. */
  signature?: string | undefined;
  payload: {
    /** The provider's id of it, 1 to 200 characters: applied once. */
    eventId: string;
    /** The checkout session: `chk_...`. */
    sessionId: string;
    status: ProviderStatus;
    /** US dollars, not cents: more than 0, at most 1000000, at most two decimals. */
    amount: number;
    /** The provider's reference, 1 to 200 characters. */
    txHash?: string | undefined;
  };
}

/** Which page of a list. Records come newest first. */
export interface PageParams {
  /** Records of a page: 1 to 100, larger is taken as 100. Default 20. With `for await`, how many each request fetches. */
  limit?: number | undefined;
  /** Records older than the one with this id. */
  startingAfter?: string | undefined;
  /** Records newer than the one with this id; `for await` then goes from it to the newest. Not with `startingAfter`. */
  endingBefore?: string | undefined;
}

export interface SessionListParams extends PageParams {
  /** Only sessions of this customer: an email address, case aside, or `cus_...`. */
  customer?: string | undefined;
  status?: SessionStatus | undefined;
  /** Only sessions that carry this reference of yours. */
  clientReferenceId?: string | undefined;
  /** Left out: both. */
  environment?: Environment | undefined;
}

export interface CustomerListParams extends PageParams {
  /** Only this customer: `cus_...`. */
  customerId?: string | undefined;
  /** Only the customer of this address: the whole address, case aside. */
  email?: string | undefined;
  status?: CustomerStatus | undefined;
  /** Left out: both. */
  environment?: Environment | undefined;
}

export interface PaymentListParams extends PageParams {
  /** Only payments of this customer: `cus_...`. */
  customerId?: string | undefined;
  /** Only the payment of this invoice: `inv_...`. */
  invoiceId?: string | undefined;
  /** Only this payment (`pay_...`), or only those of this session (`chk_...`). */
  paymentId?: string | undefined;
  status?: PaymentStatus | undefined;
  /** Left out: both. */
  environment?: Environment | undefined;
}

export interface InvoiceListParams extends PageParams {
  /** Only invoices of this customer: `cus_...`. */
  customerId?: string | undefined;
  /** Only the invoice of this payment: `pay_...`. */
  paymentId?: string | undefined;
  /** Only this invoice: `inv_...`. */
  invoiceId?: string | undefined;
  status?: InvoiceStatus | undefined;
  /** Left out: both. */
  environment?: Environment | undefined;
}

export interface EventListParams extends PageParams {
  /** Only events of this session: `chk_...`. */
  sessionId?: string | undefined;
  /** Only events of this type. */
  type?: WebhookEventType | undefined;
  /** Left out: both. */
  environment?: Environment | undefined;
}

/** From where on the feed is read. */
export interface EventFeedParams {
  /** The id of the last event that you have read; left out or empty, from the beginning. */
  after?: string | undefined;
  /** Only events of this type. */
  type?: WebhookEventType | undefined;
  /** Left out: both. */
  environment?: Environment | undefined;
  /** How many each request fetches: 1 to 100. Default 20. */
  limit?: number | undefined;
}

/** What an endpoint is to be sent of what it has missed. */
export interface RecoverParams {
  /** Events made then or later: ISO 8601. */
  from: string;
  /** Events made before. Default: now. */
  until?: string | undefined;
  /** true: also what it has acknowledged. Default false. */
  all?: boolean | undefined;
}

export interface DeliveryListParams extends PageParams {
  /** Only deliveries to this webhook endpoint: `whe_...`. */
  endpointId?: string | undefined;
  /** Only deliveries of this session: `chk_...`. */
  sessionId?: string | undefined;
  /** Only deliveries of this event: its whole id, `evt_...`. */
  eventId?: string | undefined;
  /** Only deliveries of events of this type. */
  type?: WebhookEventType | undefined;
  /** `dead` lists what was given up after its last attempt. */
  status?: DeliveryStatus | undefined;
  /** Only deliveries whose last attempt had such an answer; `none`: no answer came. */
  statusClass?: AnswerClass | undefined;
  /** Made then or later: ISO 8601. */
  createdFrom?: string | undefined;
  /** Made before: ISO 8601. */
  createdUntil?: string | undefined;
  /** Left out: both. */
  environment?: Environment | undefined;
}
