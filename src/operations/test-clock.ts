import type { Instant } from '../domain/records.ts';
import type { TestClockRecord } from '../store/tables/clock-table.ts';
import type { Store } from '../store/store.ts';

/** Time of a sandbox service: the real time plus all advances. It never goes back. */
export interface TestClock {
  now(): Instant;
  realNow(): Instant;
  record(): TestClockRecord;
  /** Stores the next state and applies it. Answers false if another process has changed the row. */
  change(next: Omit<TestClockRecord, 'version'>): Promise<boolean>;
  /** Registers a listener for accepted advances. */
  onAdvance(listener: () => void): void;
  /** Requests that may change something: time moves between them, and new ones wait until `heldUntilMs` (monotonic). */
  requests: { inProgress: number; begun: number; heldUntilMs: number };
}

/**
 * The test clock of a service with `TEST_CLOCK=true`. Throws if the service must not use the database: with a test clock, a
 * shared database or one with production sessions; without one, a database whose time was moved.
 */
export async function openTestClock(
  store: Store,
  { isEnabled, isShared }: { isEnabled: boolean; isShared: boolean },
): Promise<TestClock | undefined> {
  const record = await store.testClock();
  if (!isEnabled) {
    if (!record || record.goalMs === 0) return undefined;
    const seconds = Math.ceil(record.goalMs / 1000);
    throw new Error(
      `the time of this database was moved forward by ${seconds} seconds for tests, and must not go back: ${isShared ? '' : 'set TEST_CLOCK=true, or '}set DATABASE_URL to another database`,
    );
  }
  if (isShared) {
    throw new Error(
      'TEST_CLOCK=true is for a single instance, and instances can share a PostgreSQL database: set DATABASE_URL=sqlite:<path>, or leave TEST_CLOCK out',
    );
  }
  if (await store.hasProduction()) {
    throw new Error(
      'TEST_CLOCK=true is for sandboxes, and this database has production sessions, whose time must not be moved: leave TEST_CLOCK out, or set DATABASE_URL to another database',
    );
  }
  return createTestClock(store, record ?? { version: 0, offsetMs: 0, goalMs: 0, target: null });
}

function createTestClock(store: Store, found: TestClockRecord): TestClock {
  const listeners: (() => void)[] = [];
  let record = found;
  return {
    now: () => store.now() + record.offsetMs,
    realNow: () => store.now(),
    record: () => record,
    async change(next) {
      const clock = { ...next, version: record.version + 1 };
      const { done } = await store.commit([{ type: 'test_clock_changed', clock }]);
      if (!done) return false;
      record = clock;
      if (next.target !== null) for (const listener of listeners) listener();
      return true;
    },
    onAdvance: (listener) => void listeners.push(listener),
    requests: { inProgress: 0, begun: 0, heldUntilMs: 0 },
  };
}
