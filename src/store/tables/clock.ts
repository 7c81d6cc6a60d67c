import type { ClockReads, TestClockRecord } from '../clock.ts';
import type { Row, Select, SelectEach } from '../keyset.ts';
import { type Write, insertSql } from '../write.ts';
import { SELECT_ENDPOINTS, endpointFromRow } from './webhook-endpoints.ts';

// There is one, with the id 1.
const INSERT_CLOCK = insertSql(
  'test_clock',
  ['id', 'version', 'offset_ms', 'goal_ms', 'target', 'holder', 'held_until'],
  'ON CONFLICT (id) DO NOTHING',
);
const UPDATE_CLOCK = `UPDATE test_clock SET version = ?2, offset_ms = ?3, goal_ms = ?4, target = ?5, holder = ?6, held_until = ?7
  WHERE id = ?1 AND version = ?2 - 1`;
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

/** The first version is 1. */
export function saveClock(record: TestClockRecord): Write {
  const { version, offsetMs, goalMs, target, holder, heldUntil } = record;
  const sql = version === 1 ? INSERT_CLOCK : UPDATE_CLOCK;
  return { sql, params: [1, version, offsetMs, goalMs, target, holder, heldUntil], guard: 'version' };
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
        // What is due at a disabled endpoint waits for more than time.
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
    holder: row['holder'] as string | null,
    heldUntil: row['held_until'] as number,
  };
}
