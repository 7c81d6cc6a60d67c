import type { Delivery, DeliveryStatus } from '../domain/delivery.ts';
import type { Instant } from '../domain/records.ts';
import type { Recovery } from '../domain/recovery.ts';
import type { Environment } from '../domain/route.ts';
import type { Listed } from './page.ts';
import type { MerchantEvent } from './webhooks.ts';

/** An event that a recovery looks at, and its delivery to the endpoint, where there is one. */
export interface RecoverableEvent {
  event: Omit<MerchantEvent, 'body' | 'origin'>;
  delivery: Delivery | undefined;
}

export interface FeedFilter {
  type?: string;
  environment?: Environment;
}

/** What is written of the events in the order of their commits, and of sending what was missed of them. */
export type FeedChange =
  /** Gives at most `limit` events their position in the feed: of those that are committed, the oldest. */
  | { type: 'events_placed'; limit: number }
  /** Guarded by the version before. */
  | { type: 'recovery_saved'; recovery: Recovery }
  /**
   * A delivery of a recovery: new where `from` is null, else made due again. Guarded by there being none, or by its
   * attempts and that status.
   */
  | { type: 'delivery_recovered'; delivery: Delivery; from: DeliveryStatus | null; eventCreated: Instant };

/** What is read of the events in the order of their commits, and of sending what was missed of them. */
export interface FeedReads {
  /** Where an event stands in the feed, from 1; null before it has its place, undefined where there is no such event. */
  feedPosition(eventId: string): Promise<number | null | undefined>;
  /** The events after a position, oldest first. None ever appears before one that was read. */
  listFeed(filter: FeedFilter, after: number, limit: number): Promise<Listed<MerchantEvent>>;
  /** Whether a committed event waits for its position. */
  hasUnplacedEvents(): Promise<boolean>;
  recovery(id: string): Promise<Recovery | undefined>;
  /** Those that nobody has carried further since then. */
  recoveriesLeft(since: Instant, limit: number): Promise<Recovery[]>;
  /** The next events of a recovery, of those types, in the order in which they happened. */
  recoverableEvents(recovery: Recovery, types: readonly string[], limit: number): Promise<RecoverableEvent[]>;
}
