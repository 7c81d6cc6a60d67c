import { type Discrepancy, unbookedSubject, undecided } from './discrepancy.ts';
import type { Cents } from './money.ts';
import type { Checkout, Instant, ProviderStatus } from './records.ts';
import type { RefundStatus } from './refund.ts';
import type { OriginMismatch, SignalOrigin } from './signal-origin.ts';

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

/** The statuses that report money as taken, paid out or refunded. */
const MONEY = new Set<ProviderMessage['status']>(['paid', 'settled', 'succeeded']);

/** The discrepancy of a message from another environment or provider; undefined for all others. It holds no money of ours. */
export function strayDiscrepancy(
  { session, payments }: Checkout,
  message: ProviderMessage,
): Omit<Discrepancy, 'id'> | undefined {
  const { provider, eventId, paymentId, status, amount, currency, outcome, received } = message;
  if (!isOriginMismatch(outcome)) return undefined;
  return {
    ...undecided(session, provider, received),
    kind: outcome,
    paymentId: payments.find(({ id }) => id === paymentId)?.id ?? null,
    subject: unbookedSubject(paymentId ?? eventId, currency),
    eventId,
    expected: session.amount,
    received: MONEY.has(status) ? amount : 0,
    currency,
  };
}

function isOriginMismatch(outcome: string): outcome is OriginMismatch {
  return outcome === 'environment_mismatch' || outcome === 'provider_mismatch';
}
