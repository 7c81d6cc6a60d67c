import type { TestClockRecord } from '../store/tables/clock-table.ts';
import type { Store } from '../store/store.ts';
import { GatewayError } from '../domain/gateway-error.ts';
import type { Deps, TestClock } from './deps.ts';

/** Undefined if disabled. Throws for a database that the test clock must not use, or that needs it because its time was moved. */
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
    requests: { inProgress: 0 },
  };
}

const MAX_TOTAL_DAYS = 3650;

/** Throws GatewayError `forbidden` if the service was started without a test clock. */
export function clockOf({ testClock }: Pick<Deps, 'testClock'>): TestClock {
  if (testClock) return testClock;
  throw forbidden(
    'Time cannot be moved here: this service was started without a test clock.',
    'Start it with TEST_CLOCK=true, on a database without production sessions; then resend.',
  );
}

/** Starts an advance. Throws GatewayError `forbidden` without a test clock, `invalid_state` during another advance. */
export async function advanceTestClock(deps: Pick<Deps, 'testClock' | 'store'>, seconds: number): Promise<void> {
  const clock = clockOf(deps);
  const { offsetMs, goalMs: before, target } = clock.record();
  const goalMs = before + seconds * 1000;
  if (goalMs > MAX_TOTAL_DAYS * 24 * 3600_000) {
    throw new GatewayError('invalid_state', `Time can be moved by ${MAX_TOTAL_DAYS} days in all.`, {
      suggestion: 'Start over with an empty database: set DATABASE_URL to another one.',
    });
  }
  const next = { offsetMs, goalMs, target: clock.realNow() + goalMs };
  if (target !== null || !(await clock.change(next))) {
    const until = new Date(target ?? next.target).toISOString();
    throw new GatewayError('invalid_state', `Time is being moved already, to ${until}.`, {
      suggestion: 'GET /api/gateway/test-clock until its status is ready; then resend.',
    });
  }
}

/** Reason for which a service with a test clock rejects a session; undefined for sandbox sessions. */
export function refusedByTestClock(
  { testClock }: Pick<Deps, 'testClock'>,
  environment: string,
): GatewayError | undefined {
  if (!testClock || environment === 'sandbox') return undefined;
  return forbidden(
    'This service has a test clock (TEST_CLOCK=true), and takes no production sessions.',
    'Set environment to "sandbox", or send it to a service without a test clock; then resend.',
    'environment',
  );
}

function forbidden(message: string, suggestion: string, field?: string): GatewayError {
  return new GatewayError('forbidden', message, { suggestion, ...(field !== undefined && { field }) });
}
