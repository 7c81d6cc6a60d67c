/** ISO 8601 in UTC with milliseconds: `2026-01-15T09:30:00.000Z`. `new Date(value)` reads it. */
export type Timestamp = string;
/** `sandbox` moves test money only, `production` real money. */
export type Environment = 'sandbox' | 'production';
/** How the buyer pays: by card, by wallet, or by a local bank method. */
export type RouteKind = 'card' | 'wallet' | 'local';
/** Your own data, as given when the session was created. Values are strings of at most 500 characters. */
export type Metadata = Record<string, string>;

/**
 * `routed`: waiting for the buyer. `pending`: payment under way. `paid`: confirmed, safe to fulfil. `failed`: the last
 * attempt failed; money that arrives late can still make it `paid`. `expired`: no buyer started in time.
 */
export type SessionStatus = 'routed' | 'pending' | 'paid' | 'failed' | 'expired';
/** `pending`: not yet confirmed. `paid`: confirmed, safe to fulfil. `failed`: failed or rejected. */
export type PaymentStatus = 'pending' | 'paid' | 'failed';
/** `open`: payment not yet received. `paid`: payment confirmed. `void`: voided before payment. */
export type InvoiceStatus = 'open' | 'paid' | 'void';
/** `blocked`: no session can be created for this customer. */
export type CustomerStatus = 'active' | 'blocked' | 'erased';
/** `pending`: to be sent, or sent again. `delivered`: acknowledged with 200. `dead`: given up, until it is replayed. */
export type DeliveryStatus = 'pending' | 'delivered' | 'dead';
/** `provider_pending`: accepted by the provider, not confirmed. `paid`: confirmed, safe to fulfil. */
export type ProviderStatus = 'provider_pending' | 'paid' | 'failed';

/** One page of a list. */
export interface Page<Item> {
  object: 'list';
  /** The records of this page, newest first. */
  data: Item[];
  /** Whether there are more in the direction asked for. */
  hasMore: boolean;
}

/** A checkout: send the buyer to `checkoutUrl`. */
export interface CheckoutSession {
  /** Starts with `chk_`. */
  id: string;
  object: 'checkout_session';
  /** Send the buyer here to pay. */
  checkoutUrl: string;
  status: SessionStatus;
  /** What you asked for, in US dollars, not cents: 49.99 is $49.99. */
  amount: number;
  /** Currency of every amount: always `USD`. */
  currency: string;
  /** Where the buyer goes afterwards, with `session_id` and `status` added to its query. */
  redirectUrl: string;
  /** The buyer's email address. */
  customer: string;
  metadata: Metadata;
  environment: Environment;
  /** What is sold. */
  product: string;
  /** Starts with `cus_`. */
  customerId: string;
  /** Your own id of the order, or null. */
  clientReferenceId: string | null;
  created: Timestamp;
  /** When the session expires if no buyer starts to pay. */
  expiresAt: Timestamp;
}

/** A buyer, by email address and environment. */
export interface Customer {
  /** Starts with `cus_`. */
  id: string;
  object: 'customer';
  /** Email address, as first given. */
  email: string;
  /** `blocked`: no session can be created or paid. `erased`: nothing is kept that names the buyer. */
  status: CustomerStatus;
  /** Why it was blocked, as given then. */
  statusReason: string | null;
  /** When the customer was first seen. */
  created: Timestamp;
  environment: Environment;
}

/** Who pays what, in US dollars, not cents. `buyer_fee + gateway_fee + merchant_net = total`, to the cent. */
export interface Fees {
  /** What the buyer pays on top of the amount. */
  buyer_fee: number;
  /** What the gateway keeps of the amount. */
  gateway_fee: number;
  /** What you get: the amount minus `gateway_fee`. */
  merchant_net: number;
  /** What the buyer pays: the amount plus `buyer_fee`. */
  total: number;
}

/** Who pays what, in US dollars, not cents. `buyerFee + gatewayFee + merchantNet = total`, to the cent. */
export interface FeeSplit {
  /** What the buyer pays on top of the amount. */
  buyerFee: number;
  /** What the gateway keeps of the amount. */
  gatewayFee: number;
  /** What you get: the amount minus `gatewayFee`. */
  merchantNet: number;
  /** What the buyer pays: the amount plus `buyerFee`. */
  total: number;
}

/** Cause of a payment failure. */
export interface PaymentFailure {
  /** Cause for programs. Later versions can add codes: treat an unknown code as `declined`. */
  code:
    | 'declined'
    | 'insufficient_funds'
    | 'incorrect_cvc'
    | 'expired_card'
    | 'authentication_failed'
    | 'issuer_unavailable'
    | 'processing_error'
    | 'cancelled'
    | 'handoff_refused'
    | 'timed_out'
    | 'amount_mismatch'
    | 'abandoned'
    | 'superseded';
  /** The buyer (or the buyer's data), the buyer's bank or wallet (`issuer`), the provider (`route`), or Tillway (`gateway`). */
  source: 'buyer' | 'issuer' | 'route' | 'gateway';
  /** The provider's own reason, at most 200 characters; null if it gave none. */
  reason: string | null;
  /** The cause as a sentence for a person. */
  message: string;
}

