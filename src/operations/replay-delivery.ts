import assert from 'node:assert/strict';
import { type Delivery, mustWaitFor, replay } from '../domain/delivery.ts';
import { GatewayError } from '../domain/gateway-error.ts';
import { type WebhookEndpoint, isDeleted } from '../domain/webhook-endpoint.ts';
import type { Change } from '../store/store.ts';
import type { Deps } from './deps.ts';
import { found } from './not-found.ts';
import { retryOnConflict } from './retry-on-conflict.ts';

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
