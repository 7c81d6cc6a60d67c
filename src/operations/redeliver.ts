import assert from 'node:assert/strict';
import { type Delivery, mustWaitFor, replay, newDelivery } from '../domain/delivery.ts';
import { GatewayError } from '../domain/gateway-error.ts';
import { type WebhookEndpoint, isDeleted, acceptsEvent } from '../domain/webhook-endpoint.ts';
import type { Change } from '../store/store.ts';
import type { Deps } from './deps.ts';
import { found } from './not-found.ts';
import { retryOnConflict } from './retry-on-conflict.ts';
import type { MerchantEvent } from '../store/webhooks-port.ts';
import { getEvent } from './read-records.ts';

type Replaying = Pick<Deps, 'store' | 'now'>;

/**
 * Makes a delivery, and the earlier ones that it waits for, due now; a finished one begins a new retry schedule. Throws
 * GatewayError `not_found`, or `invalid_state` if its endpoint is not active.
 */
export function replayDelivery(deps: Replaying, id: string): Promise<Delivery> {
  const { store } = deps;
  return retryOnConflict(deps, `delivery ${id}`, async () => {
    const before = found(await store.delivery(id), 'delivery', id, 'dlv_');
    const endpoint = await store.endpoint(before.endpointId);
    assert(endpoint, `delivery ${id} has no endpoint`);
    if (endpoint.status !== 'active') throw takesNothing(before, endpoint);
    const earlier = await replayEarlier(deps, before, await store.deliveriesOfSession(before.sessionId));
    const { delivery, changes } = await replayOne(deps, before);
    return { changes: [...earlier, ...changes], result: delivery };
  });
}

/** The delivery after its replay, and the changes for that: none if it is due or in flight. */
export async function replayOne({ store, now }: Replaying, before: Delivery) {
  const delivery = replay(before, await store.deliveryAttempts(before.id), now());
  const changes: Change[] = delivery === before ? [] : [{ type: 'delivery_replayed', delivery, from: before.status }];
  return { delivery, changes };
}

/** Makes the earlier deliveries of a session due, because a delivery must not overtake them. */
export async function replayEarlier(
  deps: Replaying,
  delivery: Pick<Delivery, 'endpointId' | 'sequence'>,
  ofSession: readonly Delivery[],
): Promise<Change[]> {
  const changes: Change[] = [];
  for (const earlier of ofSession) {
    if (mustWaitFor(delivery, earlier)) changes.push(...(await replayOne(deps, earlier)).changes);
  }
  return changes;
}

function takesNothing({ id, eventId }: Delivery, endpoint: WebhookEndpoint): GatewayError {
  const belongs = `Delivery ${id} belongs to the endpoint ${endpoint.id}, which is`;
  if (isDeleted(endpoint)) {
    return new GatewayError('invalid_state', `${belongs} deleted.`, {
      suggestion: `Send its event to the endpoints that there are: POST /api/gateway/events/${eventId}/resend.`,
    });
  }
  return new GatewayError('invalid_state', `${belongs} disabled: ${endpoint.disabledReason ?? 'no reason is known'}.`, {
    suggestion: `Have the operator mend the receiver and enable the endpoint, with tillway endpoints enable ${endpoint.id} or {"status": "active"} to PATCH /api/gateway/webhook-endpoints/${endpoint.id}; then replay.`,
  });
}

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
