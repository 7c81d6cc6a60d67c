import { type Instant, PROVIDER_STATUSES, type ProviderStatus } from './records.ts';
import type { Environment } from './route.ts';

export type StatusEventType = `payment.${ProviderStatus}`;
export type PaymentEventType = StatusEventType | 'payment.refunded' | 'payment.disputed';
export type EventType = PaymentEventType | 'route.health_changed';

/** Types of events about the status of a payment, which an endpoint receives by default. */
export const STATUS_TYPES: readonly StatusEventType[] = PROVIDER_STATUSES.map((status) => `payment.${status}` as const);
export const PAYMENT_TYPES: readonly PaymentEventType[] = [...STATUS_TYPES, 'payment.refunded', 'payment.disputed'];
export const EVERY_TYPE: readonly EventType[] = [...PAYMENT_TYPES, 'route.health_changed'];

export function statusOfType(type: StatusEventType): ProviderStatus {
  return type.slice('payment.'.length) as ProviderStatus;
}

/** `deleting`: the endpoint receives no more events, and pending deliveries are being cancelled. `deleted`: no delivery is pending. */
export const ENDPOINT_STATUSES = ['active', 'disabled', 'deleting', 'deleted'] as const;
type EndpointStatus = (typeof ENDPOINT_STATUSES)[number];

/** Origin of an endpoint. `configuration`: the setting WEBHOOK_URL, whose secret is never stored. */
export const ENDPOINT_SOURCES = ['api', 'configuration'] as const;
type EndpointSource = (typeof ENDPOINT_SOURCES)[number];

/** A URL of the merchant that receives events. */
export interface WebhookEndpoint {
  id: string;
  environment: Environment;
  /** URL of the receiver; empty once the endpoint is deleted. */
  url: string;
  source: EndpointSource;
  /** Only events of these types are sent to the endpoint. */
  events: readonly EventType[];
  description: string;
  status: EndpointStatus;
  /** Reason why the endpoint receives no events, in words; null while it is active. */
  disabledReason: string | null;
  disabledAt: Instant | null;
  /** Time of the first failure since the last success; null if there is none. */
  failingSince: Instant | null;
  /** Time of the last success; accurate to one minute unless the endpoint fails. */
  lastSuccessAt: Instant | null;
  /** Grows with every change of settings or secrets. Delivery successes and failures do not change it. */
  version: number;
  /** Slot among the endpoints that the API created in this environment, from 1; null for a configured or deleted endpoint. */
  slot: number | null;
  created: Instant;
}

/** A stored signing secret. `sealed` is its ciphertext, which only decrypts with the same key, endpoint and environment. */
export interface SealedSecret {
  endpointId: string;
  environment: Environment;
  /** Grows with every rotation. */
  number: number;
  sealed: string;
  created: Instant;
  /** Time until which the secret signs; null for the newest secret. */
  expiresAt: Instant | null;
}

const HOUR_MS = 3_600_000;

export const MAX_ENDPOINTS = 20;
/** Limit of earlier secrets that still sign besides the newest. */
export const MAX_EARLIER_SECRETS = 10;
/** Time of uninterrupted failure after which the next failure disables the endpoint. */
export const FAILING_LIMIT_MS = 120 * HOUR_MS;

export const DISABLED_BY_410 = 'it answered 410, which says that it takes no events any more';
export const DISABLED_BY_FAILURES = 'it acknowledged nothing for 120 hours, and failed again';
const DELETED_REASON = 'an operator deleted it';
const ASKED_REASON = 'an operator disabled it';
const SECRET_LOST_REASON = 'its secret could not be opened: rotate it, then enable it';

/** A new active endpoint; by default from the configuration and for the events about the status of payments. */
export function newEndpoint(
  fields: Pick<WebhookEndpoint, 'id' | 'environment' | 'url' | 'created'> & Partial<WebhookEndpoint>,
): WebhookEndpoint {
  return {
    source: 'configuration',
    events: STATUS_TYPES,
    description: '',
    status: 'active',
    disabledReason: null,
    disabledAt: null,
    failingSince: null,
    lastSuccessAt: null,
    version: 1,
    slot: null,
    ...fields,
  };
}

/** True if new events of this type are sent to the endpoint. */
export function acceptsEvent(endpoint: WebhookEndpoint, type: EventType): boolean {
  return endpoint.status === 'active' && endpoint.events.includes(type);
}

export function isDeleted({ status }: WebhookEndpoint): boolean {
  return status === 'deleting' || status === 'deleted';
}

/** The endpoint after an operator has enabled or disabled it. An enabled endpoint starts without recorded failures. */
export function withStatus(endpoint: WebhookEndpoint, status: 'active' | 'disabled', now: Instant): WebhookEndpoint {
  if (status === endpoint.status) return endpoint;
  if (status === 'active') return { ...endpoint, status, disabledReason: null, disabledAt: null, failingSince: null };
  return { ...endpoint, status, disabledReason: ASKED_REASON, disabledAt: now };
}

/** The endpoint after the loss of its newest secret, which disables it. */
export function withoutSecret(endpoint: WebhookEndpoint, now: Instant): WebhookEndpoint {
  const disabledAt = endpoint.disabledAt ?? now;
  return { ...endpoint, status: 'disabled', disabledReason: SECRET_LOST_REASON, disabledAt };
}

/** A deleted endpoint, stored because old deliveries name it. */
export function deletedEndpoint(endpoint: WebhookEndpoint, now: Instant): WebhookEndpoint {
  const cleared = { ...endpoint, url: '', description: '', slot: null, failingSince: null };
  return { ...cleared, status: 'deleting', disabledReason: DELETED_REASON, disabledAt: now };
}

/** True if deliveries are signed with the secret at the time `now`. */
export function isSigningSecret({ expiresAt }: Pick<SealedSecret, 'expiresAt'>, now: Instant): boolean {
  return expiresAt === null || expiresAt > now;
}

/** The secrets after a rotation, newest last. Earlier secrets sign until `expiresAt` at the latest, and expired secrets are dropped. */
export function rotatedSecrets(
  secrets: readonly SealedSecret[],
  fresh: Omit<SealedSecret, 'number' | 'expiresAt'>,
  expiresAt: Instant,
): SealedSecret[] {
  const number = Math.max(0, ...secrets.map((secret) => secret.number)) + 1;
  const earlier = secrets
    .map((secret) => ({ ...secret, expiresAt: Math.min(secret.expiresAt ?? expiresAt, expiresAt) }))
    .filter((secret) => isSigningSecret(secret, fresh.created));
  return [...earlier, { ...fresh, number, expiresAt: null }];
}
