import type { Instant } from '../domain/records.ts';
import { FAILING_REASON, GONE_REASON, type WebhookEndpoint, noteworthy } from '../domain/webhook-endpoint.ts';
import type { Store } from '../store/store.ts';

/** What came of one attempt. */
export interface Outcome {
  /** As it was when the attempt began. */
  endpoint: WebhookEndpoint;
  succeeded: boolean;
  /** The receiver said that it takes no events any more. */
  gone: boolean;
  /** When the attempt ended. */
  at: Instant;
}

interface Context {
  store: Pick<Store, 'commit'>;
  log: { warn(fields: object, message: string): void; error(fields: object, message: string): void };
}

/** What attempts tell about an endpoint: since when it fails, and that it is to be disabled. */
export interface EndpointHealth {
  /** What is known of the endpoint, given what an attempt told, and the write that this is worth. */
  learn(known: WebhookEndpoint, outcome: Outcome): { endpoint: WebhookEndpoint; write?: Promise<void> };
  /** Where another instance noted a failure that is older than a success here, the write that puts this right. */
  correct(known: WebhookEndpoint): Promise<void> | undefined;
}

export function createEndpointHealth({ store, log }: Context): EndpointHealth {
  /** Exact, where the database knows it to the minute. */
  let lastSuccessAt = -Infinity;

  async function write(change: Parameters<Store['commit']>[0][number] & { endpointId: string }): Promise<boolean> {
    try {
      return (await store.commit([change])).done;
    } catch (error) {
      // The next attempt tells it again.
      log.error({ err: error, endpointId: change.endpointId }, 'the state of a webhook endpoint could not be written');
      return false;
    }
  }

  async function noteSuccess(endpointId: string, at: Instant): Promise<void> {
    await write({ type: 'endpoint_succeeded', endpointId, at });
  }

  async function noteFailure(endpointId: string, at: Instant): Promise<void> {
    await write({ type: 'endpoint_failed', endpointId, at });
  }

  async function disable({ id: endpointId, url }: WebhookEndpoint, reason: string, at: Instant, since: Instant | null) {
    const change = { type: 'endpoint_disabled', endpointId, url, reason, at, failingSince: since } as const;
    if (await write(change)) log.warn({ endpointId, reason }, 'webhook endpoint is disabled');
  }

  return {
    learn(known, { endpoint, succeeded, gone, at }) {
      if (succeeded) lastSuccessAt = Math.max(lastSuccessAt, at);
      // One that has been pointed elsewhere meanwhile did not say it.
      if (known.url !== endpoint.url || known.status !== 'active') return { endpoint: known };
      if (gone) {
        return { endpoint: { ...known, status: 'disabled' }, write: disable(known, GONE_REASON, at, null) };
      }
      switch (noteworthy(known, succeeded, at)) {
        case 'succeeded':
          return { endpoint: { ...known, failingSince: null, lastSuccessAt: at }, write: noteSuccess(known.id, at) };
        case 'failed':
          return { endpoint: { ...known, failingSince: at }, write: noteFailure(known.id, at) };
        case 'failing too long':
          return { endpoint: known, write: disable(known, FAILING_REASON, at, known.failingSince) };
        case undefined:
          return { endpoint: known };
      }
    },
    correct({ id, failingSince }) {
      return failingSince !== null && failingSince <= lastSuccessAt ? noteSuccess(id, lastSuccessAt) : undefined;
    },
  };
}
