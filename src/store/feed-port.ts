import type { Delivery, DeliveryStatus, Recovery } from '../domain/delivery.ts';
import type { Instant } from '../domain/records.ts';
import type { Environment } from '../domain/route.ts';
import type { PageResult } from './list-page.ts';
import type { MerchantEvent } from './webhooks-port.ts';

/** An event that a recovery examines, and its delivery to the endpoint, if it has one. */
export interface RecoverableEvent {
  event: Omit<MerchantEvent, 'body' | 'origin'>;
  delivery: Delivery | undefined;
}

export interface FeedFilter {
  type?: string;
  environment?: Environment;
}

export type FeedChange =
  /** Gives the oldest committed events, at most `limit`, their position in the feed. */
  | { type: 'events_placed'; limit: number }
  /** Guarded by the version before. */
  | { type: 'recovery_saved'; recovery: Recovery }
  /**
   * A delivery of a recovery: new if `from` is null, otherwise made due again. Guarded by the absence of a delivery, or by its
   * attempts and that status.
   */
  | { type: 'delivery_recovered'; delivery: Delivery; from: DeliveryStatus | null; eventCreated: Instant };

export interface FeedReads {
  /** Position of an event in the feed, from 1; null before it has one, undefined for an unknown event. */
  feedPosition(eventId: string): Promise<number | null | undefined>;
  /** The events after a position, oldest first. No event appears later before a position that was read. */
  listFeed(filter: FeedFilter, after: number, limit: number): Promise<PageResult<MerchantEvent>>;
  hasUnplacedEvents(): Promise<boolean>;
  recovery(id: string): Promise<Recovery | undefined>;
  /** Running recoveries without progress since then. */
  recoveriesLeft(since: Instant, limit: number): Promise<Recovery[]>;
  /** The next events of a recovery, of those types, in the order in which they happened. */
  recoverableEvents(recovery: Recovery, types: readonly string[], limit: number): Promise<RecoverableEvent[]>;
}
