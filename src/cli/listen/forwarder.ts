import type { WebhookEvent } from '../../../sdk/src/index.ts';
import type { Deliverer } from '../../webhooks/deliver.ts';
import { deliveryHeaders } from '../../webhooks/sign.ts';

/** The result of one attempt to forward an event. */
export interface Forwarded {
  event: WebhookEvent;
  attempt: number;
  /** Null if the target gave no answer. */
  status: number | null;
  /** Null if the target received the event. */
  failure: string | null;
  durationMs: number;
  /** Delay before the next attempt; null after the last attempt. */
  nextTryMs: number | null;
}

/** Delays after failed attempts; together long enough to restart a server. */
const RETRY_DELAYS_MS = [1000, 5000, 15_000, 30_000];
/** Limit for the delay that `Retry-After` requests, as a multiple of the usual delay. */
const MAX_DELAY_FACTOR = 2;
const GONE = 410;

/** Forwards events exactly like deliveries of the service: the same bytes, headers, limits, and order within a session. */
export function createForwarder(options: {
  secret: string;
  deliverer: Deliverer;
  /** Milliseconds since 1970, for the time in the signature. */
  now(): number;
  sleep(ms: number): Promise<void>;
  signal: AbortSignal;
  report(forwarded: Forwarded): void;
  /** Receives errors of `report`, because no caller awaits `forward`. */
  onFault(error: unknown): void;
}) {
  const { secret, deliverer, now, sleep, signal, report, onFault } = options;
  const queues = new Map<string, Promise<void>>();

  async function deliver(url: string, event: WebhookEvent): Promise<void> {
    // The API returns the stored event, so JSON.stringify reproduces the bytes of a delivery.
    const body = JSON.stringify(event);
    for (let attempt = 1; !signal.aborted; attempt++) {
      const timestamp = Math.floor(now() / 1000);
      const headers = deliveryHeaders({ eventId: event.id, body, timestamp, secrets: [secret] });
      const { statusCode, failure, durationMs, retryAfterMs = 0 } = await deliverer.deliver(url, headers, body);
      if (signal.aborted) return;
      const delay = failure === null || statusCode === GONE ? undefined : RETRY_DELAYS_MS[attempt - 1];
      const nextTryMs = delay === undefined ? null : Math.max(delay, Math.min(retryAfterMs, delay * MAX_DELAY_FACTOR));
      report({ event, attempt, status: statusCode, failure, durationMs, nextTryMs });
      if (nextTryMs === null) return;
      await sleep(nextTryMs);
    }
  }

  return {
    /** Queues the event behind earlier events of its session or route; other sessions and routes do not wait. */
    forward(url: string, event: WebhookEvent): void {
      const source = 'session_id' in event.data ? event.data.session_id : event.data.route.id;
      const turn = (queues.get(source) ?? Promise.resolve()).then(() => deliver(url, event)).catch(onFault);
      queues.set(source, turn);
      void turn.finally(() => {
        if (queues.get(source) === turn) queues.delete(source);
      });
    },
  };
}
