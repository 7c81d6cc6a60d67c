import assert from 'node:assert/strict';
import { type Delivery, mustWaitFor, replay, newDelivery, type Recovery } from '../domain/delivery.ts';
import { GatewayError, invalidField } from '../domain/gateway-error.ts';
import { STATUS_TYPES, type WebhookEndpoint, isDeleted, acceptsEvent } from '../domain/webhook-endpoint.ts';
import type { RecoverableEvent } from '../store/tables/recoveries-table.ts';
import type { Change } from '../store/store.ts';
import { assertCan } from './access/caller.ts';
import type { Deps } from './deps.ts';
import { found } from './not-found.ts';
import { retryOnConflict } from './retry-on-conflict.ts';
import type { MerchantEvent } from '../store/webhooks-port.ts';
import { getEvent } from './read-records.ts';
import type { Instant } from '../domain/records.ts';
import { getEndpoint } from './webhook-endpoints/find-endpoint.ts';

type Replaying = Pick<Deps, 'store' | 'now'>;
export type RecoveryDeps = Replaying & Pick<Deps, 'newId'>;
type Sending<Needed> = Needed & Pick<Deps, 'caller' | 'realNow'>;

/** Makes a delivery and the earlier ones of its session due now. Throws GatewayError `not_found`, `forbidden`, `invalid_state` for an inactive endpoint. */
export async function replayDelivery(deps: Sending<Replaying>, id: string): Promise<Delivery> {
  assertCan(deps, 'delivery.send');
  const { store } = deps;
  return retryOnConflict(deps, `delivery ${id}`, async () => {
    const before = found(await store.delivery(id), 'delivery', id, 'dlv_');
    const endpoint = await store.endpoint(before.endpointId);
    assert(endpoint, `delivery ${id} has no endpoint`);
    if (endpoint.status !== 'active') throw inactive(endpoint, 'replay');
    const earlier = await replayEarlier(deps, before, await store.deliveriesOfSession(before.sessionId));
    const { delivery, changes } = await replayOne(deps, before);
    return { changes: [...earlier, ...changes], result: delivery };
  });
}

/** The delivery after its replay, and the changes for the replay: none if the delivery is already due or in flight. */
async function replayOne({ store, now }: Replaying, before: Delivery) {
  const delivery = replay(before, await store.deliveryAttempts(before.id), now());
  const changes: Change[] = delivery === before ? [] : [{ type: 'delivery_replayed', delivery, from: before.status }];
  return { delivery, changes };
}

