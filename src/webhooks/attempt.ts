import { type Delivery, type DeliveryAttempt, sessionOfDelivery } from '../domain/delivery.ts';
import type { Instant } from '../domain/records.ts';
import type { Change, Store } from '../store/store.ts';
import { traceHeaders } from '../telemetry/origin.ts';
import { type Tracing, traced } from '../telemetry/tracing.ts';
import { type Deliverer, type Exchange, notSent } from './deliver.ts';
import {
  DISABLED_BY_FAILURES,
  DISABLED_BY_410,
  FAILING_LIMIT_MS,
  type WebhookEndpoint,
} from '../domain/webhook-endpoint.ts';

// Interval at which successes are stored. A success that ends a failure is stored at once.
const SUCCESS_STORED_EVERY_MS = 60_000;

/** Makes one delivery attempt in its own trace span. The receiver may continue the trace: no signature covers the trace header. */
export async function sendAttempt(
  { deliverer, tracing }: { deliverer: Deliverer; tracing: Tracing | undefined },
  delivery: Delivery,
  url: string,
  headers: Record<string, string>,
  body: string,
): Promise<Exchange> {
  if (!tracing) return deliverer.deliver(url, headers, body);
  const session = sessionOfDelivery(delivery);
  const attributes = {
    'http.request.method': 'POST',
    // Only the host, because a path or a query can contain a secret.
    'server.address': URL.parse(url)?.hostname ?? '',
    ...(session !== null && { 'tillway.session.id': session }),
    'tillway.event.id': delivery.eventId,
    'tillway.delivery.id': delivery.id,
    'tillway.delivery.attempt': delivery.attempts,
    'tillway.endpoint.id': delivery.endpointId,
  };
  return traced(tracing, { name: 'webhook delivery', kind: 'client', attributes }, async (span) => {
    const exchange = await deliverer.deliver(url, { ...headers, ...traceHeaders() }, body);
    const { statusCode } = exchange;
    if (statusCode !== null) span?.set({ 'http.response.status_code': statusCode });
    if (statusCode !== 200) span?.fail(statusCode === null ? 'no_answer' : String(statusCode));
    return exchange;
  });
}

/** Change that stores the outcome of an attempt. */
export type FinishedDelivery = Extract<Change, { type: 'delivery_finished' }>;

/** Log entry of a delivery attempt that has ended. */
export function attemptOf(delivery: Delivery, exchange: Exchange, started: Instant, ended: Instant): DeliveryAttempt {
  return {
    deliveryId: delivery.id,
    number: delivery.attempts,
    started,
    // At most the time until `ended`, because the next event of the session becomes due when this attempt ends.
    durationMs: Math.min(exchange.durationMs, Math.max(0, ended - started)),
    statusCode: exchange.statusCode,
    failure: exchange.failure,
    responseBody: exchange.responseBody,
  };
}

/** Outcome of an attempt that a shutdown cut off. The attempt does not count in the retry schedule, and the next one may begin at once. */
export function cutOffOutcome(delivery: Delivery, attempt: DeliveryAttempt, now: Instant): FinishedDelivery {
  return {
    type: 'delivery_finished',
    delivery: { ...delivery, status: 'pending', scheduleStart: delivery.scheduleStart + 1, dueAt: now },
    attempt,
  };
}

/** Outcome of one attempt, as evidence about its endpoint. */
interface AttemptOutcome {
  /** The endpoint as it was when the attempt began. */
  endpoint: WebhookEndpoint;
  succeeded: boolean;
  /** True if the receiver answered 410 (Gone): it accepts no more events. */
  gone: boolean;
  /** End of the attempt. */
  at: Instant;
}

/** Change that records the success, the failure or the disabling of an endpoint. */
export type EndpointHealthChange = Extract<Change, { type: `endpoint_${'succeeded' | 'failed' | 'disabled'}` }>;

/** Updates an endpoint after an attempt. Returns the endpoint, and the change if one must be stored. */
export function learnFromAttempt(
  known: WebhookEndpoint,
  { endpoint: attempted, succeeded, gone, at }: AttemptOutcome,
): { endpoint: WebhookEndpoint; change?: EndpointHealthChange } {
  // An attempt at an earlier URL is no evidence about the current URL.
  if (known.url !== attempted.url || known.status !== 'active') return { endpoint: known };
  const { id: endpointId, url, failingSince, lastSuccessAt } = known;
  const disabled = { type: 'endpoint_disabled', endpointId, url, at } as const;
  if (gone) {
    return {
      endpoint: { ...known, status: 'disabled' },
      change: { ...disabled, reason: DISABLED_BY_410, failingSince: null },
    };
  }
  if (succeeded) {
    const isStale = lastSuccessAt === null || at - lastSuccessAt >= SUCCESS_STORED_EVERY_MS;
    if (failingSince === null && !isStale) return { endpoint: known };
    const endpoint: WebhookEndpoint = { ...known, failingSince: null, lastSuccessAt: at };
    return { endpoint, change: { type: 'endpoint_succeeded', endpointId, at } };
  }
  if (failingSince === null) {
    return { endpoint: { ...known, failingSince: at }, change: { type: 'endpoint_failed', endpointId, at } };
  }
  if (at - failingSince < FAILING_LIMIT_MS) return { endpoint: known };
  return { endpoint: known, change: { ...disabled, reason: DISABLED_BY_FAILURES, failingSince } };
}

const PAGE = 100;

/** Cancels the pending deliveries of an endpoint in deletion. After `settledMs`, when no attempt can begin any more, it becomes `deleted`. */
export async function cancelPendingDeliveries(
  store: Pick<Store, 'commit' | 'pendingDeliveries'>,
  endpoint: WebhookEndpoint,
  now: Instant,
  settledMs: number,
): Promise<void> {
  for (;;) {
    const waiting = await store.pendingDeliveries(endpoint.id, now, PAGE);
    const results = await Promise.all(waiting.map((delivery) => store.commit(endOf(delivery, now))));
    // Stops if other instances have changed all of these deliveries; the next call sees the result.
    if (waiting.length < PAGE || results.every(({ done }) => !done)) break;
  }
  if (now < (endpoint.disabledAt ?? 0) + settledMs) return;
  const deleted: WebhookEndpoint = { ...endpoint, status: 'deleted', version: endpoint.version + 1 };
  await store.commit([{ type: 'endpoint_changed', endpoint: deleted }]);
}

/** Changes that begin and end an attempt at once, with the guards of both. */
function endOf(delivery: Delivery, now: Instant): Parameters<Store['commit']>[0] {
  const claimed: Delivery = { ...delivery, attempts: delivery.attempts + 1, dueAt: now };
  const attempt = attemptOf(claimed, notSent('not attempted: the endpoint was deleted'), now, now);
  return [
    { type: 'delivery_claimed', delivery: claimed },
    { type: 'delivery_finished', delivery: { ...claimed, status: 'dead' }, attempt, unmade: true },
  ];
}
