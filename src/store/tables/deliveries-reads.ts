import { type AnswerClass, DELIVERY_STATUSES } from '../../domain/delivery.ts';
import type { Instant } from '../../domain/records.ts';
import { ENVIRONMENTS } from '../../domain/route.ts';
import { EVERY_TYPE } from '../../domain/webhook-endpoint.ts';
import { type DeliveryFilter, type DueDelivery, type EventFilter, positionOfUnknownEvent } from '../webhooks-port.ts';
import {
  type KeysetQuery,
  type Row,
  type Select,
  type SelectEach,
  createdBetween,
  rowsNamed,
  splitColumns,
} from '../keyset.ts';
import type { Page } from '../list-page.ts';
import { EMPTY_PAGE, pageWithin } from '../named-page.ts';
import { createReader } from '../row-reader.ts';
import {
  DELIVERY_ATTEMPTS,
  EARLIER_DELIVERY,
  deliveryFromRow,
  eventFromRow,
  originFromRow,
} from './deliveries-table.ts';

const SELECT_EVENT = 'SELECT * FROM events WHERE id = ?1';
export const SELECT_EVENTS_OF_SESSION = 'SELECT * FROM events WHERE session_id = ?1 ORDER BY sequence';
const WITH_EVENT = `SELECT candidate.*, event.body, event.request_id, event.trace_parent
    FROM deliveries AS candidate JOIN events AS event ON event.id = candidate.event_id`;
const SELECT_DELIVERIES_DUE = `${WITH_EVENT}
  WHERE candidate.endpoint_id = ?1 AND candidate.status = 'pending' AND candidate.recover_at IS NULL
    AND candidate.due_at <= ?2 AND NOT EXISTS (${EARLIER_DELIVERY})
  ORDER BY candidate.due_at, candidate.id LIMIT ?3`;
// The first delivery in the queue of a recovery, unless its first attempt is in progress. If a clock was set back, a later event of
// a session can be first in the queue; it then waits for the earlier event. The union of both queries would take twice as long.
const SELECT_RECOVERY_DUE = `SELECT * FROM (
    ${WITH_EVENT}
    WHERE candidate.endpoint_id = ?1 AND candidate.recover_at IS NOT NULL
      AND NOT EXISTS (${EARLIER_DELIVERY})
    ORDER BY candidate.recover_at, candidate.sequence, candidate.event_id LIMIT 1) AS part
  WHERE part.due_at <= ?2`;
const SELECT_DELIVERY = 'SELECT * FROM deliveries WHERE id = ?1';
export const SELECT_DELIVERIES_OF_SESSION =
  'SELECT * FROM deliveries WHERE session_id = ?1 ORDER BY endpoint_id, sequence';
// Selects deliveries by the session of the event, so that the query needs no index on the event.
const SELECT_DELIVERIES_OF_EVENT = `SELECT delivery.*
  FROM events AS event JOIN deliveries AS delivery
    ON delivery.session_id = event.session_id AND delivery.event_id = event.id
  WHERE event.id = ?1`;
const SELECT_DELIVERY_ATTEMPTS = 'SELECT * FROM delivery_attempts WHERE delivery_id = ?1 ORDER BY number';

export function createWebhookReads(select: Select, selectEach: SelectEach) {
  const { one, all, list } = createReader(select);
  return {
    event: (id: string) => one(eventFromRow, SELECT_EVENT, id),
    /** Events of a session, oldest first. */
    eventsOfSession: (sessionId: string) => all(eventFromRow, SELECT_EVENTS_OF_SESSION, sessionId),
    /** Due deliveries whose attempt may begin: no earlier delivery of the same session to the same endpoint is pending. */
    async deliveriesDue(endpointId: string, now: Instant, limit: number) {
      const found = await selectEach([
        { sql: SELECT_RECOVERY_DUE, params: [endpointId, now] },
        { sql: SELECT_DELIVERIES_DUE, params: [endpointId, now, limit] },
      ]);
      return found.flat().slice(0, limit).map(dueDeliveryFromRow);
    },
    delivery: (id: string) => one(deliveryFromRow, SELECT_DELIVERY, id),
    deliveriesOfSession: (sessionId: string) => all(deliveryFromRow, SELECT_DELIVERIES_OF_SESSION, sessionId),
    deliveryAttempts: (deliveryId: string) => all(DELIVERY_ATTEMPTS.fromRow, SELECT_DELIVERY_ATTEMPTS, deliveryId),

    async listDeliveries(filter: DeliveryFilter, page: Page) {
      const [first, ...rest] = deliveryKeysets(filter);
      if (!first) return EMPTY_PAGE;
      return pageWithin(await list([first, ...rest], page, deliveryFromRow), filter.environment);
    },

    async listEvents(filter: EventFilter, page: Page) {
      const cursor = page.endingBefore ?? page.startingAfter;
      const place =
        cursor === undefined
          ? undefined
          : ((await one(eventFromRow, SELECT_EVENT, cursor)) ?? positionOfUnknownEvent(cursor));
      return list(eventKeyset(filter), page, eventFromRow, place && [place.created, place.sequence]);
    },
  };
}

function dueDeliveryFromRow(row: Row): DueDelivery {
  return { delivery: deliveryFromRow(row), body: row['body'] as string, ...originFromRow(row) };
}

function eventKeyset({ sessionId, type, environment }: EventFilter): KeysetQuery {
  const among = rowsNamed([SELECT_EVENTS_OF_SESSION, sessionId]);
  const range = splitColumns({ environment, type }, among ? {} : { environment: ENVIRONMENTS, type: EVERY_TYPE });
  return { table: 'events', ...range, among, sortedBy: ['created', 'sequence', 'id'] };
}

/** Ranges of a page of deliveries. A delivered delivery has no stored answer class; the filter counts it as `2xx`. */
function deliveryKeysets(filter: DeliveryFilter): KeysetQuery[] {
  const { endpointId: endpoint_id, environment, type, status, statusClass, createdFrom, createdUntil } = filter;
  const among = rowsNamed(
    [SELECT_DELIVERIES_OF_EVENT, filter.eventId],
    [SELECT_DELIVERIES_OF_SESSION, filter.sessionId],
  );
  const shared = {
    table: 'deliveries',
    among,
    ...createdBetween('dlv', createdFrom, createdUntil),
  };
  if (!among && [endpoint_id, environment, type, status, statusClass].every((value) => value === undefined)) {
    return [{ ...shared, equals: {}, oneOf: {} }];
  }
  // An endpoint implies its environment.
  const place = endpoint_id === undefined ? { environment } : { endpoint_id };
  const named = among && { session_id: filter.sessionId };
  const open = among ? {} : { ...(endpoint_id === undefined && { environment: ENVIRONMENTS }), type: EVERY_TYPE };
  const ranges = (statuses: readonly string[], answer_class?: AnswerClass): KeysetQuery[] => {
    if (statuses.length === 0) return [];
    const only = statuses.length === 1 ? statuses[0] : undefined;
    return [
      {
        ...shared,
        ...splitColumns({ ...place, ...named, answer_class, type, status: only }, { ...open, status: statuses }),
      },
    ];
  };
  const statuses = DELIVERY_STATUSES.filter((known) => known === (status ?? known));
  if (statusClass === undefined) return ranges(statuses);
  const [delivered, others] = [
    statuses.filter((one) => one === 'delivered'),
    statuses.filter((one) => one !== 'delivered'),
  ];
  return [...(statusClass === '2xx' ? ranges(delivered) : []), ...ranges(others, statusClass)];
}
