import type { Delivery } from '../domain/delivery.ts';
import { traceHeaders } from '../telemetry/origin.ts';
import { type Tracing, traced } from '../telemetry/tracing.ts';
import type { Deliverer, Exchange } from './deliver.ts';

interface Sending {
  delivery: Delivery;
  url: string;
  headers: Record<string, string>;
  body: string;
}

/** Makes one attempt in a span of its own, which the receiver may continue: no signature covers that header. */
export function sendTraced(
  { deliverer, tracing }: { deliverer: Deliverer; tracing: Tracing | undefined },
  { delivery, url, headers, body }: Sending,
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
