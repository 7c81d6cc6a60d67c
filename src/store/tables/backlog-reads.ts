import { firstIdAt } from '../../domain/id.ts';
import { DISCREPANCY_KINDS, type Instant } from '../../domain/records.ts';
import type { Environment } from '../../domain/route.ts';
import { EVERY_TYPE } from '../../domain/webhook-endpoint.ts';
import type { Query, SelectEach, SqlValue } from '../keyset.ts';
import { EARLIER_DELIVERY } from './deliveries-table.ts';

/** Upper limit of every count, which bounds the duration of the reads. */
const BACKLOG_COUNT_LIMIT = 10_000;

// Each query reads one range of an index or a table of few rows; test/observability/backlog.test.ts verifies that.
const TYPES = quoted(EVERY_TYPE);
const KINDS = quoted(DISCREPANCY_KINDS);
const COUNT_DELIVERIES = counted(
  `SELECT 1 FROM deliveries WHERE environment = ?1 AND type IN (${TYPES}) AND status = ?2`,
);
// Excludes the dead deliveries of deleted endpoints. The first condition on the status matches a partial index.
const DEAD = `FROM webhook_endpoints AS endpoint JOIN deliveries AS delivery
    ON delivery.endpoint_id = endpoint.id AND delivery.type IN (${TYPES}) AND delivery.status = 'dead'
  WHERE endpoint.status IN ('active', 'disabled', 'deleting') AND endpoint.status <> 'deleting'
    AND endpoint.environment = ?1`;
const COUNT_DEAD = counted(`SELECT 1 ${DEAD}`);
const COUNT_SESSIONS = counted('SELECT 1 FROM sessions WHERE environment = ?1 AND status = ?2');
const COUNT_REFUNDS = counted('SELECT 1 FROM refunds WHERE environment = ?1 AND status = ?2');
const COUNT_DISCREPANCIES = counted(
  `SELECT 1 FROM discrepancies WHERE environment = ?1 AND kind IN (${KINDS}) AND status = ?2`,
);
const COUNT_WAKES = counted('SELECT 1 FROM sessions WHERE wake_at IS NOT NULL AND wake_at <= ?1');
const COUNT_TASKS = counted("SELECT 1 FROM provider_tasks WHERE status = 'pending'");
const COUNT_ENDPOINTS = 'SELECT COUNT(*) AS value FROM webhook_endpoints WHERE environment = ?1 AND status = ?2';
// Excludes deliveries that wait for an earlier delivery of their session.
const DUE = `SELECT (
    SELECT candidate.due_at FROM deliveries AS candidate
    WHERE candidate.endpoint_id = endpoint.id AND candidate.status = 'pending' AND candidate.recover_at IS NULL
      AND candidate.due_at <= ?2 AND NOT EXISTS (${EARLIER_DELIVERY})
    ORDER BY candidate.due_at LIMIT 1) AS value
  FROM webhook_endpoints AS endpoint WHERE endpoint.environment = ?1 AND endpoint.status = 'active'`;
const OLDEST_DUE = `SELECT MIN(value) AS value FROM (${DUE}) AS due`;
const OLDEST_REFUND =
  "SELECT created AS value FROM refunds WHERE environment = ?1 AND status = 'pending' ORDER BY id LIMIT 1";

/** Upper limit of the counts of {@link Unsolved}, which read the rows that they count. */
const UNSOLVED_LIMIT = 100;
const DAY_MS = 24 * 60 * 60_000;
const OVERDUE = `SELECT COUNT(value) AS count, MIN(value) AS since FROM (${DUE}) AS due`;
const DEAD_DELIVERIES = unsolved(`SELECT delivery.created, delivery.session_id ${DEAD}`);
const OPEN_DISCREPANCIES = unsolved(
  `SELECT created, session_id FROM discrepancies WHERE environment = ?1 AND kind IN (${KINDS}) AND status = 'open'`,
);
const PENDING_REFUNDS = unsolved(
  "SELECT created, session_id FROM refunds WHERE environment = ?1 AND status = 'pending' AND id < ?2",
);
const FAILED_REFUNDS = unsolved(`SELECT created, session_id FROM refunds AS refund
  WHERE environment = ?1 AND status = 'failed' AND id >= ?2 AND NOT EXISTS (SELECT 1 FROM refunds AS later
    WHERE later.payment_id = refund.payment_id AND later.status IN ('pending', 'succeeded') AND later.id > refund.id)`);
