import type { Delivery, DeliveryAttempt } from '../domain/delivery.ts';
import type { Instant } from '../domain/records.ts';
import type { Change } from '../store/store.ts';
import { traceHeaders } from '../telemetry/origin.ts';
import { type Tracing, traced } from '../telemetry/tracing.ts';
import type { Deliverer, Exchange } from './deliver.ts';

/** Makes one attempt in a span of its own. The receiver may continue the trace: no signature covers its header. */
export async function send(
  { deliverer, tracing }: { deliverer: Deliverer; tracing: Tracing | undefined },
  delivery: Delivery,
  url: string,
  headers: Record<string, string>,
  body: string,
): Promise<Exchange> {
  if (!tracing) return deliverer.deliver(url, headers, body);
  const attributes = {
    'http.request.method': 'POST',
    // A path or a query can hold a secret.
    'server.address': URL.parse(url)?.hostname ?? '',
    'tillway.session.id': delivery.sessionId,
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

/** Outcome of an attempt, to be written. */
export type Finished = Extract<Change, { type: 'delivery_finished' }>;

export function attemptOf(delivery: Delivery, exchange: Exchange, started: Instant, ended: Instant): DeliveryAttempt {
  return {
    deliveryId: delivery.id,
    number: delivery.attempts,
    started,
    // At most until now: the next event of the session becomes due when this attempt ends.
    durationMs: Math.min(exchange.durationMs, Math.max(0, ended - started)),
    statusCode: exchange.statusCode,
    failure: exchange.failure,
    responseBody: exchange.responseBody,
  };
}

/** Outcome of an attempt that this process ended: it does not count in the schedule, and the next one may begin at once. */
export function repeated(delivery: Delivery, attempt: DeliveryAttempt, now: Instant): Finished {
  return {
    type: 'delivery_finished',
    delivery: { ...delivery, status: 'pending', scheduleStart: delivery.scheduleStart + 1, dueAt: now },
    attempt,
  };
}
