import type { Delivery, DeliveryStatus, Recovery } from '../../domain/delivery.ts';
import type { Instant } from '../../domain/records.ts';
import { type KeysetQuery, type Query, type Row, type Select, keysetQuery } from '../keyset.ts';
import { createReader } from '../row-reader.ts';
import { describeTable, flag, integer, named, saveVersions, text } from '../table-description.ts';
import type { MerchantEvent } from '../webhooks-port.ts';
import { statement } from '../write-statement.ts';
import { DELIVERY_COLUMNS, LOCK_EARLIER_DELIVERIES, deliveryFromRow, deliveryToRow } from './deliveries-table.ts';

/** An event that a recovery examines, and its delivery to the endpoint, if it has one. */
export interface RecoverableEvent {
  event: Omit<MerchantEvent, 'body' | 'origin'>;
  delivery: Delivery | undefined;
}

const RECOVERIES = describeTable<Recovery>('recoveries', {
  id: text,
  endpointId: text,
  environment: text,
  version: integer,
  status: text,
  from: named('from_time', integer),
  until: named('until_time', integer),
  everything: flag,
  read: {
    group: {
      created: named('read_created', integer),
      sequence: named('read_sequence', integer),
      id: named('read_id', text),
    },
  },
  queued: integer,
  pending: integer,
  delivered: integer,
  created: integer,
  updated: integer,
});
const saveRecovery = saveVersions(RECOVERIES, {
  key: ['id'],
  set: ['status', 'read', 'queued', 'pending', 'delivered', 'updated'],
  guard: 'version',
});

// A pending delivery outside the recovery queue delays the later deliveries of its session. Those stay outside the queue as well,
// because the queue would wait for them.
const waitingEarlier = (session: string, endpoint: string, sequence: string) => `FROM deliveries AS earlier
    WHERE earlier.session_id = ${session} AND earlier.endpoint_id = ${endpoint} AND earlier.sequence < ${sequence}
      AND earlier.status = 'pending' AND earlier.recover_at IS NULL`;
const ADD = `INSERT INTO deliveries (${DELIVERY_COLUMNS.join(', ')}, recover_at)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10,
    COALESCE((SELECT MAX(earlier.due_at) ${waitingEarlier('?4', '?3', '?7')}), ?11), ?12,
    CASE WHEN EXISTS (SELECT 1 ${waitingEarlier('?4', '?3', '?7')}) THEN NULL ELSE CAST(?13 AS BIGINT) END)
  ON CONFLICT (session_id, endpoint_id, sequence) DO NOTHING`;
const AGAIN = `UPDATE deliveries SET status = 'pending', schedule_start = ?4,
    due_at = COALESCE((SELECT MAX(earlier.due_at) ${waitingEarlier('?7', '?8', '?9')}), ?5),
    recover_at = CASE WHEN EXISTS (SELECT 1 ${waitingEarlier('?7', '?8', '?9')}) THEN NULL ELSE CAST(?6 AS BIGINT) END,
    answer_class = CASE WHEN ?3 = 'delivered' THEN '2xx' ELSE answer_class END
  WHERE id = ?1 AND attempts = ?2 AND status = ?3`;

const SELECT_LEFT = `SELECT * FROM recoveries
  WHERE status = 'running' AND updated <= ?1 ORDER BY updated, id LIMIT ?2`;

export const recoveryWrites = {
  /** Guard: the stored version is the previous one. */
  recovery_saved: ({ recovery }: { recovery: Recovery }) => saveRecovery(recovery),
  /** Queues a delivery for a recovery. Guard: the delivery is new if `from` is null; otherwise its attempts and status are unchanged. */
  delivery_recovered({ delivery, from, eventCreated }: RecoveredDelivery) {
    const { id, endpointId, sessionId, sequence, attempts, scheduleStart, dueAt } = delivery;
    const again = [id, attempts, from, scheduleStart, dueAt, eventCreated, sessionId, endpointId, sequence];
    return [
      statement(LOCK_EARLIER_DELIVERIES, [sessionId, endpointId]),
      from === null
        ? statement(ADD, [...deliveryToRow(delivery), eventCreated], 'overtaken')
        : statement(AGAIN, again, 'overtaken'),
    ];
  },
};

interface RecoveredDelivery {
  delivery: Delivery;
  from: DeliveryStatus | null;
  eventCreated: Instant;
}

export function createRecoveryReads(select: Select) {
  const { find, all } = createReader(select);
  return {
    recovery: (id: string) => find(RECOVERIES, id),
    /** Running recoveries without progress since `since`. */
    recoveriesLeft: (since: Instant, limit: number) => all(RECOVERIES.fromRow, SELECT_LEFT, since, limit),
    /** The next events of a recovery with these types, in the order in which they happened. */
    recoverableEvents(recovery: Recovery, types: readonly string[], limit: number) {
      const { sql, params } = recoverableQuery(recovery, types, limit);
      return all(recoverableFromRow, sql, ...params);
    },
  };
}

function recoverableQuery(
  { endpointId, environment, until, read }: Recovery,
  types: readonly string[],
  limit: number,
): Query {
  const keyset: KeysetQuery = {
    table: 'events',
    select: 'id, session_id, environment, sequence, type, created',
    equals: { environment },
    oneOf: { type: types },
    sortedBy: ['created', 'sequence', 'id'],
    also: [['created < ', until]],
  };
  const after = [read.created, read.sequence, read.id];
  const { sql, params } = keysetQuery([keyset], { limit, direction: 'ASC', after });
  const found = RECOVERABLE_EVENTS.columns.map(({ name }) => `part.${name.slice('of_'.length)} AS ${name}`);
  return {
    sql: `SELECT delivery.*, ${found.join(', ')} FROM (${sql}) AS part
      LEFT JOIN deliveries AS delivery ON delivery.session_id = part.session_id
        AND delivery.endpoint_id = ?${params.push(endpointId)} AND delivery.sequence = part.sequence
      ORDER BY part.created, part.sequence, part.id`,
    params,
  };
}

/** Columns of the event in a joined row; the other columns of the row belong to its delivery. */
const RECOVERABLE_EVENTS = describeTable<RecoverableEvent['event']>('events', {
  id: named('of_id', text),
  sessionId: named('of_session_id', text),
  environment: named('of_environment', text),
  sequence: named('of_sequence', integer),
  type: named('of_type', text),
  created: named('of_created', integer),
});

function recoverableFromRow(row: Row): RecoverableEvent {
  return {
    event: RECOVERABLE_EVENTS.fromRow(row),
    delivery: row['id'] === null ? undefined : deliveryFromRow(row),
  };
}
