import { renderHealthEvent } from '../contract/event-contract.ts';
import { sourceOfRoute } from '../domain/event-id.ts';
import { newDelivery } from '../domain/delivery.ts';
import type { NewId } from '../domain/id.ts';
import type { Route } from '../domain/route.ts';
import { type EventType, type WebhookEndpoint, acceptsEvent, isDeleted } from '../domain/webhook-endpoint.ts';
import type { Change, Store } from '../store/store.ts';
import type { MerchantEvent } from '../store/webhooks-port.ts';
import { currentOrigin } from '../telemetry/origin.ts';

/** The record of an event, and its deliveries to the endpoints that subscribe to its type. */
export function changesOfEvent(
  { newId }: { newId: NewId },
  event: { id: string; type: EventType },
  about: Pick<MerchantEvent, 'sessionId' | 'environment' | 'sequence' | 'created'>,
  endpoints: readonly WebhookEndpoint[],
): Change[] {
  const { id, type } = event;
  const { sessionId, environment, sequence, created } = about;
  const body = JSON.stringify(event);
  const recorded = { id, sessionId, environment, sequence, type, created, body, origin: currentOrigin() };
  const deliveries = endpoints
    .filter((endpoint) => endpoint.environment === environment && acceptsEvent(endpoint, type))
    .map(({ id: endpointId }): Change => {
      const delivery = newDelivery(recorded, { id: newId('dlv'), endpointId, now: created });
      return { type: 'delivery_created', delivery };
    });
  return [{ type: 'event_recorded', event: recorded }, ...deliveries];
}

/** True for a transition to another state. A transition can also record a new reason or end of an override. */
function changesState(change: Change): change is Extract<Change, { type: 'transition_recorded' }> {
  return change.type === 'transition_recorded' && change.transition.from !== change.transition.to;
}

/**
 * Changes of a route's health, with an event for each transition to another state. Without a subscribed endpoint no event is recorded,
 * so that readers of events get the type only if an endpoint of the environment subscribes to it. A disabled endpoint can recover the
 * event.
 */
export async function withHealthEvents(
  deps: { store: Store; newId: NewId },
  route: Route,
  changes: readonly Change[],
): Promise<Change[]> {
  if (!changes.some(changesState)) return [...changes];
  const subscribed = (await deps.store.endpoints()).filter(
    (endpoint) =>
      endpoint.environment === route.environment &&
      endpoint.events.includes('route.health_changed') &&
      !isDeleted(endpoint),
  );
  if (subscribed.length === 0) return [...changes];
  return changes.flatMap((change) => {
    if (!changesState(change)) return [change];
    const { environment, routeId, version: sequence, created } = change.transition;
    const sessionId = sourceOfRoute(environment, routeId);
    const event = renderHealthEvent(route, change.transition);
    return [change, ...changesOfEvent(deps, event, { sessionId, environment, sequence, created }, subscribed)];
  });
}
