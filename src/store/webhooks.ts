import type { AnswerClass, Delivery, DeliveryAttempt, DeliveryStatus } from '../domain/delivery.ts';
import type { Instant, ProviderStatus } from '../domain/records.ts';
import type { Environment } from '../domain/route.ts';
import type { Origin } from '../telemetry/origin.ts';
import type { EventFilter } from './events.ts';
import type { Listed, Page } from './page.ts';
import type { EndpointChange, EndpointReads } from './webhook-endpoints.ts';

/** A merchant event: immutable, its body's bytes are what every delivery attempt sends. */
export interface MerchantEvent {
  id: string;
  sessionId: string;
  environment: Environment;
  /** Grows within a session: the order of its events. */
  sequence: number;
  type: `payment.${ProviderStatus}`;
  body: string;
  created: Instant;
  /** What it came of, where that is known. */
  origin?: Origin;
}

/** A delivery that may begin, with the bytes to send. */
export interface DueDelivery {
  delivery: Delivery;
  body: string;
  /** What its event came of. */
  origin?: Origin;
}

export interface DeliveryFilter {
  sessionId?: string;
  eventId?: string;
  endpointId?: string;
  type?: string;
  status?: string;
  /** What its last attempt was answered with. */
  statusClass?: AnswerClass;
  /** Made then or later. */
  createdFrom?: Instant;
  /** Made before. */
  createdUntil?: Instant;
  environment?: Environment;
}

export type WebhookChange =
  | EndpointChange
  | { type: 'event_recorded'; event: MerchantEvent }
  | { type: 'delivery_created'; delivery: Delivery }
  /** Guarded by its event having none to that endpoint. */
  | { type: 'delivery_added'; delivery: Delivery }
  /** Guarded by the attempts before, under the same schedule. */
  | { type: 'delivery_claimed'; delivery: Delivery }
  /** Guarded by the attempt that it finishes; of one that is `unmade` nothing was sent. */
  | { type: 'delivery_finished'; delivery: Delivery; attempt: DeliveryAttempt; unmade?: true }
  /** Guarded by its attempts, and the status `from` which it is made due again. */
  | { type: 'delivery_replayed'; delivery: Delivery; from: DeliveryStatus };

/** Events, endpoints and deliveries. */
export interface WebhookReads extends EndpointReads {
  event(id: string): Promise<MerchantEvent | undefined>;
  /** In the order they happened. */
  eventsOfSession(sessionId: string): Promise<MerchantEvent[]>;
  /** Deliveries that may begin now: due, and no earlier one of the same session and endpoint is still pending. */
  deliveriesDue(endpointId: string, now: Instant, limit: number): Promise<DueDelivery[]>;
  delivery(id: string): Promise<Delivery | undefined>;
  deliveriesOfSession(sessionId: string): Promise<Delivery[]>;
  deliveryAttempts(deliveryId: string): Promise<DeliveryAttempt[]>;
  listDeliveries(filter: DeliveryFilter, page: Page): Promise<Listed<Delivery>>;
  listEvents(filter: EventFilter, page: Page): Promise<Listed<MerchantEvent>>;
}
