import type { ClockReads, TestClockRecord } from '../clock-port.ts';
import type { Row, Select, SelectEach } from '../keyset.ts';
import type { Write } from '../write-statement.ts';
import { SELECT_ENDPOINTS, endpointFromRow } from './webhook-endpoints-table.ts';

// The only row has the id 1. The columns `holder` and `held_until` date from test clocks that several instances shared.
const INSERT_CLOCK = `INSERT INTO test_clock (id, version, offset_ms, goal_ms, target, holder, held_until)
  VALUES (1, ?1, ?2, ?3, ?4, NULL, 0) ON CONFLICT (id) DO NOTHING`;
const UPDATE_CLOCK = `UPDATE test_clock SET version = ?1, offset_ms = ?2, goal_ms = ?3, target = ?4, holder = NULL, held_until = 0
  WHERE id = 1 AND version = ?1 - 1`;
const SELECT_CLOCK = 'SELECT * FROM test_clock WHERE id = 1';
const SELECT_PRODUCTION = "SELECT id FROM sessions WHERE environment = 'production' LIMIT 1";
const SELECT_NEXT = [
  'SELECT MIN(wake_at) AS due FROM sessions WHERE wake_at > ?1',
  "SELECT MIN(due_at) AS due FROM provider_tasks WHERE status = 'pending' AND due_at > ?1",
  'SELECT MIN(due_at) AS due FROM refunds WHERE due_at > ?1',
  "SELECT MIN(due_at) AS due FROM simulated_callbacks WHERE status = 'pending' AND due_at > ?1",
];
const SELECT_NEXT_DELIVERY =
  "SELECT MIN(due_at) AS due FROM deliveries WHERE status = 'pending' AND recover_at IS NULL AND due_at > ?1 AND endpoint_id = ?2";

export function saveClock({ version, offsetMs, goalMs, target }: TestClockRecord): Write {
  const sql = version === 1 ? INSERT_CLOCK : UPDATE_CLOCK;
  return { sql, params: [version, offsetMs, goalMs, target], guard: 'version' };
}

export function createClockReads(select: Select, selectEach: SelectEach): ClockReads {
  return {
    async testClock() {
      const [row] = await select(SELECT_CLOCK);
      return row && clockFromRow(row);
    },
    async nextDue(after) {
      const endpoints = (await select(SELECT_ENDPOINTS)).map(endpointFromRow);
      const found = await selectEach([
        ...SELECT_NEXT.map((sql) => ({ sql, params: [after] })),
        // Deliveries to a disabled endpoint wait for more than time.
        ...endpoints
          .filter(({ status }) => status === 'active')
          .map(({ id }) => ({ sql: SELECT_NEXT_DELIVERY, params: [after, id] })),
      ]);
      const dues = found.flat().flatMap((row) => (row['due'] === null ? [] : [row['due'] as number]));
      return dues.length === 0 ? undefined : Math.min(...dues);
    },
    async hasProduction() {
      return (await select(SELECT_PRODUCTION)).length > 0;
    },
  };
}

function clockFromRow(row: Row): TestClockRecord {
  return {
    version: row['version'] as number,
    offsetMs: row['offset_ms'] as number,
    goalMs: row['goal_ms'] as number,
    target: row['target'] as number | null,
  };
}
