import type { FailureCode, FailureSource } from './failure.ts';
import type { FeeSplit } from './fees.ts';
import { isId } from './id.ts';
import type { Cents } from './money.ts';
import type { Environment, PaymentRoute, RouteKind } from './route.ts';

/** Milliseconds since 1970-01-01 UTC. */
export type Instant = number;
export type Metadata = Record<string, string>;

export type SessionStatus = 'routed' | 'pending' | 'paid' | 'failed' | 'expired';
export type PaymentStatus = 'pending' | 'paid' | 'failed';
export type LedgerStatus = 'pending' | 'settled' | 'refunded';
export type InvoiceStatus = 'open' | 'paid' | 'void';
export type CustomerStatus = 'active' | 'blocked' | 'erased';
export type ProviderStatus = 'provider_pending' | 'paid' | 'failed';

/**
 * - `surplus`: real money for a session that another payment has paid.
 * - `amount_mismatch`, `currency_mismatch`, `unknown_payment`: a report of money that was not booked, because its amount, its
 *   currency or its payment is not the session's.
 * - `environment_mismatch`, `provider_mismatch`: a message about a record of another environment or provider. It changed
 *   nothing.
 * - `event_conflict`: a message that reuses an event id with different content. It changed nothing.
 */
export const DISCREPANCY_KINDS = [
  'surplus',
  'amount_mismatch',
  'currency_mismatch',
  'environment_mismatch',
  'provider_mismatch',
  'event_conflict',
  'unknown_payment',
] as const;
export type DiscrepancyKind = (typeof DISCREPANCY_KINDS)[number];
export const DISCREPANCY_STATUSES = ['open', 'resolved'] as const;
export type DiscrepancyStatus = (typeof DISCREPANCY_STATUSES)[number];
/** `paid_in_full`: the right amount arrived later. */
export const RESOLUTIONS = ['refunded', 'accepted', 'paid_in_full'] as const;
export type Resolution = (typeof RESOLUTIONS)[number];

export const SESSION_STATUSES: readonly SessionStatus[] = ['routed', 'pending', 'paid', 'failed', 'expired'];
export const PAYMENT_STATUSES: readonly PaymentStatus[] = ['pending', 'paid', 'failed'];
export const INVOICE_STATUSES: readonly InvoiceStatus[] = ['open', 'paid', 'void'];
export const CUSTOMER_STATUSES: readonly CustomerStatus[] = ['active', 'blocked', 'erased'];
export const PROVIDER_STATUSES: readonly ProviderStatus[] = ['provider_pending', 'paid', 'failed'];
export const CURRENCY = 'USD';

/** One per environment and buyer email, compared without case; `email` keeps the first spelling. */
export interface Customer {
  id: string;
  environment: Environment;
  email: string;
  status: CustomerStatus;
  /** Why it was blocked, in the words of whoever did; null where it is not, or none were given. */
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
  /** Where the buyer goes afterwards; null for our own status page. */
  redirectUrl: string | null;
  metadata: Metadata;
  clientReferenceId: string | null;
  idempotencyKey: string | null;
  /** A hash of the parsed input, for telling a replay from a conflict. */
  requestHash: string | null;
  /** The route chosen at creation and how it split the amount, as ready JSON: what a replay must answer again. */
  offerJson: string;
  /** The routing decision behind the offer; null where the session was written without one. */
  decisionId: string | null;
  /** How often the buyer has started to pay. Failing over to the next route is the same attempt. */
  attempts: number;
  /** Whether the `payment.provider_pending` event has gone out. */
  announced: boolean;
  created: Instant;
  /** When a session that no buyer started expires. */
  expiresAt: Instant;
  /** After a failed attempt: until when the buyer may try again. */
  retryUntil: Instant | null;
  /** When time alone will next change this checkout or ask its provider; null where it never will. */
  wakeAt: Instant | null;
}

/** One attempt to pay a session. */
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
  providerCost: Cents;
  /** The provider's own id of this attempt, once it has accepted the handoff. */
  providerReference: string | null;
  /** Where the provider takes the buyer; null where it has no page, or not yet. */
  providerUrl: string | null;
  /** No answer has told whether the provider has it: set by its handoff, and taken back by the provider's word in time. */
  handoffUnclear: boolean;
  /** Real money that came for a session already paid by another payment; it is refunded. */
  surplus: boolean;
  /** Surplus money that the merchant was told to keep; false of all other. */
  kept: boolean;
  /** Whether it has been recorded as settled, which `ledgerStatus` no longer tells once all is refunded. */
  settled: boolean;
  /** What of the total never came, where the merchant took the rest as payment in full; negative where more came. */
  shortfall: Cents;
  /** Beside the total: money of a wrong amount that is with the buyer again, or on its way there. */
  returned: Cents;
  /** Beside the total: money of a wrong amount that could not go back, until somebody decides again. */
  owed: Cents;
  /** Of the total, what the buyer has back, and what is on its way there. */
  refunded: Cents;
  refundPending: Cents;
  /** What those refunds have taken from the gateway's revenue and from the provider's cost. */
  refundShares: { gateway: Cents; cost: Cents };
  /** Cause of the failure; null exactly if the attempt did not fail. */
  failureCode: FailureCode | null;
  /** Whose fault the failure was: what counts against the route, and what does not. */
  failureSource: FailureSource | null;
  /** The provider's own reason, bounded by `providerText`; null if it gave none. */
  failureReason: string | null;
  /** Made while the route was in standby: what comes of it tells whether the route is back. */
  probe: boolean;
  txHash: string | null;
  metadata: Metadata;
  created: Instant;
  /** When an unconfirmed attempt fails. */
  timeoutAt: Instant;
  /** When the provider is asked next, while the attempt is pending. */
  inquireAt: Instant | null;
  inquiries: number;
}

/** One per payment. */
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

/**
 * Money, or a report of money, that differs from the records, until an operator or a later report resolves it.
 */
export interface Discrepancy {
  id: string;
  /** Environment of the session. */
  environment: Environment;
  kind: DiscrepancyKind;
  status: DiscrepancyStatus;
  version: number;
  sessionId: string;
  customerId: string;
  /** The payment of the session that it is about; null if there is none. */
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
  /** Whether a refund of it is in progress. */
  refunding: boolean;
  /** The newest refund of it. */
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

/** The id of the merchant event of a session reaching a status; the spec's shape. */
export function eventId(sessionId: string, status: ProviderStatus): string {
  return `evt_${sessionId}_${status}`;
}

const EVENT_ID = /^evt_(chk_[^_]+)_(\w+)$/;

/** The session whose event has this id; undefined where no event can have it. */
export function sessionOfEvent(id: string): string | undefined {
  const [, sessionId = '', status = ''] = EVENT_ID.exec(id) ?? [];
  return isId(sessionId, 'chk') && PROVIDER_STATUSES.some((known) => known === status) ? sessionId : undefined;
}
