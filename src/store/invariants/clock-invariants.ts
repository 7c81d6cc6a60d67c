import type { Invariant } from './invariant.ts';

/** Invariants of the test clock. */
export const CLOCK_INVARIANTS: readonly Invariant[] = [
  {
    name: 'test_clock',
    says: 'There is at most one test clock, neither behind the real time nor beyond its goal, and short of that only while it is moved.',
    sql: `SELECT CAST(id AS TEXT) AS id FROM test_clock
      WHERE id <> 1 OR version < 1 OR offset_ms < 0 OR offset_ms > goal_ms OR (target IS NULL AND offset_ms < goal_ms)
      ORDER BY id LIMIT ?1`,
  },
  {
    name: 'test_clock_sandbox',
    says: 'Where time was moved, there is no session of production.',
    sql: `SELECT session.id AS id FROM sessions AS session JOIN test_clock AS clock ON clock.goal_ms > 0
      WHERE session.environment = 'production' ORDER BY id LIMIT ?1`,
  },
];
