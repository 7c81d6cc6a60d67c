import { type Delivery, replay } from '../domain/delivery.ts';
import { GatewayError } from '../domain/errors.ts';
import type { Deps } from './deps.ts';
import { recordNotFound } from './not-found.ts';

// Each conflict is an attempt that began or ended meanwhile, and those are seconds apart.
const MAX_TRIES = 50;

/**
 * Makes a delivery due now; one that has ended goes through the retry schedule from its beginning. Throws GatewayError
 * `not_found`, or `invalid_state` where its endpoint takes no events.
 */
export async function replayDelivery(deps: Pick<Deps, 'store' | 'now'>, id: string): Promise<Delivery> {
  const { store } = deps;
  for (let attempt = 0; attempt < MAX_TRIES; attempt++) {
    const before = await store.delivery(id);
    if (!before) throw recordNotFound('delivery', id, 'dlv_');
    const endpoint = (await store.endpoints()).find((one) => one.id === before.endpointId);
    if (endpoint?.status !== 'active') throw endpointDisabled(before);
    const delivery = replay(before, await store.deliveryAttempts(id), deps.now());
    if (delivery === before) return before;
    const result = await store.commit([{ type: 'delivery_replayed', delivery, from: before.status }]);
    if (result.done) return delivery;
  }
  throw new GatewayError('unavailable', `Delivery ${id} is changing too fast; try again.`);
}

function endpointDisabled({ id, endpointId, environment }: Delivery): GatewayError {
  return new GatewayError('invalid_state', `Delivery ${id} belongs to the endpoint ${endpointId}, which is disabled.`, {
    suggestion: `Have the operator start the service with WEBHOOK_URL set to a receiver of ${environment} events, which enables the endpoint; then replay.`,
  });
}
