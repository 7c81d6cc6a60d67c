import type { FailureCode, FailureSource, ProviderFailure } from './failure.ts';
import type { FeeSplit } from './fees.ts';
import type { Cents } from './money.ts';
import type { PaymentCard } from './payment-card.ts';
import type { Environment, PaymentRoute, RouteKind } from './route.ts';

/** Milliseconds since 1970-01-01 UTC. */
export type Instant = number;
export type Metadata = Record<string, string>;

export const SESSION_STATUSES = ['routed', 'pending', 'paid', 'failed', 'expired'] as const;
export type SessionStatus = (typeof SESSION_STATUSES)[number];
export const PAYMENT_STATUSES = ['pending', 'paid', 'failed'] as const;
export type PaymentStatus = (typeof PAYMENT_STATUSES)[number];
/** `settled`: the payment is paid out to the merchant. `refunded`: all of it is refunded to the buyer. */
export type LedgerStatus = 'pending' | 'settled' | 'refunded';
export const INVOICE_STATUSES = ['open', 'paid', 'void'] as const;
export type InvoiceStatus = (typeof INVOICE_STATUSES)[number];
export const CUSTOMER_STATUSES = ['active', 'blocked', 'erased'] as const;
export type CustomerStatus = (typeof CUSTOMER_STATUSES)[number];
/** Statuses of a payment that a provider reports, and that events announce to the merchant. */
export const PROVIDER_STATUSES = ['provider_pending', 'paid', 'failed'] as const;
export type ProviderStatus = (typeof PROVIDER_STATUSES)[number];

/**
 * - `surplus`: real money for a session that another payment has paid.
 * - `amount_mismatch`, `currency_mismatch`, `unknown_payment`: a report of money that was not booked, because its amount, its
 *   currency or its payment is not the session's.
 * - `environment_mismatch`, `provider_mismatch`: a message about a record of another environment or provider. It changed
 *   nothing.
 * - `event_conflict`: a message that reuses an event id with different content. It changed nothing.
 * - `refund_excess`: a refund that was made at the provider and exceeds the rest of the payment, or is of another charge. It was not
 *   booked.
 * - `reversal`: money that the provider has taken back, or may take back, from a paid payment. It is booked.
 */
export const DISCREPANCY_KINDS = [
  'surplus',
  'amount_mismatch',
  'currency_mismatch',
  'environment_mismatch',
  'provider_mismatch',
  'event_conflict',
  'unknown_payment',
  'refund_excess',
  'reversal',
] as const;
export type DiscrepancyKind = (typeof DISCREPANCY_KINDS)[number];
export const DISCREPANCY_STATUSES = ['open', 'resolved'] as const;
export type DiscrepancyStatus = (typeof DISCREPANCY_STATUSES)[number];
/** `paid_in_full`: the right amount arrived later. */
export const RESOLUTIONS = ['refunded', 'accepted', 'paid_in_full'] as const;
type Resolution = (typeof RESOLUTIONS)[number];

export const CURRENCY = 'USD';

/** A buyer, unique by environment and email address, whose case is ignored. `email` has the spelling of the first request. */
export interface Customer {
  id: string;
  environment: Environment;
  email: string;
  status: CustomerStatus;
  /** Operator's reason for the block; null if there is none. */
  statusReason: string | null;
  created: Instant;
}

export interface Session {
  id: string;
  environment: Environment;
  status: SessionStatus;
  /** Grows by one with every change of the session, its payments or its invoices: the guard of every commit. */
  version: number;
  product: string;
  amount: Cents;
  customerId: string;
  customerEmail: string;
  preferredRoute: RouteKind | null;
  /** The buyer's destination after the payment; null for our own status page. */
  redirectUrl: string | null;
  metadata: Metadata;
  clientReferenceId: string | null;
  idempotencyKey: string | null;
  /** A hash of the parsed input, to distinguish a replay from a conflict. */
  requestHash: string | null;
  /** JSON of the route chosen at creation and its fee split, for replays. */
  offerJson: string;
  /** The routing decision for the offer; null for sessions of versions that did not store decisions. */
  decisionId: string | null;
  /** Number of attempts. A failover to another route does not count as an attempt. */
  attempts: number;
  /** True once the `payment.provider_pending` event is recorded. */
  announced: boolean;
  created: Instant;
  /** Expiry of the session if no buyer starts it. */
  expiresAt: Instant;
  /** After a failed attempt: end of the time in which the buyer may try again. */
  retryUntil: Instant | null;
  /** Time at which the session expired; stays if money arrives later. Null if it never expired, or expired with the erasure of its buyer. */
  expiredAt: Instant | null;
  /** Next time at which this checkout changes by itself or its provider is asked; null if never. */
  wakeAt: Instant | null;
}

