import { isId } from './id.ts';
import { PROVIDER_STATUSES, type ProviderStatus } from './records.ts';
import type { Refund } from './refund-record.ts';
import type { Reversal } from './reversal.ts';
import type { Environment } from './route.ts';

// The id of an event is derived from the reported change, so that no change has two events.

/** Id of the merchant event for one status of a session. */
export function eventId(sessionId: string, status: ProviderStatus): string {
  return `evt_${sessionId}_${status}`;
}

/** Id of the event about a refund. Its success and a failure after the success have different ids. */
export function refundEventId({ id, sessionId, status }: Pick<Refund, 'id' | 'sessionId' | 'status'>): string {
  return `evt_${sessionId}_refunded_${id}${status === 'failed' ? '_failed' : ''}`;
}

/** Id of the event about one revision of a dispute. */
export function disputeEventId({ id, sessionId, revision }: Pick<Reversal, 'id' | 'sessionId' | 'revision'>): string {
  return `evt_${sessionId}_disputed_${id}_${revision}`;
}

/** Id of the event about a change of a route's health. */
export function healthEventId(transitionId: string): string {
  return `evt_${transitionId}`;
}

const EVENT_ID = /^evt_(chk_[^_]+)_(?:refunded_(ref_[^_]+)(?:_failed)?|disputed_(rev_[^_]+)_\d{1,15}|(\w+))$/;

/** Source of the events about a route, which deliveries and the feed keep in order as they do the events of a session. */
export function sourceOfRoute(environment: Environment, routeId: string): string {
  return `${environment}:${routeId}`;
}

/** Id of the session or of the health transition in an event id; undefined if `id` is not a well-formed event id. */
export function sourceOfEvent(id: string): string | undefined {
  const transitionId = id.slice('evt_'.length);
  if (isId(transitionId, 'rtr') && id === healthEventId(transitionId)) return transitionId;
  const [, sessionId = '', refundId, reversalId, status] = EVENT_ID.exec(id) ?? [];
  const isEvent =
    (refundId !== undefined && isId(refundId, 'ref')) ||
    (reversalId !== undefined && isId(reversalId, 'rev')) ||
    PROVIDER_STATUSES.some((known) => known === status);
  return isEvent && isId(sessionId, 'chk') ? sessionId : undefined;
}
