import type { Cents } from './money.ts';
import type { ReversalStatus } from './provider-report.ts';
import type { Instant, ProviderStatus, Payment, Session } from './records.ts';
import type { RefundStatus } from './refund-record.ts';
import type { Environment } from './route.ts';

/** Verified callback about a payment, a settlement, a refund or a reversal, or the provider's answer to an inquiry. */
export interface ProviderMessage extends SignalOrigin {
  eventId: string;
  about: 'payment' | 'refund' | 'settlement' | 'reversal';
  sessionId: string;
  /** The payment that the message names; for a refund, the refunded payment, or null if the message names another session. */
  paymentId: string | null;
  refundId: string | null;
  /** `settled`: the payment was paid out to the merchant. */
  status: ProviderStatus | RefundStatus | ReversalStatus | 'settled';
  /** Null if the provider names no amount. */
  amount: Cents | null;
  /** Null if the provider names no amount, and for messages stored by versions that did not record it. */
  currency: string | null;
  /** The normalized report as JSON; null for messages stored by versions that did not record it. */
  signal: string | null;
  /** Effect of the message: `applied`, `ignored`, or the reason why an operator must look at it. */
  outcome: string;
  flagged: boolean;
  /** The message verbatim. */
  body: string;
  received: Instant;
}

/** True if an operator must look at messages with this outcome. */
export function isFlagged(outcome: string): boolean {
  return outcome !== 'applied' && outcome !== 'ignored' && outcome !== 'duplicate';
}

/** Outcome of a message that reuses an event id with different content. */
export const EVENT_CONFLICT = 'event_conflict';

/**
 * True if two messages with one event id have the same session, payment, refund, status, amount and currency. Descriptive
 * fields, such as times, reasons and references, may differ, because a provider can change them in a retry.
 */
export function hasSameContent(
  known: ProviderMessage,
  repeat: Omit<ProviderMessage, 'outcome' | 'flagged' | 'received'>,
): boolean {
  return (
    known.sessionId === repeat.sessionId &&
    known.paymentId === repeat.paymentId &&
    // The first report on a refund that was made at the provider names no refund of this service: it creates the record.
    (known.refundId === null || known.refundId === repeat.refundId) &&
    known.status === repeat.status &&
    known.amount === repeat.amount &&
    (known.currency === null || known.currency === repeat.currency)
  );
}

/** Sender of a verified message: a provider instance, and the one environment that it may change. */
export interface SignalOrigin {
  provider: string;
  environment: Environment;
}

/** Mismatch between a message's sender and the session or payment that the message is about. Such a message changes nothing. */
export type OriginMismatch = 'environment_mismatch' | 'provider_mismatch';

/** Reason why a sender may not change a session or a payment; undefined if it may. Only the provider of its route may change a payment. */
export function originMismatch(
  session: Session,
  payment: Payment | undefined,
  { provider, environment }: SignalOrigin,
): OriginMismatch | undefined {
  if (session.environment !== environment) return 'environment_mismatch';
  return payment && payment.route.provider !== provider ? 'provider_mismatch' : undefined;
}
