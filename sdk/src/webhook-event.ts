import type { AnyEvent } from './generated/types.ts';

/** ISO 8601 in UTC with milliseconds: `2026-01-15T09:30:00.000Z`. `new Date(value)` reads it. */
export type Timestamp = string;

/** An event of one type. */
export type EventOf<Status extends AnyEvent['data']['status']> = AnyEvent & {
  type: `payment.${Status}`;
  data: { status: Status };
};

/** The provider has accepted the payment; it is not confirmed. Do not fulfil the order yet. */
export type PaymentProviderPendingEvent = EventOf<'provider_pending'>;
/** The payment is confirmed: fulfil the order. */
export type PaymentPaidEvent = EventOf<'paid'>;
/** The payment failed, timed out or was rejected. Do not fulfil the order. */
export type PaymentFailedEvent = EventOf<'failed'>;

/** The body of a webhook. `switch (event.type)` narrows it. Fulfil orders on `payment.paid` only. */
export type WebhookEvent = PaymentProviderPendingEvent | PaymentPaidEvent | PaymentFailedEvent;
export type WebhookEventType = WebhookEvent['type'];
