import type { Instant } from '../domain/records.ts';
import type { TestClockRecord } from '../store/clock.ts';
import type { Store } from '../store/store.ts';
import { type Gate, createGate } from './test-clock-gate.ts';

/** The time of a sandbox, which can be moved forward and never goes back: the real one, and what was moved so far. */
export interface TestClock {
  /** Which process this is, among those of its database. */
  id: string;
  now(): Instant;
  realNow(): Instant;
  /** How it stands, as far as this process knows. */
  known(): TestClockRecord;
  /** How it stands; the time of this process follows. */
  look(): Promise<TestClockRecord>;
  /**
   * Writes what `decide` makes of it, decided anew where somebody else was faster; answers that, or undefined where
   * `decide` leaves it as it is. What `decide` throws, this throws.
   */
  change(decide: Decide): Promise<TestClockRecord | undefined>;
  /** Calls `listener` at once when this process comes to know of an advance, before it goes by the time that is moved. */
  onAdvance(listener: () => void): void;
  /** What requests pass that must not see time move. */
  gate: Gate;
}

export type Decide = (record: TestClockRecord) => Omit<TestClockRecord, 'version'> | undefined;

const NEVER_MOVED: TestClockRecord = {
  version: 0,
  offsetMs: 0,
  goalMs: 0,
  target: null,
  holder: null,
  heldUntil: 0,
};

/**
 * The clock of a service that was started with one. Throws where the database must not be used so: one with production
 * sessions by a service whose time can be moved, one whose time was moved by any other.
 */
export async function openTestClock(store: Store, isEnabled: boolean, id: string): Promise<TestClock | undefined> {
  const record = await store.testClock();
  if (isEnabled) {
    if (await store.hasProduction()) {
      throw new Error(
        'TEST_CLOCK=true is for sandboxes, and this database has production sessions, whose time must not be moved: leave TEST_CLOCK out, or set DATABASE_URL to another database',
      );
    }
    return createTestClock(store, record ?? NEVER_MOVED, id);
  }
  if (record && record.goalMs > 0) {
    throw new Error(
      `the time of this database was moved forward by ${Math.ceil(record.goalMs / 1000)} seconds for tests, and must not go back: set TEST_CLOCK=true, or set DATABASE_URL to another database`,
    );
  }
  return undefined;
}

function createTestClock(store: Store, found: TestClockRecord, id: string): TestClock {
  const listeners: (() => void)[] = [];
  const realNow = () => store.now();
  let known = found;

  function take(record: TestClockRecord): TestClockRecord {
    // An older answer can come after a newer one.
    if (record.version <= known.version) return known;
    const isNew = record.target !== null && known.target === null;
    if (isNew) for (const listener of listeners) listener();
    known = record;
    return known;
  }

  async function look(): Promise<TestClockRecord> {
    return take((await store.testClock()) ?? NEVER_MOVED);
  }

  return {
    id,
    now: () => realNow() + known.offsetMs,
    realNow,
    known: () => known,
    look,
    async change(decide) {
      for (;;) {
        const decided = decide(known);
        if (!decided) return undefined;
        const next = { ...decided, version: known.version + 1 };
        const { done } = await store.commit([{ type: 'test_clock_changed', clock: next }]);
        if (!done) {
          await look();
          continue;
        }
        take(next);
        return next;
      }
    },
    onAdvance: (listener) => void listeners.push(listener),
    gate: createGate(),
  };
}
