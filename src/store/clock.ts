import type { Instant } from '../domain/records.ts';

/** The test clock of a database, as all its instances share it. */
export interface TestClockRecord {
  /** Grows by one with every change, from 1. */
  version: number;
  /** How far time is ahead of the real one, in milliseconds. */
  offsetMs: number;
  /** How far it is to be ahead when the advance under way is done; without one, as far as it is. */
  goalMs: number;
  /** What time it is to be then, as it was told to whoever asked; null where no advance is under way. */
  target: Instant | null;
  /** The process that carries the advance out, and until when, in real time, it is left to it. */
  holder: string | null;
  heldUntil: Instant;
}

/** What only a service whose time can be moved asks for. */
export interface ClockReads {
  /** Undefined where time was never moved. */
  testClock(): Promise<TestClockRecord | undefined>;
  /** The first instant after this one at which something falls due for a worker; undefined where nothing does. */
  nextDue(after: Instant): Promise<Instant | undefined>;
  /** Whether there is a session of production. */
  hasProduction(): Promise<boolean>;
}
