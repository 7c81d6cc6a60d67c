import type { AnswerClass, Delivery } from '../domain/delivery.ts';
import type { Instant, ProviderStatus } from '../domain/records.ts';
import type { Environment } from '../domain/route.ts';
import type { Origin } from '../telemetry/origin.ts';

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