/** Makes the earlier deliveries of a session due, because a delivery must not overtake them. */
async function replayEarlier(
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

function inactive(endpoint: WebhookEndpoint, retry: string): GatewayError {
  const { id, status, disabledReason } = endpoint;
  const state = isDeleted(endpoint) ? 'deleted' : status;
  const why = disabledReason === null ? '' : `: ${disabledReason}`;
  return new GatewayError('invalid_state', `Webhook endpoint ${id} is ${state}${why}.`, {
    suggestion: isDeleted(endpoint)
      ? 'Send the event to the other endpoints: POST /api/gateway/events/{id}/resend.'
      : `Enable it, with tillway endpoints enable ${id} or {"status": "active"} to PATCH /api/gateway/webhook-endpoints/${id}; then ${retry}.`,
  });
}

/**
 * Sends an event again to every active endpoint of its environment that accepts its type: replays its delivery, or creates one if
 * the event is older than the endpoint; earlier deliveries become due with it. Returns one delivery per endpoint. Throws
 * GatewayError `not_found`, `forbidden`, or `invalid_state` if no endpoint accepts the event.
 */
export async function resendEvent(deps: Sending<RecoveryDeps>, id: string): Promise<Delivery[]> {
  assertCan(deps, 'delivery.send');
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

function added({ newId, now }: RecoveryDeps, event: MerchantEvent, { id: endpointId }: WebhookEndpoint) {
  const delivery = newDelivery(event, { id: newId('dlv'), endpointId, now: now() });
  const changes: Change[] = [{ type: 'delivery_added', delivery }];
  return { delivery, changes };
}

function noEndpoint({ id, type, environment }: MerchantEvent): GatewayError {
  const message = `Event ${id} has no receiver: no active ${environment} webhook endpoint takes ${type}.`;
  // Endpoints get other types, and `listen` shows them, only if they are named.
  const naming = STATUS_TYPES.some((each) => each === type) ? '' : ` --events ${type}`;
  const configured = naming === '' ? ' or WEBHOOK_URL of the service' : '';
  return new GatewayError('invalid_state', message, {
    suggestion: `Have the operator make one, with tillway endpoints create --environment ${environment}${naming}${configured}, or enable one, then resend; or run tillway listen${naming}, which needs no endpoint, and read the event at GET /api/gateway/events/${id}.`,
  });
}

/** Number of events of a recovery in one commit. */
const PAGE = 100;
/** Time for which the request processes a recovery; then a worker continues it. */
const PATIENCE_MS = 1000;

/** Time range and options of a recovery. */
export interface RecoveryRequest {
  from: Instant;
  /** End of the time range; default: now. */
  until: Instant | undefined;
  /** True to send acknowledged events too. */
  all: boolean;
}

/**
 * Queues the events of a time range that an endpoint has not acknowledged, each event once and in order. Throws GatewayError
 * `not_found`, `invalid_state` if the endpoint is not active, `invalid_input` for an empty range.
 */
export async function recoverDeliveries(deps: RecoveryDeps, endpointId: string, request: RecoveryRequest) {
  const { store } = deps;
  const endpoint = await getEndpoint(deps, endpointId);
  if (endpoint.status !== 'active') throw inactive(endpoint, 'recover');
  const now = deps.now();
  const { from, all: everything } = request;
  const until = Math.min(request.until ?? now, now);
  if (from >= until) throw emptyTime(request, now);
  const recovery: Recovery = {
    id: deps.newId('rcv'),
    endpointId,
    environment: endpoint.environment,
    version: 1,
    status: 'running',
    from,
    until,
    everything,
    // A position before every event created at `from`.
    read: { created: from, sequence: -1, id: '' },
    queued: 0,
    pending: 0,
    delivered: 0,
    created: now,
    updated: now,
  };
  await store.commit([{ type: 'recovery_saved', recovery }]);
  return continueRecovery(deps, recovery, PATIENCE_MS);
}

/** Continues a recovery for a limited time; returns its progress. */
export async function continueRecovery(deps: RecoveryDeps, recovery: Recovery, patienceMs: number): Promise<Recovery> {
  const began = performance.now();
  let current = recovery;
  do current = await recoverPage(deps, current);
  while (current.status === 'running' && performance.now() - began < patienceMs);
  return current;
}

function recoverPage(deps: RecoveryDeps, recovery: Recovery): Promise<Recovery> {
  return retryOnConflict(deps, `the deliveries of recovery ${recovery.id}`, async (conflict) => {
    const current = conflict && (await deps.store.recovery(recovery.id));
    // Another instance has processed this page.
    if (current && current.version !== recovery.version) return { changes: [], result: current };
    const { next, changes } = await pageOf(deps, recovery);
    return { changes: [{ type: 'recovery_saved', recovery: next }, ...changes], result: next };
  });
}

async function pageOf(deps: RecoveryDeps, recovery: Recovery): Promise<{ next: Recovery; changes: Change[] }> {
  const { store } = deps;
  const now = deps.now();
  const saved = { ...recovery, version: recovery.version + 1, updated: now };
  const endpoint = await store.endpoint(recovery.endpointId);
  if (endpoint?.status !== 'active') return { next: { ...saved, status: 'stopped' }, changes: [] };
  const events = await store.recoverableEvents(recovery, endpoint.events, PAGE);
  const wanted = events.filter((one) => isWanted(one, recovery));
  const changes = wanted
    // Sorts by session, so that all transactions take their locks in the same order.
    .toSorted((a, b) => compare(a.event.sessionId, b.event.sessionId))
    .map((one) => recovered(deps, recovery, one, now));
  const left = (status: string) => events.filter((one) => !wanted.includes(one) && one.delivery?.status === status);
  const next: Recovery = {
    ...saved,
    status: events.length < PAGE ? 'done' : 'running',
    read: events.at(-1)?.event ?? recovery.read,
    queued: recovery.queued + wanted.length,
    pending: recovery.pending + left('pending').length,
    delivered: recovery.delivered + left('delivered').length,
  };
  return { next, changes };
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

function isWanted({ delivery }: RecoverableEvent, { everything }: Recovery): boolean {
  return !delivery || delivery.status === 'dead' || (everything && delivery.status === 'delivered');
}

function recovered(
  { newId }: RecoveryDeps,
  { endpointId }: Recovery,
  { event, delivery }: RecoverableEvent,
  now: Instant,
): Change {
  const sent = delivery ? replay(delivery, [], now) : newDelivery(event, { id: newId('dlv'), endpointId, now });
  return { type: 'delivery_recovered', delivery: sent, from: delivery?.status ?? null, eventCreated: event.created };
}

/** Progress of a recovery. Throws GatewayError `not_found`. */
export async function getRecovery({ store }: Pick<Deps, 'store'>, id: string): Promise<Recovery> {
  return found(await store.recovery(id), 'recovery', id, 'rcv_');
}

function emptyTime({ from, until }: RecoveryRequest, now: Instant): GatewayError {
  const end = until === undefined || until > now ? `now, which is ${new Date(now).toISOString()} here` : 'until';
  const advice = `Set from to the beginning of the outage.${from > now ? ' It is in the future now.' : ''}`;
  return invalidField('from', 'invalid_value', `must be before ${end}`, advice);
}
