import type { ProviderFailure } from '../domain/failure.ts';
import type { Payment, ProviderStatus, Session } from '../domain/records.ts';
import type { RefundOutcome } from '../domain/refund.ts';
import type { Environment } from '../domain/route.ts';

/** What a provider is told of a payment that it shall take over. */
export interface HandoffRequest {
  session: Session;
  payment: Payment;
  merchant: string;
  /** Where the provider sends the buyer back to. */
  returnUrl: string;
  /** How long to wait for an answer, in milliseconds; after that it is ambiguous. */
  timeoutMs: number;
}

/**
 * - `accepted`: the provider has it, and the buyer goes to `url`, where there is one.
 * - `refused`: the provider certainly does not have the payment, so another route may be tried. `reason` is for the log.
 *   `providerReason` is the provider's own, verbatim; null if it gave none.
 * - `ambiguous`: no clear answer; the provider may hold it, so that nothing else is tried before it is asked again.
 */
export type HandoffResult =
  | { outcome: 'accepted'; reference: string; url: string | null }
  | { outcome: 'refused'; reason: string; providerReason: string | null }
  | { outcome: 'ambiguous'; reason: string };

/** A provider's word on a payment. `amount` is the session's amount in cents, `currency` its ISO code. */
export interface ProviderReport {
  /** Our own payment, where the provider names it. */
  paymentId: string | null;
  status: ProviderStatus;
  amount: number;
  currency: string;
  txHash: string | null;
  /** Failure of the payment; null if it did not fail, or if the provider gives no cause, which counts against the route. */
  failure: ProviderFailure | null;
}

/** A provider's answer to an inquiry. */
export interface ProviderAnswer extends ProviderReport {
  /** The provider's own id of the payment. */
  reference: string;
  /** Page on which the buyer pays; null if there is none. */
  url: string | null;
  /** Whether the provider still waits for the buyer; false if the provider itself is processing the payment. */
  awaitsBuyer: boolean;
}

/** A verified callback, normalised. */
export interface ProviderCallback extends ProviderReport {
  eventId: string;
  sessionId: string;
}

/** A verified callback about a refund, normalised. `amount` is the refund's, in cents; `reason` is in words. */
export interface ProviderRefundCallback extends RefundOutcome {
  eventId: string;
  sessionId: string;
  refundId: string;
  amount: number;
  currency: string;
}

/** A verified callback that a payment has been paid out to the merchant. `amount` is the session's amount in cents. */
export interface SettlementCallback {
  eventId: string;
  sessionId: string;
  paymentId: string;
  amount: number;
  currency: string;
  /** What the provider calls the payout; null where it does not say. */
  reference: string | null;
  /** Null where the provider does not say. */
  settledAt: number | null;
}

/** What a callback can be about. */
export type ProviderSignal =
  | { about: 'payment'; callback: ProviderCallback }
  | { about: 'refund'; callback: ProviderRefundCallback }
  | { about: 'settlement'; callback: SettlementCallback };

/** Part of what a provider took for a payment, to be given back. */
export interface RefundRequest {
  /** The provider's idempotency key: it gives the money of one id back once. */
  refundId: string;
  payment: Payment;
  /** In cents. */
  amount: number;
}

export type CallbackHeaders = Record<string, string | string[] | undefined>;

/** The port of every provider. Network calls fail by rejecting; only `handoff` sorts its failures. */
export interface Provider {
  id: string;
  /** The one environment whose payments it can move. */
  environment: Environment;
  handoff(request: HandoffRequest): Promise<HandoffResult>;
  /**
   * Verifies the signature over the raw bytes before anything is parsed.
   * Throws GatewayError `unauthorized` for a bad signature, `invalid_input` for a body that is not a callback.
   */
  readCallback(rawBody: Buffer, headers: CallbackHeaders): ProviderSignal;
  /** What a body says that was verified when it came. Throws GatewayError `invalid_input` for one that is not a callback. */
  readKept(body: string): ProviderSignal;
  /** What the provider knows of a payment; undefined where it has never heard of it. Waits 10 s, or as long as said. */
  inquire(payment: Payment, timeoutMs?: number): Promise<ProviderAnswer | undefined>;
  /**
   * `cancelled`: it has the payment, and takes no money for it from now on; what it had taken before, only an inquiry tells.
   * `unknown`: it has never heard of it, though a request may be under way. Waits 10 s, or as long as said.
   */
  cancel(payment: Payment, timeoutMs?: number): Promise<'cancelled' | 'unknown'>;
  /**
   * Refunds money, once for each id however often it is called. `failed` is the provider's clear refusal, `unknown` its
   * clear statement that it does not know the payment. Rejects if it is unclear whether the provider has the request.
   * Waits 10 s.
   */
  refund(request: RefundRequest): Promise<RefundOutcome | 'unknown'>;
  /** What has become of a refund; undefined where the provider has never heard of it. Waits 10 s. */
  inquireRefund(request: RefundRequest): Promise<RefundOutcome | undefined>;
}