// Reads only entries of the index on unsettled payments, and the row of the oldest one.
const UNSETTLED = `SELECT count, (SELECT created FROM payments WHERE id = oldest_id) AS since
  FROM (SELECT COUNT(*) AS count, MIN(id) AS oldest_id FROM (SELECT id FROM payments
    WHERE environment = ?1 AND status = 'paid' AND ledger_status = 'pending' AND id < ?2
    ORDER BY id LIMIT ${UNSOLVED_LIMIT}) AS counted) AS part`;

/** Queries of the records that need a person, by name. */
const unsolvedQueriesOf = (environment: Environment, now: Instant) => ({
  /** Active endpoints with a delivery that has been due for 5 minutes or more. */
  overdueDeliveries: query(OVERDUE, environment, now - 5 * 60_000),
  deadDeliveries: query(DEAD_DELIVERIES, environment),
  discrepancies: query(OPEN_DISCREPANCIES, environment),
  pendingRefunds: query(PENDING_REFUNDS, environment, firstIdAt('ref', now - DAY_MS)),
  /** Failed refunds of the last 30 days whose payment has no later refund. */
  failedRefunds: query(FAILED_REFUNDS, environment, firstIdAt('ref', now - 30 * DAY_MS)),
  unsettled: query(UNSETTLED, environment, firstIdAt('pay', now - 5 * DAY_MS)),
});

/** Number of records up to 100, and the time and the session of the oldest one (null if there is none). */
type Unsolved = Record<
  keyof ReturnType<typeof unsolvedQueriesOf>,
  { count: number; since: Instant | null; session?: string }
>;

function unsolved(rows: string): string {
  return `SELECT COUNT(*) OVER () AS count, created AS since, session_id AS session FROM (${rows} LIMIT ${UNSOLVED_LIMIT}) AS counted
    ORDER BY created LIMIT 1`;
}

function quoted(words: readonly string[]): string {
  return words.map((word) => `'${word}'`).join(', ');
}

function counted(rows: string): string {
  return `SELECT COUNT(*) AS value FROM (${rows} LIMIT ${BACKLOG_COUNT_LIMIT}) AS counted`;
}

/** Queries of the backlog values, by name. */
const queriesOf = (environment: Environment, now: Instant) => ({
  deliveriesPending: query(COUNT_DELIVERIES, environment, 'pending'),
  deliveriesDead: query(COUNT_DEAD, environment),
  /** Oldest due time of a delivery to an active endpoint. */
  deliveryDueSince: query(OLDEST_DUE, environment, now),
  endpointsActive: query(COUNT_ENDPOINTS, environment, 'active'),
  endpointsDisabled: query(COUNT_ENDPOINTS, environment, 'disabled'),
  sessionsPending: query(COUNT_SESSIONS, environment, 'pending'),
  refundsPending: query(COUNT_REFUNDS, environment, 'pending'),
  /** Creation time of the oldest pending refund. */
  refundPendingSince: query(OLDEST_REFUND, environment),
  discrepanciesOpen: query(COUNT_DISCREPANCIES, environment, 'open'),
  /** `wakesDue` and `tasksPending` count the sessions and provider tasks of both environments. */
  wakesDue: query(COUNT_WAKES, now),
  tasksPending: query(COUNT_TASKS),
});

/** Pending work of an environment: oldest times (null without such work), and counts up to {@link BACKLOG_COUNT_LIMIT}. */
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
    /** Records of an environment that need a person. */
    async unsolved(environment: Environment, now: Instant) {
      const queries = unsolvedQueriesOf(environment, now);
      const answers = await selectEach(Object.values(queries));
      const none = { count: 0, since: null };
      return Object.fromEntries(
        Object.keys(queries).map((name, index) => [name, answers[index]![0] ?? none]),
      ) as Unsolved;
    },
  };
}

function query(sql: string, ...params: SqlValue[]): Query {
  return { sql, params };
}
