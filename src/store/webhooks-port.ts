import type { AnswerClass, Delivery, DeliveryAttempt, DeliveryStatus } from '../domain/delivery.ts';
import type { Instant, ProviderStatus } from '../domain/records.ts';
import type { Environment } from '../domain/route.ts';
import type { Origin } from '../telemetry/origin.ts';
import type { EventFilter } from './event-places.ts';
import type { PageResult, Page } from './list-page.ts';
import type { EndpointChange, EndpointReads } from './webhook-endpoints-port.ts';

/** A merchant event: immutable; every delivery attempt sends the bytes of its body. */
export interface MerchantEvent {
  id: string;
  sessionId: string;
  environment: Environment;
  /** Grows within a session: the order of its events. */
  sequence: number;
  type: `payment.${ProviderStatus}`;
  body: string;
  created: Instant;
  /** Request and trace that caused it, if known. */
  origin?: Origin;
}

/** A delivery that may begin, with the bytes to send. */
export interface DueDelivery {
  delivery: Delivery;
  body: string;
  origin?: Origin;
}

export interface DeliveryFilter {
  sessionId?: string;
  eventId?: string;
  endpointId?: string;
  type?: string;
  status?: string;
  /** Class of the answer to its last attempt. */
  statusClass?: AnswerClass;
  /** Earliest creation time. */
  createdFrom?: Instant;
  /** End of the creation times, exclusive. */
  createdUntil?: Instant;
  environment?: Environment;
}

export type WebhookChange =
  | EndpointChange
  | { type: 'event_recorded'; event: MerchantEvent }
  | { type: 'delivery_created'; delivery: Delivery }
  /** Guarded by its event having no delivery to that endpoint. */
  | { type: 'delivery_added'; delivery: Delivery }
  /** Guarded by the attempts before, under the same schedule. */
  | { type: 'delivery_claimed'; delivery: Delivery }
  /** Guarded by the attempt that it finishes; an `unmade` attempt sent nothing. */
  | { type: 'delivery_finished'; delivery: Delivery; attempt: DeliveryAttempt; unmade?: true }
  /** Guarded by its attempts, and the status `from` which it is made due again. */
  | { type: 'delivery_replayed'; delivery: Delivery; from: DeliveryStatus };

export interface WebhookReads extends EndpointReads {
  event(id: string): Promise<MerchantEvent | undefined>;
  /** Oldest first. */
  eventsOfSession(sessionId: string): Promise<MerchantEvent[]>;
  /** Deliveries that may begin now: due, and no earlier one of the same session and endpoint is still pending. */
  deliveriesDue(endpointId: string, now: Instant, limit: number): Promise<DueDelivery[]>;
  delivery(id: string): Promise<Delivery | undefined>;
  deliveriesOfSession(sessionId: string): Promise<Delivery[]>;
  deliveryAttempts(deliveryId: string): Promise<DeliveryAttempt[]>;
  listDeliveries(filter: DeliveryFilter, page: Page): Promise<PageResult<Delivery>>;
  listEvents(filter: EventFilter, page: Page): Promise<PageResult<MerchantEvent>>;
}
