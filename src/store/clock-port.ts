import type { Instant } from '../domain/records.ts';

/** Row of the test clock. */
export interface TestClockRecord {
  /** Grows by one with every change, from 1. */
  version: number;
  /** Distance from the real time, in milliseconds. */
  offsetMs: number;
  /** Distance from the real time at the end of the current advance; without one, equal to `offsetMs`. */
  goalMs: number;
  /** Time at the end of the current advance, as reported to the caller; null without one. */
  target: Instant | null;
}

/** Reads for services with a test clock. */
export interface ClockReads {
  /** Undefined if time was never moved. */
  testClock(): Promise<TestClockRecord | undefined>;
  /** First instant after `after` at which work falls due; undefined without pending work. */
  nextDue(after: Instant): Promise<Instant | undefined>;
  /** Answers whether the database has a production session. */
  hasProduction(): Promise<boolean>;
}
