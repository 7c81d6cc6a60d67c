import { type WebhookEvent, renderEvent } from '../contract/event-contract.ts';
import { SAMPLE_ROUTE_ID } from '../contract/sample-ids.ts';
import type { WebhookExampleRequest } from '../contract/action-contract.ts';
import { invalidField } from '../domain/gateway-error.ts';
import { splitFees } from '../domain/fees.ts';
import type { Instant, ProviderStatus } from '../domain/records.ts';
import type { Route } from '../domain/route.ts';
import { deliveryHeaders } from '../webhooks/sign.ts';
import { centsOf } from './cents-of.ts';
import type { Deps } from './deps.ts';
import { SAMPLE_WEBHOOK_SECRET } from './samples.ts';

const MAX_IDS_NAMED = 20;

/**
 * A delivery as it would arrive: its signature is right, under the sample webhook secret, for the compact JSON of
 * `payload`, as of `realNow`. Needs no record and writes nothing. Throws GatewayError `invalid_input` for an unknown route.
 */
export function webhookExample(
  { routes }: Pick<Deps, 'routes'>,
  request: WebhookExampleRequest,
  now: Instant,
  realNow: Instant = now,
): { headers: Record<string, string>; payload: WebhookEvent } {
  const route = namedRoute(routes, request.routeId);
  const amount = centsOf(request.amount);
  const payload = renderEvent({
    sessionId: request.sessionId,
    customerId: request.customerId,
    status: request.event.slice('payment.'.length) as ProviderStatus,
    livemode: request.livemode,
    amount,
    fees: splitFees(amount, route),
    route: { ...route, provider: request.provider },
    txHash: request.txHash,
    metadata: request.metadata,
    created: now,
  });
  const delivery = { eventId: payload.id, body: JSON.stringify(payload), timestamp: Math.floor(realNow / 1000) };
  return { headers: deliveryHeaders({ ...delivery, secrets: [SAMPLE_WEBHOOK_SECRET] }), payload };
}

/** The route that samples show: the usual one, or one that the catalogue has. */
export function sampleRoute(routes: readonly Route[]): Route {
  const inUse = (route: Route) => route.environment === 'sandbox' && route.health !== 'standby';
  return routes.find(({ id }) => id === SAMPLE_ROUTE_ID) ?? routes.find(inUse) ?? routes[0]!;
}

function namedRoute(routes: readonly Route[], routeId: string): Route {
  const route = routes.find(({ id }) => id === routeId);
  if (route) return route;
  // The default holds in a catalogue without it, too.
  if (routeId === SAMPLE_ROUTE_ID) return sampleRoute(routes);
  const ids = routes.slice(0, MAX_IDS_NAMED).map(({ id }) => id);
  throw invalidField(
    'routeId',
    'invalid_value',
    'is not a route of this service',
    `Set routeId to one of ${ids.join(', ')}, for example ${JSON.stringify(ids[0])}; then resend.`,
  );
}
