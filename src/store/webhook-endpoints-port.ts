import type { Delivery } from '../domain/delivery.ts';
import type { Instant } from '../domain/records.ts';
import type { SealedSecret, WebhookEndpoint } from '../domain/webhook-endpoint.ts';

export type EndpointChange =
  /** An endpoint of the configuration, new or not. */
  | { type: 'endpoint_saved'; endpoint: WebhookEndpoint }
  /** Guarded by its slot being free. */
  | { type: 'endpoint_created'; endpoint: WebhookEndpoint }
  /** Guarded by the version before. */
  | { type: 'endpoint_changed'; endpoint: WebhookEndpoint }
  /** Replaces all secrets of an endpoint, under the guard of its endpoint's change before it. */
  | { type: 'secrets_replaced'; endpointId: string; secrets: readonly SealedSecret[] }
  /** Guarded by the sealed text that was read. */
  | { type: 'secret_resealed'; secret: SealedSecret; sealed: string }
  /** The next three depend on the time of the attempt, so that the order of their commits does not matter. */
  | { type: 'endpoint_succeeded'; endpointId: string; at: Instant }
  | { type: 'endpoint_failed'; endpointId: string; at: Instant }
  /** Guarded by the endpoint being active at that URL and, with `failingSince`, by no success since then. */
  | {
      type: 'endpoint_disabled';
      endpointId: string;
      url: string;
      reason: string;
      at: Instant;
      failingSince: Instant | null;
    };

export interface EndpointReads {
  /** Endpoints that are not deleted, or whose deliveries are still being cancelled. */
  endpoints(): Promise<WebhookEndpoint[]>;
  /** Finds deleted endpoints, too. */
  endpoint(id: string): Promise<WebhookEndpoint | undefined>;
  /** Secrets of these endpoints, by endpoint, oldest first. */
  endpointSecrets(endpointIds: readonly string[]): Promise<SealedSecret[]>;
  /** Pending deliveries of an endpoint without an attempt in progress, the longest due first. */
  pendingDeliveries(endpointId: string, now: Instant, limit: number): Promise<Delivery[]>;
  sealedSecrets(): Promise<SealedSecret[]>;
}
