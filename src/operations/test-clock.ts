import { TEST_CLOCK_ERRORS } from '../contract/test-clock-contract.ts';
import { GatewayError } from '../domain/gateway-error.ts';
import type { TestClockRecord } from '../store/tables/clock-table.ts';
import type { Store } from '../store/store.ts';
import type { Deps } from './deps.ts';

/** Opens the test clock; undefined if disabled. Throws if the database must not use one, or needs one because its time was moved. */
export async function openTestClock(store: Store, isEnabled: boolean): Promise<TestClock | undefined> {
  const record = (await store.testClock()) ?? { version: 0, offsetMs: 0, goalMs: 0, target: null };
  if (!isEnabled) {
    if (record.goalMs === 0) return undefined;
    throw new Error(
      `the time of this database was moved forward by ${record.goalMs / 1000} seconds for tests, and must not go back: set TEST_CLOCK=true, or set DATABASE_URL to another database`,
    );
  }
  const { items } = await store.listSessions({ environment: 'production' }, { limit: 1 });
  if (items.length > 0) {
    throw new Error(
      'TEST_CLOCK=true is for sandboxes, and this database has production sessions, whose time must not be moved: leave TEST_CLOCK out, or set DATABASE_URL to another database',
    );
  }
  return createTestClock(store, record);
}

/** Time of a sandbox service: the real time plus all advances. It never goes back. */
export type TestClock = ReturnType<typeof createTestClock>;

function createTestClock(store: Store, stored: TestClockRecord) {
  let record = stored;
  const now = () => store.now() + record.offsetMs;

  /** Stores the next state and applies it. Throws GatewayError `invalid_state` if the stored state has changed meanwhile. */
  async function change(next: Partial<TestClockRecord>, { commit }: Pick<Store, 'commit'> = store): Promise<void> {
    const clock = { ...record, ...next, version: record.version + 1 };
    const { done } = await commit([{ type: 'test_clock_changed', clock }]);
    if (!done) throw errorOf('invalid_state');
    record = clock;
  }

  return {
    now,
    record: () => record,
    change,
    /** Starts an advance with the store of a request; the worker carries it out. Throws GatewayError `invalid_state` during another advance. */
    async advance(seconds: number, through: Pick<Store, 'commit'>): Promise<void> {
      if (record.target !== null) throw errorOf('invalid_state');
      const goalMs = record.goalMs + seconds * 1000;
      await change({ goalMs, target: store.now() + goalMs }, through);
    },
    /** Number of requests in progress that may write. Time moves only while there are none. */
    requestsInProgress: 0,
  };
}

/** Throws GatewayError `forbidden` if the service was started without a test clock. */
export function clockOf({ testClock }: Pick<Deps, 'testClock'>): TestClock {
  if (!testClock) throw errorOf('forbidden');
  return testClock;
}

function errorOf(code: keyof typeof TEST_CLOCK_ERRORS): GatewayError {
  const { message, suggestion } = TEST_CLOCK_ERRORS[code];
  return new GatewayError(code, message, { suggestion });
}
