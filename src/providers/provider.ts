import type { Payment, ProviderFault, ProviderStatus, Session } from '../domain/records.ts';
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
 * - `refused`: the provider certainly does not have it; another route may be tried.
 * - `ambiguous`: no clear answer; the provider may hold it, so that nothing else is tried before it is asked again.
 */
export type HandoffResult =
  | { outcome: 'accepted'; reference: string; url: string | null }
  | { outcome: 'refused'; reason: string }
  | { outcome: 'ambiguous'; reason: string };

/** A provider's word on a payment. `amount` is the session's amount in cents, `currency` its ISO code. */
export interface ProviderReport {
  /** Our own payment, where the provider names it. */
  paymentId: string | null;
  status: ProviderStatus;
  amount: number;
  currency: string;
  txHash: string | null;
  /**
   * Whose fault it is where it failed; null where the provider does not say, which counts against the route. Where it is
   * under way, `buyer` says that the provider still waits for the buyer, and null that it is at work itself.
   */
  failureSource: ProviderFault | null;
}

/** A verified callback, normalised. */
export interface ProviderCallback extends ProviderReport {
  eventId: string;
  sessionId: string;
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
  readCallback(rawBody: Buffer, headers: CallbackHeaders): ProviderCallback;
  /** What the provider knows of a payment; undefined where it has never heard of it. Waits 10 s, or as long as said. */
  inquire(
    payment: Payment,
    timeoutMs?: number,
  ): Promise<(ProviderReport & { reference: string; url: string | null }) | undefined>;
  /**
   * `cancelled`: it has the payment, and takes no money for it from now on; what it had taken before, only an inquiry tells.
   * `unknown`: it has never heard of it, though a request may be under way. Waits 10 s, or as long as said.
   */
  cancel(payment: Payment, timeoutMs?: number): Promise<'cancelled' | 'unknown'>;
  /** Both may be asked more than once for the same payment. */
  refund(payment: Payment): Promise<void>;
}
