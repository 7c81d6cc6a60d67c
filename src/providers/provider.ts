import type { ProviderFailure } from '../domain/failure.ts';
import type { Payment, ProviderStatus, Session } from '../domain/records.ts';
import type { RefundOutcome } from '../domain/refund-record.ts';
import type { Environment } from '../domain/route.ts';

export interface HandoffRequest {
  session: Session;
  payment: Payment;
  merchant: string;
  /** URL to which the provider sends the buyer back. */
  returnUrl: string;
  /** Timeout of the handoff in milliseconds, after which its result is ambiguous. */
  timeoutMs: number;
}

/**
 * - `accepted`: the provider has the payment, and the buyer goes to `url`, if it is not null.
 * - `refused`: the provider certainly does not have the payment, so another route may be tried. `reason` is for the log.
 *   `providerReason` is the provider's own, verbatim; null if it gave none.
 * - `ambiguous`: no clear answer; the provider may have the payment, so no other route is tried before an inquiry.
 */
export type HandoffResult =
  | { outcome: 'accepted'; reference: string; url: string | null }
  | { outcome: 'refused'; reason: string; providerReason: string | null }
  | { outcome: 'ambiguous'; reason: string };

/** A provider's report on a payment. `amount` is the session's amount in cents, `currency` its ISO code. */
export interface ProviderReport {
  /** Our own id of the payment; null if the provider does not name it. */
  paymentId: string | null;
  status: ProviderStatus;
  amount: number;
  currency: string;
  txHash: string | null;
  /** Failure of the payment; null if it did not fail, or if the provider gives no cause, which counts against the route. */
  failure: ProviderFailure | null;
}

export interface ProviderAnswer extends ProviderReport {
  /** The provider's own id of the payment. */
  reference: string;
  /** Page on which the buyer pays; null if there is none. */
  url: string | null;
  /** True while the provider waits for the buyer; false if it is processing the payment. */
  awaitsBuyer: boolean;
}

/** Normalised part of every verified callback. `amount` is in cents. */
interface VerifiedCallback {
  eventId: string;
  sessionId: string;
  amount: number;
  currency: string;
}

export type ProviderCallback = VerifiedCallback & ProviderReport;

/** A callback about a refund. `amount` is the refund's; `reason` is a sentence. */
export interface ProviderRefundCallback extends VerifiedCallback, RefundOutcome {
  refundId: string;
}

/** A callback about the payout of a payment to the merchant. `amount` is the session's amount. */
export interface SettlementCallback extends VerifiedCallback {
  paymentId: string;
  /** The provider's own id of the payout; null if it gives none. */
  reference: string | null;
  /** Null if the provider gives no time. */
  settledAt: number | null;
}

export type ProviderSignal =
  | { about: 'payment'; callback: ProviderCallback }
  | { about: 'refund'; callback: ProviderRefundCallback }
  | { about: 'settlement'; callback: SettlementCallback };

/** Request that a provider refunds a part of a payment. */
export interface RefundRequest {
  /** Idempotency key: the provider refunds each id once. */
  refundId: string;
  payment: Payment;
  /** In cents. */
  amount: number;
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

export type CallbackHeaders = Record<string, string | string[] | undefined>;

/** The port of every provider. Network calls fail by rejecting; only `handoff` sorts its failures. */
export interface Provider {
  id: string;
  /** The only environment whose payments it can move. */
  environment: Environment;
  handoff(request: HandoffRequest): Promise<HandoffResult>;
  /** Verifies the signature of the raw bytes before it parses them. Throws GatewayError `unauthorized`, `invalid_input`. */
  readCallback(rawBody: Buffer, headers: CallbackHeaders): ProviderSignal;
  /** Reads a stored body, which was verified when it arrived. Throws GatewayError `invalid_input` if it is not a callback. */
  readStored(body: string): ProviderSignal;
  /** The provider's report on a payment; undefined if it does not know the payment. The timeout is 10 s by default. */
  inquire(payment: Payment, timeoutMs?: number): Promise<ProviderAnswer | undefined>;
  /**
   * `cancelled`: the provider has the payment and takes no money for it any more; only an inquiry tells whether it took some before.
   * `unknown`: it does not know the payment, though a request may be in flight. The timeout is 10 s by default.
   */
  cancel(payment: Payment, timeoutMs?: number): Promise<'cancelled' | 'unknown'>;
  /**
   * Refunds money, once for each id however often it is called. `failed` is the provider's clear refusal, `unknown` its
   * clear statement that it does not know the payment. Rejects if it is unclear whether the provider has the request.
   * The timeout is 10 s.
   */
  refund(request: RefundRequest): Promise<RefundOutcome | 'unknown'>;
  /** The state of a refund; undefined if the provider does not know it. The timeout is 10 s. */
  inquireRefund(request: RefundRequest): Promise<RefundOutcome | undefined>;
  /** Asks the provider whether this instance can take payments. Changes nothing and takes at most 10 s. */
  check(): Promise<CheckResult>;
}
