import type { Payment, Session } from '../domain/records.ts';
import type { Hint, PayoutEntry, ProviderReport, RefundReport, ReversalReport } from '../domain/provider-report.ts';
import type { RefundOutcome } from '../domain/refund-record.ts';
import type { Environment } from '../domain/route.ts';

export interface HandoffRequest {
  session: Session;
  payment: Payment;
  merchant: string;
  /** URL to which the provider sends the buyer after the payment. */
  returnUrl: string;
  /** URL to which the provider sends a buyer who does not pay there: the checkout page. */
  cancelUrl: string;
  /** URL for the provider's callbacks about this payment. */
  callbackUrl: string;
  /** Timeout of the handoff in milliseconds, after which its result is ambiguous. */
  timeoutMs: number;
}

/**
 * - `accepted`: the provider has the payment, and the buyer goes to `url`, if it is not null.
 * - `refused`: the provider certainly does not have the payment, so another route may be tried. `reason` is for the log.
 *   `providerReason` is the provider's own, verbatim; null if it gave none.
 * - `ambiguous`: no clear answer; the provider may have the payment, so no other route is tried before an inquiry.
 *   `isAnswered` is true if there was an answer, for example a 500.
 */
export type HandoffResult =
  | { outcome: 'accepted'; reference: string; url: string | null }
  | { outcome: 'refused'; reason: string; providerReason: string | null }
  | { outcome: 'ambiguous'; reason: string; isAnswered: boolean };

/** Names of a payment in a message of a provider: at least one. If there are several, all of them must name the payment. */
export interface PaymentRef {
  sessionId?: string;
  paymentId?: string;
  /** The provider's own id of the payment or of its charge. */
  reference?: string;
}

/** Report of a provider, in a callback or in an answer. */
export type Signal =
  | { about: 'payment'; ref: PaymentRef; report: ProviderReport }
  | { about: 'refund'; ref: PaymentRef; refund: RefundReport }
  | { about: 'settlement'; ref: PaymentRef; entry: PayoutEntry }
  | { about: 'reversal'; ref: PaymentRef; reversal: ReversalReport };

/**
 * A verified callback. Both lists are empty if the callback is about no record of this service. Each signal and each hint has an id that
 * is derived from the provider's id of the event and is unique in both lists: it is applied once.
 */
export interface Callback {
  signals: (Signal & { eventId: string })[];
  hints: CallbackHint[];
  /** Body that the provider expects as the acknowledgement; default: ours, in JSON. */
  reply?: string;
}

export interface CallbackHint extends Hint {
  eventId: string;
  /** Set if the event is of another environment or account. The service then stores and flags the hint, and asks nothing. */
  mismatch?: 'environment_mismatch' | 'account_mismatch';
}

/** Answer to a hint. */
export interface HintAnswer {
  signals: Signal[];
  /** Position of the next page of a long answer; null on the last one. */
  next: string | null;
  /** True if the provider will know more later, such as the cost of a payment: it is asked again after 1 h and 24 h. */
  isIncomplete?: boolean;
}

/** Answer to an inquiry about a payment that the provider knows. */
export interface KnownPayment {
  report: ProviderReport;
  /** The provider's own id of the payment. */
  reference: string;
  /** Page on which the buyer pays; null if there is none. */
  url: string | null;
}

/** Request that a provider refunds a part of a payment. */
export interface RefundRequest {
  /** Idempotency key: the provider refunds each id once. */
  refundId: string;
  payment: Payment;
  /** In cents. */
  amount: number;
  /** The provider's own id of the refund, once it has answered a request. */
  reference: string | null;
  /** Time of the first request. */
  created: number;
}

export type CallbackHeaders = Record<string, string | string[] | undefined>;

/** Abilities of a provider on which the service depends. */
interface Traits {
  /** `holds`: no money can arrive after a cancellation. `best_effort`: the buyer can still pay. */
  cancel: 'holds' | 'best_effort';
  /** `own_id`: the provider finds a payment by our id. `reference`: only by the id that it gave in the handoff. */
  lookup: 'own_id' | 'reference';
  /** `manual`: an operator refunds outside this service. */
  refunds: 'api' | 'manual';
  /** True if the provider returns its cost with a refund. */
  costRefundable: boolean;
  /** Cases in which an ambiguous handoff is sent again. `no_answer`: not after an answer such as a 500, which the provider would repeat. */
  resend: 'always' | 'no_answer' | 'never';
}

/** Result of one line of a check. `todo` says what to do, for a problem. */
export interface Finding {
  /** `error` keeps the instance from being ready. */
  level: 'ok' | 'warning' | 'error';
  message: string;
  todo?: string;
}

export interface CheckResult {
  ready: boolean;
  findings: Finding[];
  /** Reasons why single routes of the instance cannot be used although it is ready, by the network of the route. */
  unavailable?: Record<string, string>;
}

/**
 * The port of every provider: one configured instance of an adapter. Network calls fail by rejecting; only `handoff` sorts its
 * failures. Timeouts are 10 s by default.
 */
export interface Provider {
  /** Name of the instance. */
  id: string;
  /** The only environment in which the instance can move money. */
  environment: Environment;
  traits: Traits;
  handoff(request: HandoffRequest): Promise<HandoffResult>;
  /** Verifies the signature of the raw bytes before it parses them. Throws GatewayError `unauthorized`, `invalid_input`. */
  readCallback(rawBody: Buffer, headers: CallbackHeaders): Promise<Callback>;
  /** Reads the object of a hint; required of adapters whose callbacks contain hints. */
  query?(hint: Hint, page: string | null): Promise<HintAnswer>;
  /** The hint for the return of a buyer; undefined if the provider has nothing to ask about. */
  returnHint?(payment: Payment): Hint | undefined;
  /**
   * The provider's report on a payment. `unknown`: it does not have the payment, and nobody can pay it. `cannot_tell`: the
   * provider cannot answer that.
   */
  inquire(payment: Payment, timeoutMs?: number): Promise<KnownPayment | 'unknown' | 'cannot_tell'>;
  /**
   * `cancelled`: the provider has the payment and takes no money for it any more; only an inquiry tells whether it took some before.
   * `unknown`: it does not know the payment, though a request may be in flight. Rejects if it cannot be cancelled now.
   */
  cancel(payment: Payment, timeoutMs?: number): Promise<'cancelled' | 'unknown'>;
  /** Takes the money of an approved payment, once; required of adapters that report `requires_capture`. */
  capture?(payment: Payment, timeoutMs?: number): Promise<ProviderReport>;
  /**
   * Refunds money, once for each id however often it is called. `failed` is the provider's clear refusal, `unknown` its
   * clear statement that it does not know the payment. Rejects if it is unclear whether the provider has the request.
   */
  refund(request: RefundRequest): Promise<RefundOutcome | 'unknown'>;
  /** The state of a refund; undefined if the provider does not know it. */
  inquireRefund(request: RefundRequest): Promise<RefundOutcome | undefined>;
  /** Asks the provider whether this instance can take payments. Changes nothing and takes at most 10 s. */
  check(): Promise<CheckResult>;
}
