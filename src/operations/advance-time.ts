import { GatewayError } from '../domain/errors.ts';
import type { Instant } from '../domain/records.ts';
import type { TestClockRecord } from '../store/clock.ts';
import type { Deps } from './deps.ts';
import type { TestClock } from './test-clock.ts';

const MAX_TOTAL_DAYS = 3650;

/** How the test clock stands. Throws GatewayError `forbidden` where there is none. */
export async function readTestClock(deps: Pick<Deps, 'testClock'>): Promise<TestClockRecord> {
  return clockOf(deps).look();
}

/**
 * Asks for an advance by so many seconds, which the workers then carry out. Throws GatewayError `forbidden` where time
 * cannot be moved, `invalid_state` while it is being moved.
 */
export async function advanceTestClock(
  deps: Pick<Deps, 'testClock' | 'store'>,
  seconds: number,
): Promise<TestClockRecord> {
  const clock = clockOf(deps);
  if (await deps.store.hasProduction()) {
    throw new GatewayError('forbidden', 'This database has production sessions, whose time must not be moved.', {
      suggestion: 'Stop the service that made them: all services of a database need the same TEST_CLOCK.',
    });
  }
  await clock.look();
  const asked = await clock.change((record) => {
    if (record.target !== null) throw underWay(record.target);
    const goalMs = record.goalMs + seconds * 1000;
    if (goalMs > MAX_TOTAL_DAYS * 24 * 3600_000) throw tooFar();
    const target = clock.realNow() + goalMs;
    return { offsetMs: record.offsetMs, goalMs, target, holder: null, heldUntil: 0 };
  });
  return asked!;
}

/** Throws GatewayError `forbidden` where the service was started without a test clock. */
export function clockOf({ testClock }: Pick<Deps, 'testClock'>): TestClock {
  if (testClock) return testClock;
  throw new GatewayError('forbidden', 'Time cannot be moved here: this service was started without a test clock.', {
    suggestion: 'Start it with TEST_CLOCK=true, on a database without production sessions; then resend.',
  });
}

/** Why a service whose time can be moved takes no production session; undefined where it is for the sandbox. */
export function refusedByTestClock(
  { testClock }: Pick<Deps, 'testClock'>,
  environment: string,
): GatewayError | undefined {
  if (!testClock || environment === 'sandbox') return undefined;
  return new GatewayError(
    'forbidden',
    'This service has a test clock (TEST_CLOCK=true), and takes no production sessions.',
    {
      field: 'environment',
      suggestion: 'Set environment to "sandbox", or send it to a service without a test clock; then resend.',
    },
  );
}

/**
 * Throws GatewayError `forbidden` for production where time was moved, by another service: whether this one has a test
 * clock was asked before.
 */
export async function refuseMovedTime({ store }: Pick<Deps, 'store'>, environment: string): Promise<void> {
  if (environment === 'sandbox' || !(await store.testClock())) return;
  throw new GatewayError(
    'forbidden',
    'The time of this database was moved for tests, by a service with TEST_CLOCK=true: it takes no production sessions.',
    {
      field: 'environment',
      suggestion: 'Set environment to "sandbox", or send it to a service with another database; then resend.',
    },
  );
}

function underWay(target: Instant): GatewayError {
  const until = new Date(target).toISOString();
  return new GatewayError('invalid_state', `Time is being moved already, to ${until}.`, {
    suggestion: 'GET /api/gateway/test-clock until its status is ready; then resend.',
  });
}

function tooFar(): GatewayError {
  return new GatewayError('invalid_state', `Time can be moved by ${MAX_TOTAL_DAYS} days in all.`, {
    suggestion: 'Start over with an empty database: set DATABASE_URL to another one.',
  });
}
