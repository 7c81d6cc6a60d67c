import { type Delivery, replay } from '../domain/delivery.ts';
import { GatewayError } from '../domain/errors.ts';
import type { Change, MerchantEvent, WebhookEndpoint } from '../store/store.ts';
import type { Deps } from './deps.ts';
import { getEvent } from './read-records.ts';

type Resending = Pick<Deps, 'store' | 'now' | 'newId'>;

// Each conflict is an attempt that began or ended meanwhile, or somebody else who resends.
const MAX_TRIES = 50;

/**
 * Sends an event again to every active endpoint of its environment: replays its delivery, or makes one where the event
 * is older than the endpoint. Answers with the deliveries, one for each endpoint. Throws GatewayError `not_found`, or
 * `invalid_state` where no endpoint takes it.
 */
export async function resendEvent(deps: Resending, id: string): Promise<Delivery[]> {
  const event = await getEvent(deps, id);
  for (let attempt = 0; attempt < MAX_TRIES; attempt++) {
    const endpoints = (await deps.store.endpoints()).filter(
      ({ status, environment }) => status === 'active' && environment === event.environment,
    );
    if (endpoints.length === 0) throw noEndpoint(event);
    const known = await deps.store.deliveriesOfSession(event.sessionId);
    const deliveries: Delivery[] = [];
    const changes: Change[] = [];
    for (const endpoint of endpoints) {
      const before = known.find((one) => one.eventId === id && one.endpointId === endpoint.id);
      const delivery = before ? await replayed(deps, before) : deliveryTo(endpoint, event, deps);
      deliveries.push(delivery);
      if (!before) changes.push({ type: 'delivery_added', delivery });
      else if (delivery !== before) changes.push({ type: 'delivery_replayed', delivery, from: before.status });
    }
    if (changes.length === 0) return deliveries;
    const result = await deps.store.commit(changes);
    if (result.done) return deliveries;
  }
  throw new GatewayError('unavailable', `The deliveries of event ${id} are changing too fast; try again.`);
}

async function replayed({ store, now }: Resending, delivery: Delivery): Promise<Delivery> {
  return replay(delivery, await store.deliveryAttempts(delivery.id), now());
}

/** As if the event had just happened. */
function deliveryTo(endpoint: WebhookEndpoint, event: MerchantEvent, { now, newId }: Resending): Delivery {
  const { id: eventId, sessionId, environment, type, sequence } = event;
  const created = now();
  return {
    id: newId('dlv'),
    eventId,
    endpointId: endpoint.id,
    sessionId,
    environment,
    type,
    sequence,
    status: 'pending',
    attempts: 0,
    scheduleStart: 0,
    dueAt: created,
    created,
  };
}

function noEndpoint({ id, environment }: MerchantEvent): GatewayError {
  return new GatewayError(
    'invalid_state',
    `Event ${id} can go nowhere: no ${environment} webhook endpoint is active.`,
    {
      suggestion: `Have the operator start the service with WEBHOOK_URL set to a receiver of ${environment} events, then resend; or run tillway listen, which needs no endpoint, and read the event at GET /api/gateway/events/${id}.`,
    },
  );
}
