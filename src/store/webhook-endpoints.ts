import type { Delivery } from '../domain/delivery.ts';
import type { Instant } from '../domain/records.ts';
import type { SealedSecret, WebhookEndpoint } from '../domain/webhook-endpoint.ts';

export type EndpointChange =
  /** As the configuration names it, new or not. */
  | { type: 'endpoint_saved'; endpoint: WebhookEndpoint }
  /** Guarded by its slot being free. */
  | { type: 'endpoint_created'; endpoint: WebhookEndpoint }
  /** Guarded by the version before. */
  | { type: 'endpoint_changed'; endpoint: WebhookEndpoint }
  /** All secrets of an endpoint, in place of those before; under the guard of its endpoint, which comes first. */
  | { type: 'secrets_replaced'; endpointId: string; secrets: readonly SealedSecret[] }
  /** Guarded by its being sealed as it was read. */
  | { type: 'secret_resealed'; secret: SealedSecret; sealed: string }
  /** These three go by the time of the attempt, so that it does not matter in which order they are written. */
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
  /** Those that are not deleted, and those whose deliveries are still being given up. */
  endpoints(): Promise<WebhookEndpoint[]>;
  /** A deleted one, too. */
  endpoint(id: string): Promise<WebhookEndpoint | undefined>;
  /** Of these endpoints, each one's oldest first. */
  endpointSecrets(endpointIds: readonly string[]): Promise<SealedSecret[]>;
  /** Deliveries of an endpoint that wait, the longest due first, but for those that are under way. */
  pendingDeliveries(endpointId: string, now: Instant, limit: number): Promise<Delivery[]>;
  /** Every secret there is. */
  sealedSecrets(): Promise<SealedSecret[]>;
}
