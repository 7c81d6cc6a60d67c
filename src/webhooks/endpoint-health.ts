import type { Instant } from '../domain/records.ts';
import {
  DISABLED_BY_FAILURES,
  DISABLED_BY_410,
  type WebhookEndpoint,
  endpointObservation,
} from '../domain/webhook-endpoint.ts';
import type { Change } from '../store/store.ts';

/** Outcome of one attempt, as far as it concerns the endpoint. */
interface AttemptOutcome {
  /** The endpoint when the attempt began. */
  endpoint: WebhookEndpoint;
  succeeded: boolean;
  /** True if the receiver answered that it takes no events any more. */
  gone: boolean;
  /** End of the attempt. */
  at: Instant;
}

export type HealthChange = Extract<Change, { type: 'endpoint_succeeded' | 'endpoint_failed' | 'endpoint_disabled' }>;

/** Updates an endpoint after an attempt. Answers the endpoint and, if the database needs to know, the change. */
export function learnFromAttempt(
  known: WebhookEndpoint,
  { endpoint, succeeded, gone, at }: AttemptOutcome,
): { endpoint: WebhookEndpoint; change?: HealthChange } {
  // An attempt to an earlier URL says nothing about the present one.
  if (known.url !== endpoint.url || known.status !== 'active') return { endpoint: known };
  const { id: endpointId, url } = known;
  const disabled = { type: 'endpoint_disabled', endpointId, url, at } as const;
  if (gone) {
    return {
      endpoint: { ...known, status: 'disabled' },
      change: { ...disabled, reason: DISABLED_BY_410, failingSince: null },
    };
  }
  switch (endpointObservation(known, succeeded, at)) {
    case 'succeeded':
      return {
        endpoint: { ...known, failingSince: null, lastSuccessAt: at },
        change: { type: 'endpoint_succeeded', endpointId, at },
      };
    case 'failed':
      return { endpoint: { ...known, failingSince: at }, change: { type: 'endpoint_failed', endpointId, at } };
    case 'failing too long':
      return {
        endpoint: known,
        change: { ...disabled, reason: DISABLED_BY_FAILURES, failingSince: known.failingSince },
      };
    case undefined:
      return { endpoint: known };
  }
}
