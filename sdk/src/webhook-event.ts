import type { PaymentEvent, RouteHealthEvent } from './generated/types.ts';

/** ISO 8601 in UTC with milliseconds: `2026-01-15T09:30:00.000Z`. `new Date(value)` reads it. */
export type Timestamp = string;

type EventData = PaymentEvent['data'];
/** The refund in `payment.refunded`. */
export type EventRefund = NonNullable<EventData['refund']>;
/** The dispute in `payment.disputed`. */
export type EventDispute = NonNullable<EventData['dispute']>;

/** An event of one type. `Part` is the field of `data` that only this type has. */
export type EventOf<Type extends string, Status extends EventData['status'], Part = unknown> = PaymentEvent & {
  type: `payment.${Type}`;
  data: { status: Status } & Part;
};

/** The provider has accepted the payment; it is not confirmed. Do not fulfil the order yet. */
export type PaymentProviderPendingEvent = EventOf<'provider_pending', 'provider_pending'>;
/** The payment is confirmed: fulfil the order. */
export type PaymentPaidEvent = EventOf<'paid', 'paid'>;
/** The payment failed, timed out or was rejected. Do not fulfil the order. */
export type PaymentFailedEvent = EventOf<'failed', 'failed'>;
/** A refund succeeded, or failed after it had succeeded. Only sent to endpoints whose `events` contain this type. */
export type PaymentRefundedEvent = EventOf<'refunded', 'paid', { refund: EventRefund }>;
/** A dispute was opened or changed. Only sent to endpoints whose `events` contain this type. */
export type PaymentDisputedEvent = EventOf<'disputed', 'paid', { dispute: EventDispute }>;

/** The body of a webhook about a payment. */
export type PaymentWebhookEvent =
  PaymentProviderPendingEvent | PaymentPaidEvent | PaymentFailedEvent | PaymentRefundedEvent | PaymentDisputedEvent;
/** The body of a webhook. `switch (event.type)` narrows its type. Fulfil orders on `payment.paid` only. */
export type WebhookEvent = PaymentWebhookEvent | RouteHealthEvent;
export type WebhookEventType = WebhookEvent['type'];
