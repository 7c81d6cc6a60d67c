import { DISCREPANCY_KINDS, type Instant } from '../../domain/records.ts';
import type { Environment } from '../../domain/route.ts';
import { EVENT_TYPES } from '../webhooks-port.ts';
import type { Query, SelectEach, SqlValue } from '../keyset.ts';
import { EARLIER_DELIVERY } from './deliveries-table.ts';

/** Limit of every count, so that a larger backlog does not make the reads slower. */
const BACKLOG_COUNT_LIMIT = 10_000;

// Each query reads one range of an index, or a table of few rows, as test/observability/backlog.test.ts verifies.
const TYPES = quoted(EVENT_TYPES);
const KINDS = quoted(DISCREPANCY_KINDS);
const COUNT_DELIVERIES = counted(
  `SELECT 1 FROM deliveries WHERE environment = ?1 AND type IN (${TYPES}) AND status = ?2`,
);
// Dead deliveries of a deleted endpoint do not count. The first condition matches a partial index.
const COUNT_DEAD = counted(`SELECT 1 FROM webhook_endpoints AS endpoint JOIN deliveries AS delivery
    ON delivery.endpoint_id = endpoint.id AND delivery.type IN (${TYPES}) AND delivery.status = 'dead'
  WHERE endpoint.status IN ('active', 'disabled', 'deleting') AND endpoint.status <> 'deleting'
    AND endpoint.environment = ?1`);
const COUNT_SESSIONS = counted('SELECT 1 FROM sessions WHERE environment = ?1 AND status = ?2');
const COUNT_REFUNDS = counted('SELECT 1 FROM refunds WHERE environment = ?1 AND status = ?2');
const COUNT_DISCREPANCIES = counted(
  `SELECT 1 FROM discrepancies WHERE environment = ?1 AND kind IN (${KINDS}) AND status = ?2`,
);
const COUNT_WAKES = counted('SELECT 1 FROM sessions WHERE wake_at IS NOT NULL AND wake_at <= ?1');
const COUNT_TASKS = counted("SELECT 1 FROM provider_tasks WHERE status = 'pending'");
const COUNT_ENDPOINTS = 'SELECT COUNT(*) AS value FROM webhook_endpoints WHERE environment = ?1 AND status = ?2';
// A delivery that waits for an earlier one of its session is not late.
const OLDEST_DUE = `SELECT MIN((
    SELECT candidate.due_at FROM deliveries AS candidate
    WHERE candidate.endpoint_id = endpoint.id AND candidate.status = 'pending' AND candidate.recover_at IS NULL
      AND candidate.due_at <= ?2 AND NOT EXISTS (${EARLIER_DELIVERY})
    ORDER BY candidate.due_at LIMIT 1)) AS value
  FROM webhook_endpoints AS endpoint WHERE endpoint.environment = ?1 AND endpoint.status = 'active'`;
const OLDEST_REFUND =
  "SELECT created AS value FROM refunds WHERE environment = ?1 AND status = 'pending' ORDER BY id LIMIT 1";

function quoted(words: readonly string[]): string {
  return words.map((word) => `'${word}'`).join(', ');
}

function counted(rows: string): string {
  return `SELECT COUNT(*) AS value FROM (${rows} LIMIT ${BACKLOG_COUNT_LIMIT}) AS counted`;
}

/** Query of each backlog value. */
const queriesOf = (environment: Environment, now: Instant) => ({
  deliveriesPending: query(COUNT_DELIVERIES, environment, 'pending'),
  deliveriesDead: query(COUNT_DEAD, environment),
  /** Due time of the longest due delivery of an active endpoint. */
  deliveryDueSince: query(OLDEST_DUE, environment, now),
  endpointsActive: query(COUNT_ENDPOINTS, environment, 'active'),
  endpointsDisabled: query(COUNT_ENDPOINTS, environment, 'disabled'),
  sessionsPending: query(COUNT_SESSIONS, environment, 'pending'),
  refundsPending: query(COUNT_REFUNDS, environment, 'pending'),
  /** Creation time of the oldest pending refund. */
  refundPendingSince: query(OLDEST_REFUND, environment),
  discrepanciesOpen: query(COUNT_DISCREPANCIES, environment, 'open'),
  /** Sessions and provider tasks of both environments. */
  wakesDue: query(COUNT_WAKES, now),
  tasksPending: query(COUNT_TASKS),
});

/** Pending work of an environment: start times (null for none), and counts up to {@link BACKLOG_COUNT_LIMIT}. */
export type Backlog = {
  [Name in keyof ReturnType<typeof queriesOf>]: Name extends `${string}Since` ? Instant | null : number;
};

export function createMonitoringReads(selectEach: SelectEach) {
  return {
    async backlog(environment: Environment, now: Instant) {
      const queries = queriesOf(environment, now);
      const answers = await selectEach(Object.values(queries));
      const values = answers.map(([row]) => row?.['value'] ?? null);
      return Object.fromEntries(Object.keys(queries).map((name, index) => [name, values[index]])) as unknown as Backlog;
    },
  };
}

function query(sql: string, ...params: SqlValue[]): Query {
  return { sql, params };
}
