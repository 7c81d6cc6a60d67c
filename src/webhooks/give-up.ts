import type { Delivery, DeliveryAttempt } from '../domain/delivery.ts';
import type { Instant } from '../domain/records.ts';
import type { WebhookEndpoint } from '../domain/webhook-endpoint.ts';
import type { Store } from '../store/store.ts';

const PAGE = 100;
const FAILURE = 'not attempted: the endpoint was deleted';

/**
 * Ends the pending deliveries of an endpoint that is being deleted, each with a failure in its log. Attempts in progress go on.
 * `settledMs` after the deletion no instance can begin an attempt any more, and the endpoint becomes deleted.
 */
export async function cancelPendingDeliveries(
  store: Pick<Store, 'commit' | 'pendingDeliveries'>,
  endpoint: WebhookEndpoint,
  now: Instant,
  settledMs: number,
): Promise<void> {
  for (;;) {
    const waiting = await store.pendingDeliveries(endpoint.id, now, PAGE);
    const results = await Promise.all(waiting.map((delivery) => store.commit(endOf(delivery, now))));
    // If other instances have changed all of them, the next call sees the result.
    if (waiting.length < PAGE || results.every(({ done }) => !done)) break;
  }
  if (now < (endpoint.disabledAt ?? 0) + settledMs) return;
  const deleted: WebhookEndpoint = { ...endpoint, status: 'deleted', version: endpoint.version + 1 };
  await store.commit([{ type: 'endpoint_changed', endpoint: deleted }]);
}

/** Changes of an attempt that begins and ends at once, under the guards of both. */
function endOf(delivery: Delivery, now: Instant): Parameters<Store['commit']>[0] {
  const claimed: Delivery = { ...delivery, attempts: delivery.attempts + 1, dueAt: now };
  const attempt: DeliveryAttempt = {
    deliveryId: delivery.id,
    number: claimed.attempts,
    started: now,
    durationMs: 0,
    statusCode: null,
    failure: FAILURE,
    responseBody: '',
  };
  return [
    { type: 'delivery_claimed', delivery: claimed },
    { type: 'delivery_finished', delivery: { ...claimed, status: 'dead' }, attempt, unmade: true },
  ];
}
