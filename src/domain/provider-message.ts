import type { Cents } from './money.ts';
import type { Instant, ProviderStatus } from './records.ts';
import type { RefundStatus } from './refund.ts';
import type { SignalOrigin } from './signal-origin.ts';

/** Verified callback about a payment, a settlement or a refund, or an answer to an inquiry. */
export interface ProviderMessage extends SignalOrigin {
  eventId: string;
  sessionId: string;
  /** The payment as the provider names it; for a refund its payment, or null where the message names another session. */
  paymentId: string | null;
  refundId: string | null;
  /** `settled`: the payment was paid out to the merchant. */
  status: ProviderStatus | RefundStatus | 'settled';
  amount: Cents;
  /** Null for messages stored by versions that did not record it. */
  currency: string | null;
  /** Its effect: `applied`, `ignored`, or the reason why it was flagged. */
  outcome: string;
  flagged: boolean;
  body: string;
  received: Instant;
}

/** Whether a message with this outcome needs attention. */
export function isFlagged(outcome: string): boolean {
  return outcome !== 'applied' && outcome !== 'ignored';
}
