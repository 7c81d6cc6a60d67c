import { type Delivery, newDelivery } from '../domain/delivery.ts';
import { GatewayError } from '../domain/gateway-error.ts';
import { type WebhookEndpoint, acceptsEvent } from '../domain/webhook-endpoint.ts';
import type { Change } from '../store/store.ts';
import type { MerchantEvent } from '../store/webhooks-port.ts';
import type { Deps } from './deps.ts';
import { getEvent } from './read-records.ts';
import { replayEarlier, replayOne } from './replay-delivery.ts';
import { retryOnConflict } from './retry-on-conflict.ts';

type Resending = Pick<Deps, 'store' | 'now' | 'newId'>;

/**
 * Sends an event again to every active endpoint of its environment: replays its delivery, or creates one if the event is older
 * than the endpoint; earlier deliveries become due with it. Answers one delivery per endpoint. Throws GatewayError `not_found`,
 * or `invalid_state` if no endpoint accepts the event.
 */
export async function resendEvent(deps: Resending, id: string): Promise<Delivery[]> {
  const event = await getEvent(deps, id);
  return retryOnConflict(deps, `the deliveries of event ${id}`, async () => {
    const endpoints = (await deps.store.endpoints()).filter(
      (endpoint) => endpoint.environment === event.environment && acceptsEvent(endpoint, event.type),
    );
    if (endpoints.length === 0) throw noEndpoint(event);
    const known = await deps.store.deliveriesOfSession(event.sessionId);
    const deliveries: Delivery[] = [];
    const changes: Change[] = [];
    for (const endpoint of endpoints) {
      const before = known.find((one) => one.eventId === id && one.endpointId === endpoint.id);
      changes.push(...(await replayEarlier(deps, { endpointId: endpoint.id, sequence: event.sequence }, known)));
      const sent = before ? await replayOne(deps, before) : added(deps, event, endpoint);
      deliveries.push(sent.delivery);
      changes.push(...sent.changes);
    }
    return { changes, result: deliveries };
  });
}

function added({ newId, now }: Resending, event: MerchantEvent, { id: endpointId }: WebhookEndpoint) {
  const delivery = newDelivery(event, { id: newId('dlv'), endpointId, now: now() });
  const changes: Change[] = [{ type: 'delivery_added', delivery }];
  return { delivery, changes };
}

function noEndpoint({ id, type, environment }: MerchantEvent): GatewayError {
  return new GatewayError(
    'invalid_state',
    `Event ${id} can go nowhere: no ${environment} webhook endpoint is active and takes ${type}.`,
    {
      suggestion: `Have the operator make one, with tillway endpoints create --environment ${environment} or WEBHOOK_URL of the service, or enable one, then resend; or run tillway listen, which needs no endpoint, and read the event at GET /api/gateway/events/${id}.`,
    },
  );
}
