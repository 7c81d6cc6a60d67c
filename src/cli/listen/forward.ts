import type { WebhookEvent } from '../../../sdk/src/index.ts';
import { type Deliverer, DELIVERY_LIMITS } from '../../webhooks/deliver.ts';
import { deliveryHeaders } from '../../webhooks/sign.ts';

/** An event, and the how-manieth it is that was shown. */
export interface Numbered {
  number: number;
  event: WebhookEvent;
}

/** What became of one try to forward an event. */
export interface Forwarded extends Numbered {
  attempt: number;
  /** Null where no answer came. */
  status: number | null;
  /** Why it does not count as received, in words; null where it does. */
  failure: string | null;
  durationMs: number;
  /** When it is tried again; null where it was received or given up. */
  nextTryMs: number | null;
}

export interface Forwarder {
  /** Queues the event behind those of the same session; different sessions do not wait for each other. */
  forward(numbered: Numbered): void;
  /** How many are queued or under way. */
  waiting(): number;
}

/** How long after each try that failed the next one begins: time to restart what one is working on. */
export const RETRY_DELAYS_MS = [1000, 5000, 15_000, 30_000];
const MAX_STRETCH = 2;
const GONE = 410;

/** Sends events as the service delivers them: the same bytes, headers, limits, and order within a session. */
export function createForwarder(options: {
  url: string;
  secret: string;
  deliverer: Deliverer;
  /** Milliseconds since 1970: what a receiver compares the signature's time with. */
  now(): number;
  sleep(ms: number): Promise<void>;
  signal: AbortSignal;
  report(forwarded: Forwarded): void;
  /** Takes what `report` has thrown: nobody waits for a forward. */
  onFault(error: unknown): void;
}): Forwarder {
  const { url, secret, deliverer, now, sleep, signal, report, onFault } = options;
  const sessions = new Map<string, Promise<void>>();
  let waiting = 0;

  async function deliver({ number, event }: Numbered): Promise<void> {
    // The list answers the stored text of the event, compact as JSON.stringify writes it: the bytes of every delivery.
    const body = JSON.stringify(event);
    for (let attempt = 1; !signal.aborted; attempt++) {
      const headers = deliveryHeaders({
        eventId: event.id,
        body,
        timestamp: Math.floor(now() / 1000),
        secrets: [secret],
      });
      const { statusCode, failure, durationMs, retryAfterMs = 0 } = await deliverer.deliver(url, headers, body);
      if (signal.aborted) return;
      const isOver = failure === null || statusCode === GONE;
      const delay = isOver ? undefined : RETRY_DELAYS_MS[attempt - 1];
      const nextTryMs = delay === undefined ? null : Math.max(delay, Math.min(retryAfterMs, delay * MAX_STRETCH));
      report({ number, event, attempt, status: statusCode, failure, durationMs, nextTryMs });
      if (nextTryMs === null) {
        waiting -= 1;
        return;
      }
      await sleep(nextTryMs);
    }
  }

  return {
    forward(numbered) {
      waiting += 1;
      const session = numbered.event.data.session_id;
      const turn = (sessions.get(session) ?? Promise.resolve()).then(() => deliver(numbered)).catch(onFault);
      sessions.set(session, turn);
      void turn.finally(() => {
        if (sessions.get(session) === turn) sessions.delete(session);
      });
    },
    waiting: () => waiting,
  };
}

/** What to do about a forward that failed, in one sentence. */
export function adviceOn({ status, failure }: Pick<Forwarded, 'status' | 'failure'>): string {
  if (status === null) {
    if (failure === 'connection refused') return 'Nothing listens there: start your server, or mend --forward-to.';
    if (failure?.startsWith('no complete answer')) {
      return `Answer within ${DELIVERY_LIMITS.totalMs / 1000} s: 200 first, the work afterwards.`;
    }
    return 'Mend --forward-to, or what stands between here and your server.';
  }
  if (status === 400 || status === 401 || status === 403) {
    return 'Your handler refuses it: does it verify with the secret shown above? tillway webhook verify says why it fails.';
  }
  if (status === 404) return 'Your server has nothing at that path: mend --forward-to.';
  if (status === 405) return 'Your server takes no POST at that path: mend --forward-to, or its route.';
  if (status < 300) return 'Answer exactly 200: the service counts nothing else as received.';
  if (status < 400) return 'Name the address that it leads to: redirects are not followed.';
  return 'Look into the log of your server.';
}