/** One attempt of a buyer to pay a session. */
export interface Payment {
  /** Starts with `pay_`. */
  id: string;
  object: 'payment';
  /** Starts with `cus_`. */
  customerId: string;
  /** The invoice of this payment. Starts with `inv_`. */
  invoiceId: string;
  /** Starts with `chk_`. */
  sessionId: string;
  /** The session's amount, in US dollars, not cents. */
  amount: number;
  /** Always `USD`. */
  currency: string;
  status: PaymentStatus;
  /** Null unless `status` is `failed`. */
  failure: PaymentFailure | null;
  /** `pending`: settlement not yet recorded. `settled`: paid out to you. `refunded`: all of it given back. */
  ledgerStatus: 'pending' | 'settled' | 'refunded';
  /** When the buyer started this attempt. */
  created: Timestamp;
  /** The route that carries the payment. */
  route: { id: string; kind: RouteKind; label: string };
  fees: Fees;
  /** What the buyer has back of the total, in US dollars, not cents. */
  refundedAmount: number;
  /** What is on its way back to the buyer besides. */
  refundPendingAmount: number;
  metadata: Metadata;
  environment: Environment;
}

/** What a payment is for. A session is paid exactly when one of its invoices is. */
export interface Invoice {
  /** Starts with `inv_`. */
  id: string;
  object: 'invoice';
  /** Starts with `cus_`. */
  customerId: string;
  /** Starts with `pay_`. */
  paymentId: string;
  /** Starts with `chk_`. */
  sessionId: string;
  /** The session's amount, in US dollars, not cents. */
  amount: number;
  /** Always `USD`. */
  currency: string;
  status: InvoiceStatus;
  metadata: Metadata;
  created: Timestamp;
  environment: Environment;
}

/** One event on its way to one webhook endpoint. */
export interface Delivery {
  /** Starts with `dlv_`. */
  id: string;
  object: 'delivery';
  /** The event that is sent: `evt_...`. */
  eventId: string;
  /** The endpoint that it is sent to. Starts with `whe_`. */
  endpointId: string;
  /** Starts with `chk_`. */
  sessionId: string;
  environment: Environment;
  /** The type of the event. */
  type: WebhookEventType;
  status: DeliveryStatus;
  /** Attempts begun, those before a replay included. */
  attempts: number;
  /** When the next attempt is due, or null where none is. */
  nextAttemptAt: Timestamp | null;
  /** The last attempt that has ended, or null before there is one. */
  lastAttempt: LastAttempt | null;
  /** When it was made: with its event, or by a later resend or recovery. */
  created: Timestamp;
}

/** What a delivery shows of its log. */
export interface LastAttempt {
  /** When it began. */
  at: Timestamp;
  /** How long it took, in milliseconds. */
  durationMs: number;
  /** HTTP status of the answer, or null where none came. */
  statusCode: number | null;
  /** Why it failed, in words; null where it was acknowledged. */
  failure: string | null;
}

/** One attempt to deliver, and what came of it. */
export interface DeliveryAttempt {
  /** 1 for the first attempt; goes on growing after a replay. */
  number: number;
  /** When it began. */
  started: Timestamp;
  /** How long it took, in milliseconds. */
  durationMs: number;
  /** HTTP status of the answer, or null where none came. */
  statusCode: number | null;
  /** Why it failed, in words; null where it was acknowledged. */
  failure: string | null;
  /** The first 16 KiB of the answer, as text. */
  responseBody: string;
}

/** A delivery with the log of its attempts and the event as sent. */
export interface DeliveryDetails extends Delivery {
  /** Every attempt that has ended, oldest first. */
  log: DeliveryAttempt[];
  /** The event as sent. */
  payload: WebhookEvent;
}

export type WebhookEventType = WebhookEvent['type'];
/** What a webhook delivers. `switch (event.type)` narrows it. Fulfil on `payment.paid` only. */
export type WebhookEvent = PaymentPaidEvent | PaymentFailedEvent | PaymentProviderPendingEvent;
/** The payment is confirmed: fulfil the order, once for each event id. */
export type PaymentPaidEvent = EventOf<'payment.paid', 'paid'>;
/** The payment failed, timed out or was rejected. `payment.paid` can still follow, where money arrives late. */
export type PaymentFailedEvent = EventOf<'payment.failed', 'failed'>;
/** A provider has taken the payment over; it is not confirmed. */
export type PaymentProviderPendingEvent = EventOf<'payment.provider_pending', 'provider_pending'>;

export interface EventOf<Type extends string, Status extends ProviderStatus> {
  /** `evt_...`: process each id once, since deliveries can repeat. */
  id: string;
  type: Type;
  /** true exactly for production. */
  livemode: boolean;
  /** When the state changed. */
  created: Timestamp;
  /** The payment at that moment. */
  data: EventData<Status>;
}

export interface EventData<Status extends ProviderStatus = ProviderStatus> {
  /** The checkout session. Starts with `chk_`. */
  session_id: string;
  /** Starts with `cus_`. */
  customer_id: string;
  status: Status;
  /** The session's amount, in US dollars, not cents. */
  amount: number;
  /** Always `USD`. */
  currency: string;
  /** What the route settles in. */
  asset: string;
  /** The network it settles on. */
  network: string;
  /** The route that carries the payment. */
  route: { id: string; kind: RouteKind; label: string; provider: string };
  fees: Fees;
  /** The provider's transaction reference, or null. */
  tx_hash: string | null;
  /** What you gave when you created the session: your order can be found by it. */
  metadata: Metadata;
}

/** The test clock of the service: a sandbox that has it enabled can move its time forward. */
export interface TestClock {
  object: 'test_clock';
  /** `advancing` while what has come due is still being done; `ready` afterwards. */
  status: 'ready' | 'advancing';
  /** What time it is for the service. */
  now: Timestamp;
  /** Where `now` is being moved to; null while it is `ready`. */
  target: Timestamp | null;
  /** How far it has been moved in all, in seconds. */
  advancedSeconds: number;
}
