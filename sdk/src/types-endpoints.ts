import type { PageParams } from './types-requests.ts';
import type { Environment, Timestamp, WebhookEventType } from './types.ts';

/** `disabled`: it gets no new deliveries, and what waited for it goes on waiting. */
export type WebhookEndpointStatus = 'active' | 'disabled';

/** A receiver of events. */
export interface WebhookEndpoint {
  /** Starts with `whe_`. */
  id: string;
  object: 'webhook_endpoint';
  /** Where events are posted to. */
  url: string;
  /** It gets the events of this environment. */
  environment: Environment;
  /** `configuration`: `WEBHOOK_URL` of the service, which is changed there. */
  source: 'api' | 'configuration';
  /** The types of events that are sent to it. */
  events: WebhookEventType[];
  description: string;
  status: WebhookEndpointStatus;
  /** Why it is disabled, in words; null while it is active. */
  disabledReason: string | null;
  disabledAt: Timestamp | null;
  /** The first failure since the last success; null where none followed that. After 120 hours the next failure disables it. */
  failingSince: Timestamp | null;
  /** When it last acknowledged a delivery, to the minute; null where it never has. */
  lastSuccessAt: Timestamp | null;
  /** The secrets that deliveries are signed with, the newest first, without their values. */
  secrets: { created: Timestamp; expiresAt: Timestamp | null }[];
  created: Timestamp;
}

/** An endpoint and its new secret, `whsec_...`, which no other answer ever shows. */
export interface WebhookEndpointWithSecret extends WebhookEndpoint {
  secret: string;
}

export interface DeletedWebhookEndpoint {
  id: string;
  object: 'webhook_endpoint';
  deleted: true;
}

/** What came of a test delivery. */
export interface WebhookTest {
  object: 'webhook_test';
  endpointId: string;
  /** The id of the sample event, which no session has. */
  eventId: string;
  type: WebhookEventType;
  /** Whether it was acknowledged: answered with 200. */
  delivered: boolean;
  /** HTTP status of the answer, or null where none came. */
  statusCode: number | null;
  /** Why it failed, in words; null where it was acknowledged. */
  failure: string | null;
  /** How long it took, in milliseconds. */
  durationMs: number;
  /** The first 16 KiB of the answer, as text. */
  responseBody: string;
  /** The names of the headers that were sent. */
  headers: string[];
  sent: Timestamp;
}

export interface WebhookEndpointParams {
  /** http or https; https in production. */
  url: string;
  /** Default `sandbox`. */
  environment?: Environment | undefined;
  /** Default: every type. */
  events?: WebhookEventType[] | undefined;
  /** At most 500 characters. */
  description?: string | undefined;
}

/** What is left out stays as it is. */
export interface WebhookEndpointUpdate {
  url?: string | undefined;
  events?: WebhookEventType[] | undefined;
  description?: string | undefined;
  /** `active` enables it: what waits is sent, and its failures are forgotten. */
  status?: WebhookEndpointStatus | undefined;
}

export interface RotateSecretParams {
  /** How long every secret before still signs besides the new one, at most: 0 to 24. Default 24. */
  expiresInHours?: number | undefined;
}

export interface WebhookEndpointListParams extends PageParams {
  /** Left out: both. */
  environment?: Environment | undefined;
}