/** One attempt to pay a session, on one route. */
export interface Payment {
  id: string;
  sessionId: string;
  invoiceId: string;
  customerId: string;
  environment: Environment;
  amount: Cents;
  status: PaymentStatus;
  ledgerStatus: LedgerStatus;
  route: PaymentRoute;
  fees: FeeSplit;
  /** The provider's charge as the route estimates it. */
  providerCost: Cents;
  /** The provider's charge as the provider reported it; null until then. */
  actualCost: Cents | null;
  /** True if the provider returns its charge with a refund. */
  costRefundable: boolean;
  /** The provider's id of this attempt, once it has accepted the handoff. */
  providerReference: string | null;
  /** The provider's page for the buyer; null if there is none, or before the provider has accepted the handoff. */
  providerUrl: string | null;
  /** The id by which the provider's refunds, disputes and payouts name the payment; null if unknown. */
  chargeReference: string | null;
  /** True after an uncertain handoff, until the provider reports on the pending payment or reports its money. */
  handoffUncertain: boolean;
  /** Real money for a session that another payment had paid already; it is refunded. */
  surplus: boolean;
  /** Surplus money that an operator accepted for the merchant. */
  surplusAccepted: boolean;
  /** True once the payment is recorded as settled. After a full refund, `ledgerStatus` does not show this. */
  settled: boolean;
  /** Part of the total that never arrived although the payment was accepted as paid in full; negative if more arrived. */
  shortfall: Cents;
  /** Sum of succeeded and pending refunds of wrong amounts. Not part of the total. */
  mismatchRefunded: Cents;
  /** Sum of failed refunds of wrong amounts, until an operator decides again. Not part of the total. */
  mismatchRefundFailed: Cents;
  /** Part of the total that the provider has taken back, for example in a dispute. */
  reversed: Cents;
  /** Part of the total in succeeded refunds; `refundPending` is the part in pending refunds. */
  refunded: Cents;
  refundPending: Cents;
  /** Shares of the succeeded and pending refunds in the gateway's revenue and the provider's cost. */
  refundShares: { gateway: Cents; cost: Cents };
  /** Cause of the failure; null unless the attempt failed. */
  failureCode: FailureCode | null;
  /** Responsible party of the failure; only `route` counts against the route. */
  failureSource: FailureSource | null;
  /** The provider's reason, shortened to one line by `providerText`; null if the provider gave none. */
  failureReason: string | null;
  /** The last soft decline of the attempt, after which the buyer could try again at the provider; null if there is none. */
  decline: ProviderFailure | null;
  /** The card of the buyer; null if the provider has not reported it. */
  card: PaymentCard | null;
  /** True if the attempt was made while the route was in standby. Its outcome shows whether the route works again. */
  probe: boolean;
  txHash: string | null;
  metadata: Metadata;
  created: Instant;
  /** Timeout of the unconfirmed attempt. */
  timeoutAt: Instant;
  /** Time by which the provider expects the money, after the buyer has done their part; null before. */
  expectedBy: Instant | null;
  /** Next inquiry at the provider while the attempt is pending. */
  inquireAt: Instant | null;
  inquiries: number;
}

/** The properties of a payment that its resource and lists show. */
export type ShownPayment = Pick<
  Payment,
  | 'id'
  | 'sessionId'
  | 'invoiceId'
  | 'customerId'
  | 'environment'
  | 'amount'
  | 'status'
  | 'ledgerStatus'
  | 'route'
  | 'fees'
  | 'refunded'
  | 'refundPending'
  | 'failureCode'
  | 'failureSource'
  | 'failureReason'
  | 'metadata'
  | 'created'
>;

/** The invoice of a payment; each payment has one. */
export interface Invoice {
  id: string;
  paymentId: string;
  sessionId: string;
  customerId: string;
  environment: Environment;
  amount: Cents;
  status: InvoiceStatus;
  metadata: Metadata;
  created: Instant;
}

/** Record of money, or of a report, that does not match the books. An operator or a later report resolves it. */
export interface Discrepancy {
  id: string;
  /** Environment of the session. */
  environment: Environment;
  kind: DiscrepancyKind;
  status: DiscrepancyStatus;
  version: number;
  sessionId: string;
  customerId: string;
  /** The payment that the discrepancy is about; null if there is none. */
  paymentId: string | null;
  /** Identity of the money within its session and kind, so that a repeated report raises the same record. */
  subject: string;
  /** Null for records of versions that did not store it. */
  provider: string | null;
  /** The provider's id of the message that reported it; null for surplus money. */
  eventId: string | null;
  /**
   * Cents, without the buyer's fee: the part of the session's amount that was expected and the part that arrived. `expected` is
   * 0 if no more money was expected; then `received` is all money beyond earlier decisions.
   */
  expected: Cents;
  received: Cents;
  /** Null for records of versions that did not store it. */
  currency: string | null;
  /** True while a refund of the discrepancy is in progress. */
  refunding: boolean;
  /** The newest refund of the discrepancy. */
  refundId: string | null;
  resolution: Resolution | null;
  note: string | null;
  created: Instant;
  resolvedAt: Instant | null;
}

/** A session with all its payments, invoices and discrepancies, oldest first: the input of every decision about it. */
export interface Checkout {
  session: Session;
  payments: readonly Payment[];
  invoices: readonly Invoice[];
  discrepancies: readonly Discrepancy[];
}
