import type { Instant } from '../../domain/records.ts';
import type { Select, SelectEach } from '../keyset.ts';
import { createReader } from '../row-reader.ts';
import { type ItemOf, defineTable, integer, orNull } from '../table-description.ts';
import { statement } from '../write-statement.ts';

// The only row has the id 1. The columns `holder` and `held_until` are unused since only one instance can have a test clock.
const SAVE_CLOCK = `INSERT INTO test_clock (id, version, offset_ms, goal_ms, target, holder, held_until)
  VALUES (1, ?1, ?2, ?3, ?4, NULL, 0) ON CONFLICT (id) DO UPDATE SET version = ?1, offset_ms = ?2, goal_ms = ?3, target = ?4
  WHERE test_clock.version = ?1 - 1`;
const SELECT_CLOCK = 'SELECT version, offset_ms, goal_ms, target FROM test_clock WHERE id = 1';
const SELECT_NEXT = [
  'SELECT MIN(wake_at) AS due FROM sessions WHERE wake_at >= ?1',
  "SELECT MIN(due_at) AS due FROM provider_tasks WHERE status = 'pending' AND due_at >= ?1",
  'SELECT MIN(due_at) AS due FROM refunds WHERE due_at >= ?1',
  "SELECT MIN(due_at) AS due FROM simulated_callbacks WHERE status = 'pending' AND due_at >= ?1",
  // Excludes deliveries to disabled endpoints, which are not sent when their due time passes.
  `SELECT MIN(due_at) AS due FROM deliveries WHERE status = 'pending' AND recover_at IS NULL AND due_at >= ?1
    AND endpoint_id IN (SELECT id FROM webhook_endpoints WHERE status = 'active')`,
];

/** Table of the test clock; it has one row at most. */
const CLOCKS = defineTable('test_clock', {
  /** Grows by one with every change, from 1. */
  version: integer,
  /** Current time minus real time, in milliseconds. */
  offsetMs: integer,
  /** Value of `offsetMs` at the end of the current advance; equal to `offsetMs` if no advance is in progress. */
  goalMs: integer,
  /** Target time of the current advance, as reported to the caller; null if no advance is in progress. */
  target: orNull(integer),
});
export type TestClockRecord = ItemOf<typeof CLOCKS>;

export const clockWrites = {
  /** Guard: the stored version is the previous one. */
  test_clock_changed: ({ clock }: { clock: TestClockRecord }) => statement(SAVE_CLOCK, CLOCKS.values(clock), 'version'),
};

/** Reads for services with a test clock. */
export function createClockReads(select: Select, selectEach: SelectEach) {
  const { one } = createReader(select);
  return {
    /** The test clock; undefined if it was never advanced. */
    testClock: () => one(CLOCKS.fromRow, SELECT_CLOCK),
    /** First instant from `from` on at which work falls due; Infinity without pending work. */
    async nextDue(from: Instant): Promise<Instant> {
      const found = await selectEach(SELECT_NEXT.map((sql) => ({ sql, params: [from] })));
      return Math.min(...found.map(([row]) => Number(row!['due'] ?? Infinity)));
    },
  };
}
